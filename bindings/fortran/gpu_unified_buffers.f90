!> Buffers that the host and a GPU share: zero-copy where they can, in step always.
!>
!> Offsets and sizes are bytes, but for the `offset` of write_buffer, read_buffer and get_pointer, which counts
!> elements. Every procedure that can fail takes `stat` and `errmsg`, as the statements of Fortran do: `stat` is 0 or
!> one of the STATUS_ values, `errmsg` then says what was asked, and what is allowed; without `stat` the program stops
!> with that message. After a failure a buffer is as before. Any thread may call any procedure, and has bindings of its
!> own; destroying a handle that another thread uses is the program's mistake.
module gpu_unified_buffers
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_ptr
  use gpu_buffer_contents
  use gpu_buffer_control
  use gpu_buffer_pools
  use gpu_buffer_queries
  use gpu_buffer_types
  use gpu_fence_primitives
  use kinds, only: i64
  implicit none
  public
  private :: c_intptr_t, c_ptr, i64

  interface

    !> Makes a buffer of `size` bytes. `access_mode` is what the host does with it, `memory_hint` who should have its
    !> memory: MEMORY_COHERENT, unless another is given. `device` is one of unibuf's names, "opencl:0"; without it, the
    !> device is the one that set_gpu_device chose, or "opengl:0". The buffer's memory is allocated and mapped at once.
    !>
    !> What the machine lacks (a device, memory) is seen by buffer_is_valid: without `stat` the program goes on
    !> with a buffer that is not valid, and unified_buffer_message says why.
    function create_unified_buffer(size, access_mode, memory_hint, device, stat, errmsg) result(buffer) &
      bind(C, name='unibuf_fortran_create')
      import
      implicit none
      integer(i64), intent(in) :: size
      integer, intent(in) :: access_mode
      integer, intent(in), optional :: memory_hint
      character(*), intent(in), optional :: device
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(unified_buffer) :: buffer
    end function create_unified_buffer

    !> Destroys a buffer: waits for what the GPU does with it, and frees its memory; views and leases keep theirs. All
    !> copies of the handle end.
    subroutine destroy_unified_buffer(buffer, stat, errmsg) bind(C, name='unibuf_fortran_destroy')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine destroy_unified_buffer

    !> Makes a handle of its own to the part of `size` bytes from `offset` on. The part is coherent with the buffer and
    !> with other views, and is destroyed like any other buffer.
    function view_buffer(buffer, offset, size, stat, errmsg) result(view) &
      bind(C, name='unibuf_fortran_view')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer(i64), intent(in) :: offset, size
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(unified_buffer) :: view
    end function view_buffer

    !> Makes a handle of its own to a section of the buffer, which is seen as an array of `shape` of elements of
    !> `element_size` bytes: the elements from `lower` to `upper` along each axis, both among them, counted from 1. Only
    !> its bytes move, and exclude others. It is taken as a whole; a pointer of get_pointer into it has its rank.
    function view_section(buffer, shape, lower, upper, element_size, stat, errmsg) result(view) &
      bind(C, name='unibuf_fortran_view_section')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(in) :: shape(:), lower(:), upper(:)
      integer, intent(in) :: element_size
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(unified_buffer) :: view
    end function view_section

    !> Gives the host's memory, current, as an array of elements of `element_size` bytes. It may be read, and written as
    !> the access mode lets the host, at any time until the buffer is destroyed. unibuf's own procedures find what was
    !> written; a shader that runs before the next of them needs sync_to_gpu after the writing.
    !>
    !> Without `stat` the pointer is null where the memory cannot be mapped; unified_buffer_message says why.
    function get_cpu_pointer(buffer, element_size, stat, errmsg) result(pointer) &
      bind(C, name='unibuf_fortran_cpu_pointer')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(in) :: element_size
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(c_ptr) :: pointer
    end function get_cpu_pointer

    !> Says that pointers to the host's memory are not used any more: nobody needs to look for what was written.
    subroutine release_cpu_pointer(buffer, stat, errmsg) bind(C, name='unibuf_fortran_release_cpu_pointer')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine release_cpu_pointer

    !> Brings the GPU up to date: returns when the work is queued, before what is queued there next.
    subroutine sync_to_gpu(buffer, offset, size, stat, errmsg) bind(C, name='unibuf_fortran_sync_to_gpu')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer(i64), intent(in), optional :: offset, size
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine sync_to_gpu

    !> Brings the host up to date: waits for what the GPU was given to do. What it brings is the host's until
    !> sync_to_gpu, bind_buffer_to_shader or dispatch_compute: no later access fetches it again. Takes any buffer; where
    !> the host only writes, nothing is brought.
    subroutine sync_from_gpu(buffer, offset, size, stat, errmsg) bind(C, name='unibuf_fortran_sync_from_gpu')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer(i64), intent(in), optional :: offset, size
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine sync_from_gpu

    !> Says that the host has written `size` bytes, of any kind of integer, from `offset` on, and makes them visible to
    !> the GPU. Where the mapping is coherent, nothing is left to do.
    subroutine flush_buffer_range(buffer, offset, size, stat, errmsg) bind(C, name='unibuf_fortran_flush')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer(i64), intent(in), optional :: offset
      type(*), intent(in) :: size(..)
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine flush_buffer_range

    !> Says that the host's bytes stand, and drops newer ones elsewhere.
    subroutine mark_host_dirty(buffer, offset, size, stat, errmsg) bind(C, name='unibuf_fortran_mark_host_dirty')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer(i64), intent(in), optional :: offset, size
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine mark_host_dirty

    !> Says that the GPU's bytes stand, and drops newer ones elsewhere.
    subroutine mark_device_dirty(buffer, offset, size, stat, errmsg) bind(C, name='unibuf_fortran_mark_device_dirty')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer(i64), intent(in), optional :: offset, size
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine mark_device_dirty

    !> Binds a buffer as shader storage buffer of this thread, until release_gpu_handle or the end of the buffer. From
    !> now on shaders may use it at any time: the host waits for them before each of its accesses, and dispatch_compute
    !> gives them what it has written. On "host", in the place of a GPU, a binding does no harm.
    subroutine bind_buffer_to_shader(buffer, binding, stat, errmsg) bind(C, name='unibuf_fortran_bind')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(in) :: binding
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine bind_buffer_to_shader

    !> Gives what the API of the GPU calls the buffer's memory: a GL buffer name, a cl_mem, a CUdeviceptr, an address.
    !> The buffer begins `offset` bytes inside. From now on the GPU may use it, as after bind_buffer_to_shader.
    function get_gpu_handle(buffer, offset, stat, errmsg) result(handle) &
      bind(C, name='unibuf_fortran_gpu_handle')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer(i64), intent(out), optional :: offset
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      integer(c_intptr_t) :: handle
    end function get_gpu_handle

    !> Says that the GPU will not use the buffer any more, by a binding or a handle. The host sees what the GPU was
    !> given to do before, as ever.
    subroutine release_gpu_handle(buffer, stat, errmsg) bind(C, name='unibuf_fortran_release_gpu_handle')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine release_gpu_handle

    !> Chooses the device that buffers are for which are created from now on: "opengl:0", "opencl:0", "cuda:0",
    !> "debug:0", "host".
    subroutine set_gpu_device(device, stat, errmsg) bind(C, name='unibuf_fortran_set_gpu')
      import
      implicit none
      character(*), intent(in) :: device
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine set_gpu_device

    !> Chooses the OpenGL context that EGL has current on this thread, for buffers that are created from now on. It must
    !> be current where these buffers are used.
    subroutine use_current_gl_context(stat, errmsg) bind(C, name='unibuf_fortran_use_current_gl_context')
      import
      implicit none
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine use_current_gl_context

    !> Buffers that are created from now on are copied in the traditional way: they have memory of their own on either
    !> side, whatever was hinted. Where "opengl:0" is not there, their device is the host itself: all procedures work,
    !> for all access modes, and no shader can be made.
    subroutine use_copy_fallback() bind(C, name='unibuf_fortran_use_copy_fallback')
      import
      implicit none
    end subroutine use_copy_fallback

    !> Collects what this thread syncs to that device by sync_to_gpu, until end_batch, which moves it there together, in
    !> few transfers.
    subroutine begin_batch(device, stat, errmsg) bind(C, name='unibuf_fortran_begin_batch')
      import
      implicit none
      character(*), intent(in), optional :: device
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine begin_batch

    subroutine end_batch(stat, errmsg) bind(C, name='unibuf_fortran_end_batch')
      import
      implicit none
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine end_batch

  end interface

end module gpu_unified_buffers
