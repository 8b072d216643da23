!> Leases of buffers, and pools: what is acquired and released.
module gpu_buffer_pools
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  use gpu_buffer_types, only: buffer_lease, buffer_pool, pool_statistics, unified_buffer
  use kinds, only: i64
  implicit none
  private
  public :: acquire_buffer, release_buffer, lease_handle
  public :: create_buffer_pool, destroy_buffer_pool, reserve_buffers, trim_buffer_pool, get_pool_statistics

  !> acquire_buffer(buffer, device, access) takes the right to touch a range at a memory ("host", "opengl:0"), until it
  !> is released. Waits for accesses of other threads that exclude it, at most `timeout_ns`; STATUS_ACCESS_CONFLICT
  !> within one thread. get_pointer gives the lease's elements where the host can address them, lease_handle what the
  !> GPU calls its memory.
  !>
  !> acquire_buffer(pool, size, access_mode) gives a buffer of a pool, as create_unified_buffer makes it, with memory
  !> that was used before. What was written then is not there: it reads as zero.
  interface acquire_buffer
    function acquire_lease(buffer, device, access, offset, size, timeout_ns, stat, errmsg) result(lease) &
      bind(C, name='unibuf_fortran_acquire')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      character(*), intent(in) :: device
      integer, intent(in) :: access
      integer(i64), intent(in), optional :: offset, size
      integer(i64), intent(in), optional :: timeout_ns
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(buffer_lease) :: lease
    end function acquire_lease

    function acquire_from_pool(pool, size, access_mode, memory_hint, device, stat, errmsg) result(buffer) &
      bind(C, name='unibuf_fortran_pool_acquire')
      import
      implicit none
      type(buffer_pool), intent(in) :: pool
      integer(i64), intent(in) :: size
      integer, intent(in) :: access_mode
      integer, intent(in), optional :: memory_hint
      character(*), intent(in), optional :: device
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(unified_buffer) :: buffer
    end function acquire_from_pool
  end interface acquire_buffer

  !> release_buffer(lease) ends a lease. Later accesses wait for what was queued on the GPU under it.
  !>
  !> release_buffer(pool, buffer) gives a buffer back to its pool, and ends the handle. STATUS_ACCESS_CONFLICT while it
  !> is leased.
  interface release_buffer
    subroutine release_lease(lease, stat, errmsg) bind(C, name='unibuf_fortran_release')
      import
      implicit none
      type(buffer_lease), intent(in) :: lease
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine release_lease

    subroutine release_to_pool(pool, buffer, stat, errmsg) bind(C, name='unibuf_fortran_pool_release')
      import
      implicit none
      type(buffer_pool), intent(in) :: pool
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine release_to_pool
  end interface release_buffer

  interface

    !> Gives what the API of the lease's memory calls it, as get_gpu_handle does for a buffer.
    function lease_handle(lease, offset, stat, errmsg) result(handle) &
      bind(C, name='unibuf_fortran_lease_handle')
      import
      implicit none
      type(buffer_lease), intent(in) :: lease
      integer(i64), intent(out), optional :: offset
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      integer(c_intptr_t) :: handle
    end function lease_handle

    !> Makes a pool. Any thread may use it; each has a few of its buffers of its own, so that threads do not wait for
    !> each other.
    function create_buffer_pool(stat, errmsg) result(pool) &
      bind(C, name='unibuf_fortran_create_pool')
      import
      implicit none
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(buffer_pool) :: pool
    end function create_buffer_pool

    !> Ends a pool, and frees the buffers that it holds; those that are in use go on.
    subroutine destroy_buffer_pool(pool, stat, errmsg) bind(C, name='unibuf_fortran_destroy_pool')
      import
      implicit none
      type(buffer_pool), intent(in) :: pool
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine destroy_buffer_pool

    !> Makes `count` buffers that can be acquired without allocating.
    subroutine reserve_buffers(pool, count, size, access_mode, memory_hint, device, stat, errmsg) &
      bind(C, name='unibuf_fortran_pool_reserve')
      import
      implicit none
      type(buffer_pool), intent(in) :: pool
      integer, intent(in) :: count
      integer(i64), intent(in) :: size
      integer, intent(in) :: access_mode
      integer, intent(in), optional :: memory_hint
      character(*), intent(in), optional :: device
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine reserve_buffers

    !> Frees buffers that the pool holds, the oldest first, until it holds at most `bytes`; without `bytes`, all.
    subroutine trim_buffer_pool(pool, bytes, stat, errmsg) bind(C, name='unibuf_fortran_pool_trim')
      import
      implicit none
      type(buffer_pool), intent(in) :: pool
      integer(i64), intent(in), optional :: bytes
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine trim_buffer_pool

    function get_pool_statistics(pool, stat, errmsg) result(figures) &
      bind(C, name='unibuf_fortran_pool_statistics')
      import
      implicit none
      type(buffer_pool), intent(in) :: pool
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(pool_statistics) :: figures
    end function get_pool_statistics

  end interface

end module gpu_buffer_pools
