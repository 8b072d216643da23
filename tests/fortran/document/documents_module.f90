!> The module as the design document writes it, line by line; what the document leaves open is done by unibuf's own. It
!> has the name of unibuf's, and is compiled in its place.
module gpu_unified_buffers
  use kinds
  use iso_c_binding
  use gpu_fence_primitives
  use gpu_buffer_types, only: made_buffer => unified_buffer
  implicit none

  ! Buffer access modes
  enum, bind(C)
    enumerator :: BUFFER_READ_ONLY = 1
    enumerator :: BUFFER_WRITE_ONLY = 2
    enumerator :: BUFFER_READ_WRITE = 3
  end enum

  ! Memory hints
  enum, bind(C)
    enumerator :: MEMORY_CPU_PREFERRED = 1
    enumerator :: MEMORY_GPU_PREFERRED = 2
    enumerator :: MEMORY_COHERENT = 3
    enumerator :: MEMORY_STREAMING = 4
  end enum

  ! Buffer tracks its own fence
  ! Unified buffer type
  type :: unified_buffer
    private
    integer :: gl_buffer = 0
    type(c_ptr) :: cpu_ptr = c_null_ptr
    integer(i64) :: size_bytes = 0
    integer :: access_mode = BUFFER_READ_WRITE
    integer :: memory_hint = MEMORY_COHERENT
    logical :: is_mapped = .false.
    logical :: is_coherent = .true.
    type(gpu_fence) :: sync_fence
    type(gpu_fence) :: write_fence  ! CPU write completion
    type(gpu_fence) :: read_fence   ! GPU operation completion
    type(made_buffer) :: made
  end type

  ! Generic interface for different types
  interface write_buffer
    module procedure write_buffer_f32, write_buffer_f64, write_buffer_i32
  end interface

  interface read_buffer
    module procedure read_buffer_f32, read_buffer_f64, read_buffer_i32
  end interface

  integer, parameter :: timeout_ns_seconds = 10
  integer(i64), parameter, private :: timeout_ns = timeout_ns_seconds*1000000000_i64
  logical :: fell_back = .false., map_failed = .false.

