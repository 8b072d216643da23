!> Where copies are, who finds a buffer, and whose memory it is: what few programs ask for. `stat` and `errmsg` are as in
!> gpu_unified_buffers. A device is one of unibuf's names, "host" or "opencl:0".
module gpu_buffer_control
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  use gpu_buffer_types, only: unified_buffer
  use kinds, only: i64
  use unibuf_reports, only: report
  implicit none
  private
  public :: create_buffer_over, register_buffer, find_buffer, unregister_buffer
  public :: prefetch_buffer, begin_io, end_io, discard_copy, discard_content, limit_gpu_memory
  public :: transferred_bytes, device_names, use_opencl_queue
  public :: begin_trace, end_trace, recorded_traffic, TRACE_EVENTS, TRACE_CLOSE
  public :: begin_guard, end_guard, GUARD_ALLOW, GUARD_LOG, GUARD_REFUSE

  integer, parameter :: longest_name = 64

  enum, bind(C)
    enumerator :: GUARD_ALLOW = 0
    enumerator :: GUARD_LOG = 1     !< a line on the standard error stream for each access
    enumerator :: GUARD_REFUSE = 2  !< the access fails with STATUS_ACCESS_CONFLICT, and no byte has moved
  end enum

  enum, bind(C)
    enumerator :: TRACE_EVENTS = 0
    enumerator :: TRACE_CLOSE = 1  !< also which bytes of transfers were news, and when leases ended: slower
  end enum

  interface

    !> Makes a buffer whose host copy is an array of the program's own, with the content that it has: nothing is copied.
    !> The program may write it at any time, as through get_pointer. It has to be a target, contiguous, and to stay
    !> where it is until the buffer is destroyed: an allocatable array is deallocated after that. Its name is a pointer
    !> that release_cpu_pointer does not end. The other arguments are those of create_unified_buffer. With
    !> BUFFER_CONSTANT, unibuf never writes the array, and what would write any byte of the buffer, anywhere, is
    !> STATUS_INVALID_ARGUMENT, but mark_host_dirty, which says that the program has written the array.
    !>
    !> What has no address of its own, an expression or a constant, is refused by the compiler; so is what is copied to be
    !> passed, as a section by a vector subscript. A dummy argument with intent(in) is refused as well: give the array where
    !> it is declared, or a pointer to it.
    function create_buffer_over(data, access_mode, memory_hint, device, stat, errmsg) result(buffer) &
      bind(C, name='unibuf_fortran_create_over')
      import
      implicit none
      type(*), intent(inout), target :: data(..)
      integer, intent(in) :: access_mode
      integer, intent(in), optional :: memory_hint
      character(*), intent(in), optional :: device
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(unified_buffer) :: buffer
    end function create_buffer_over

    !> Names a buffer, for parts of the program in other languages: unibuf_find of C, unibuf::get_registry() of C++. The
    !> name ends with the buffer. STATUS_INVALID_ARGUMENT where the name is taken.
    subroutine register_buffer(name, buffer, stat, errmsg) bind(C, name='unibuf_fortran_register')
      import
      implicit none
      character(*), intent(in) :: name
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine register_buffer

    !> Gives a handle of the buffer of that name, which is destroyed like any other, or one that is not valid where
    !> nobody has the name.
    function find_buffer(name, stat, errmsg) result(buffer) bind(C, name='unibuf_fortran_find')
      import
      implicit none
      character(*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(unified_buffer) :: buffer
    end function find_buffer

    !> Takes the name away; does nothing where nobody has it.
    subroutine unregister_buffer(name, stat, errmsg) bind(C, name='unibuf_fortran_unregister')
      import
      implicit none
      character(*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine unregister_buffer

    !> Starts to bring a range, in bytes, to a device, and does not wait.
    subroutine prefetch_buffer(buffer, device, offset, size, stat, errmsg) bind(C, name='unibuf_fortran_prefetch')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      character(*), intent(in) :: device
      integer(i64), intent(in), optional :: offset, size
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine prefetch_buffer

    !> Says that what no page table shows may write the CPU's memory of the buffer until end_io: MPI between processes of
    !> a machine, RDMA, reads that go past the page cache. Such stores are found by nobody, so the bytes count as written
    !> all the time: accesses of the GPU move them each time, and may see half of it; what would write them there is
    !> STATUS_ACCESS_CONFLICT. ACCESS_WRITE discards the old content, so that nothing is fetched; ACCESS_READ_WRITE keeps
    !> it. get_pointer gives the memory.
    subroutine begin_io(buffer, access, stat, errmsg) bind(C, name='unibuf_fortran_begin_io')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(in) :: access
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine begin_io

    !> Ends all that begin_io of this handle has begun, after the I/O has ended.
    subroutine end_io(buffer, stat, errmsg) bind(C, name='unibuf_fortran_end_io')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine end_io

    !> Drops the copy at a device, for its memory. STATUS_ACCESS_CONFLICT where it is the last that is current, or in
    !> use.
    subroutine discard_copy(buffer, device, stat, errmsg) bind(C, name='unibuf_fortran_discard')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      character(*), intent(in) :: device
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine discard_copy

    !> Drops the content: the buffer reads as zero, and nothing of it moves any more.
    subroutine discard_content(buffer, stat, errmsg) bind(C, name='unibuf_fortran_discard_content')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine discard_content

    !> Bounds what all buffers together hold at a device, in bytes: copies make room for each other. Without `bytes`
    !> there is no bound.
    subroutine limit_gpu_memory(device, bytes, stat, errmsg) bind(C, name='unibuf_fortran_limit_memory')
      import
      implicit none
      character(*), intent(in) :: device
      integer(i64), intent(in), optional :: bytes
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine limit_gpu_memory

    !> Gives the bytes that were moved from one device to another: for a buffer, or for all.
    function transferred_bytes(from, to, buffer, stat, errmsg) result(bytes) &
      bind(C, name='unibuf_fortran_transferred')
      import
      implicit none
      character(*), intent(in) :: from, to
      type(unified_buffer), intent(in), optional :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      integer(i64) :: bytes
    end function transferred_bytes

    !> Begins to guard transfers from one device to another, or of any where one is absent, which this thread's accesses
    !> make by the way: leases, pointers, kernels. Those that are asked for by name (sync_to_gpu, prefetch_buffer,
    !> read_buffer) go on. Of the guards that are about a transfer the last that was begun decides.
    subroutine begin_guard(action, from, to, stat, errmsg) bind(C, name='unibuf_fortran_begin_guard')
      import
      implicit none
      integer, intent(in) :: action
      character(*), intent(in), optional :: from, to
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine begin_guard

    !> Ends this thread's last guard.
    subroutine end_guard(stat, errmsg) bind(C, name='unibuf_fortran_end_guard')
      import
      implicit none
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine end_guard

    !> Writes all events of this process to a file until end_trace or its end: `unibuf report`, `why` and `doctor` read it.
    !> `detail` is TRACE_EVENTS where it is absent.
    subroutine begin_trace(file, detail, stat, errmsg) bind(C, name='unibuf_fortran_begin_trace')
      import
      implicit none
      character(*), intent(in) :: file
      integer, intent(in), optional :: detail
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine begin_trace

    subroutine end_trace() bind(C, name='unibuf_fortran_end_trace')
      implicit none
    end subroutine end_trace

    !> Gives the bytes that were moved over links, and the fewest that had to be, of the last events of each thread.
    subroutine recorded_traffic(moved, least, stat, errmsg) bind(C, name='unibuf_fortran_recorded_traffic')
      import
      implicit none
      integer(i64), intent(out) :: moved, least
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine recorded_traffic

    !> Chooses the program's own OpenCL context, device and queue (cl_context, cl_device_id, cl_command_queue), for
    !> buffers that are created from now on. Without a queue, with 0, or with one that is out of order, unibuf makes one.
    subroutine use_opencl_queue(context, device, queue, stat, errmsg) bind(C, name='unibuf_fortran_use_opencl')
      import
      implicit none
      integer(c_intptr_t), intent(in) :: context, device
      integer(c_intptr_t), intent(in), optional :: queue
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine use_opencl_queue

    function device_count(stat) result(count) bind(C, name='unibuf_fortran_device_count')
      implicit none
      integer, intent(out) :: stat
      integer :: count
    end function device_count

    subroutine put_device_name(index, name) bind(C, name='unibuf_fortran_device_name')
      implicit none
      integer, intent(in) :: index
      character(*), intent(inout) :: name
    end subroutine put_device_name

  end interface

contains

  !> Returns the names of the devices that this machine has: "host", "opencl:0".
  function device_names(stat, errmsg) result(names)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(longest_name), allocatable :: names(:)

    integer :: status, i

    allocate (names(device_count(status)))
    do i = 1, size(names)
      names(i) = ' '
      call put_device_name(i, names(i))
    end do
    call report(status, stat, errmsg)
  end function device_names

end module gpu_buffer_control