contains

  ! Create a unified buffer
  function create_unified_buffer(size, access_mode, memory_hint) result(buffer)
    use unibufs_module, only: create => create_unified_buffer, get_cpu_pointer, buffer_is_valid
    integer(i64), intent(in) :: size
    integer, intent(in) :: access_mode
    integer, intent(in), optional :: memory_hint
    type(unified_buffer) :: buffer

    buffer%made = create(size, access_mode, memory_hint)
    if (.not. buffer_is_valid(buffer%made)) return
    buffer%size_bytes = size
    buffer%access_mode = access_mode
    if (present(memory_hint)) buffer%memory_hint = memory_hint
    buffer%cpu_ptr = get_cpu_pointer(buffer%made, 1)
    buffer%is_mapped = c_associated(buffer%cpu_ptr)
    ! The document flushes only a mapping that is not coherent.
    buffer%is_coherent = .false.
  end function

  ! Get CPU pointer for direct access
  function get_cpu_pointer(buffer, element_size) result(ptr)
    use unibufs_module, only: get => get_cpu_pointer
    type(unified_buffer), intent(in) :: buffer
    integer, intent(in) :: element_size
    type(c_ptr) :: ptr

    ptr = get(buffer%made, element_size)
  end function

  ! Synchronization
  subroutine sync_to_gpu(buffer)
    use unibufs_module, only: sync => sync_to_gpu
    type(unified_buffer), intent(inout) :: buffer

    call sync(buffer%made)
  end subroutine

  subroutine sync_from_gpu(buffer)
    use unibufs_module, only: sync => sync_from_gpu
    type(unified_buffer), intent(inout) :: buffer

    call sync(buffer%made)
  end subroutine

  ! Cleanup
  subroutine destroy_unified_buffer(buffer)
    use unibufs_module, only: destroy => destroy_unified_buffer
    type(unified_buffer), intent(inout) :: buffer

    call destroy(buffer%made)
    buffer = unified_buffer()
  end subroutine

  ! Example implementation
  subroutine write_buffer_f32(buffer, data, offset)
    type(unified_buffer), intent(inout) :: buffer
    real(sp), intent(in) :: data(:)
    integer(i64), intent(in), optional :: offset

    real(sp), pointer :: ptr(:)
    call c_f_pointer(buffer%cpu_ptr, ptr, [buffer%size_bytes/4])

    if (present(offset)) then
      ptr(offset+1:offset+size(data)) = data
    else
      ptr(1:size(data)) = data
    end if

    if (.not. buffer%is_coherent) then
      call flush_buffer_range(buffer, offset, size(data)*4)
    end if
  end subroutine

  subroutine write_buffer_f64(buffer, data, offset)
    use unibufs_module, only: write => write_buffer
    type(unified_buffer), intent(inout) :: buffer
    real(dp), intent(in) :: data(:)
    integer(i64), intent(in), optional :: offset

    call write(buffer%made, data, offset)
  end subroutine

  subroutine write_buffer_i32(buffer, data, offset)
    use unibufs_module, only: write => write_buffer
    type(unified_buffer), intent(inout) :: buffer
    integer(i32), intent(in) :: data(:)
    integer(i64), intent(in), optional :: offset

    call write(buffer%made, data, offset)
  end subroutine

  subroutine read_buffer_f32(buffer, data, offset)
    use unibufs_module, only: read => read_buffer
    type(unified_buffer), intent(inout) :: buffer
    real(sp), intent(inout) :: data(:)
    integer(i64), intent(in), optional :: offset

    call read(buffer%made, data, offset)
  end subroutine

  subroutine read_buffer_f64(buffer, data, offset)
    use unibufs_module, only: read => read_buffer
    type(unified_buffer), intent(inout) :: buffer
    real(dp), intent(inout) :: data(:)
    integer(i64), intent(in), optional :: offset

    call read(buffer%made, data, offset)
  end subroutine

  subroutine read_buffer_i32(buffer, data, offset)
    use unibufs_module, only: read => read_buffer
    type(unified_buffer), intent(inout) :: buffer
    integer(i32), intent(inout) :: data(:)
    integer(i64), intent(in), optional :: offset

    call read(buffer%made, data, offset)
  end subroutine

  ! Automatic sync on access
  subroutine write_buffer_safe(buffer, data)
    type(unified_buffer), intent(inout) :: buffer
    real(sp), intent(in) :: data(:)

    ! Wait for previous GPU ops
    if (gpu_fence_is_valid(buffer%read_fence)) then
      call gpu_fence_wait(buffer%read_fence, timeout_ns)
    end if

    ! Write data
    call write_buffer_internal(buffer, data)

    ! Signal write completion
    buffer%write_fence = gpu_fence_create()
  end subroutine

  !> What the document leaves open.
  subroutine write_buffer_internal(buffer, data)
    type(unified_buffer), intent(inout) :: buffer
    real(sp), intent(in) :: data(:)

    call write_buffer(buffer, data)
  end subroutine

  subroutine flush_buffer_range(buffer, offset, bytes)
    use unibufs_module, only: flush => flush_buffer_range
    type(unified_buffer), intent(inout) :: buffer
    integer(i64), intent(in), optional :: offset
    integer, intent(in) :: bytes

    ! The document passes elements.
    if (present(offset)) then
      call flush(buffer%made, 4*offset, bytes)
    else
      call flush(buffer%made, size=bytes)
    end if
  end subroutine

  subroutine bind_buffer_to_shader(buffer, binding)
    use unibufs_module, only: bind_storage => bind_buffer_to_shader
    type(unified_buffer), intent(inout) :: buffer
    integer, intent(in) :: binding

    call bind_storage(buffer%made, binding)
    buffer%read_fence = gpu_fence_create()
  end subroutine

  logical function buffer_is_valid(buffer)
    use unibufs_module, only: is_valid => buffer_is_valid
    type(unified_buffer), intent(in) :: buffer

    buffer_is_valid = is_valid(buffer%made)
  end function

  subroutine check_creation(buffer)
    type(unified_buffer), intent(in) :: buffer

    ! Buffer creation can fail
    if (.not. buffer_is_valid(buffer)) then
      ! Fallback to traditional copy
      call use_copy_fallback()
    end if

    ! Map can fail
    if (.not. c_associated(buffer%cpu_ptr)) then
      ! Handle out of address space
      call handle_map_failure()
    end if
  end subroutine

  subroutine use_copy_fallback()
    fell_back = .true.
  end subroutine

  subroutine handle_map_failure()
    map_failed = .true.
  end subroutine

end module
