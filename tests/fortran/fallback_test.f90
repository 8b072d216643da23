!> fallback_test: the error handling of the design document, on a machine with and without OpenGL.
program fallback_test
  use, intrinsic :: iso_c_binding, only: c_associated
  use checks
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds
  implicit none

  type(unified_buffer) :: buffer
  type(buffer_pool) :: pool
  type(compute_shader) :: shader
  character(:), allocatable :: where_it_is
  integer :: status, mode, hint, failures, back(4)
  character(500) :: message

  buffer = create_unified_buffer(16_i64, BUFFER_READ_WRITE)
  if (.not. buffer_is_valid(buffer)) then
    call check(index(unified_buffer_message(), 'opengl') > 0, 'the reason is told: ' // unified_buffer_message())
    buffer = create_unified_buffer(16_i64, BUFFER_READ_WRITE, stat=status, errmsg=message)
    call check(status == STATUS_DEVICE_UNAVAILABLE, 'and by stat')
  else
    call check(index(buffer_mapping(buffer), 'shared') == 1, 'with OpenGL a buffer is shared')
    call destroy_unified_buffer(buffer)
  end if

  call use_copy_fallback()
  buffer = create_unified_buffer(16_i64, BUFFER_READ_WRITE)
  call check(buffer_is_valid(buffer), 'after use_copy_fallback a buffer can be created everywhere')
  where_it_is = gpu_device()
  call check(where_it_is == 'host' .or. index(buffer_mapping(buffer), 'mirrored') == 1, 'which is copied')
  call write_buffer(buffer, [1, 2, 3, 4])
  call sync_to_gpu(buffer)
  call sync_from_gpu(buffer)
  call read_buffer(buffer, back)
  call check(all(back == [1, 2, 3, 4]), 'and works as any other')
  call bind_buffer_to_shader(buffer, 0, stat=status, errmsg=message)
  call check(status == STATUS_OK, 'a binding succeeds')
  if (where_it_is == 'host') then
    shader = create_compute_shader('void main() {}', stat=status, errmsg=message)
    call check(status == STATUS_UNSUPPORTED .or. status == STATUS_DEVICE_UNAVAILABLE, 'but there is no shader: ' // trim(message))
  end if
  call destroy_unified_buffer(buffer)
  pool = create_buffer_pool()
  do mode = BUFFER_READ_ONLY, BUFFER_READ_WRITE
    do hint = MEMORY_CPU_PREFERRED, MEMORY_STREAMING
      call use_all_of(create_unified_buffer(16_i64, mode, hint))
      buffer = acquire_buffer(pool, 16_i64, mode, hint)
      call use_all_of(buffer)
      call release_buffer(pool, buffer, stat=status)
      call check(status == STATUS_INVALID_ARGUMENT, 'a handle ends once')
    end do
  end do
  call destroy_buffer_pool(pool)
  call finish()

contains

  !> Uses each procedure of the document that the mode lets the host use, and leases "the device" as shaders would.
  subroutine use_all_of(used)
    type(unified_buffer), intent(in) :: used

    type(buffer_lease) :: lease
    integer, pointer, contiguous :: there(:) => null()

    failures = 0
    if (mode /= BUFFER_READ_ONLY) then
      call write_buffer(used, [1, 2, 3, 4], stat=status, errmsg=message)
      call count_failure('write_buffer')
    end if
    call bind_buffer_to_shader(used, 0, stat=status, errmsg=message)
    call count_failure('bind_buffer_to_shader')
    if (get_gpu_handle(used, stat=status, errmsg=message) == 0) failures = failures + 1
    call count_failure('get_gpu_handle')
    call sync_to_gpu(used, stat=status, errmsg=message)
    call count_failure('sync_to_gpu')
    lease = acquire_buffer(used, gpu_device(), ACCESS_READ_WRITE, stat=status, errmsg=message)
    call count_failure('a lease at the device')
    if (status == STATUS_OK) then
      if (where_it_is == 'host') then
        call get_pointer(lease, there)
        if (mode /= BUFFER_READ_ONLY .and. any(there /= [1, 2, 3, 4])) failures = failures + 1
        there = 7
      end if
      call release_buffer(lease)
    end if
    call sync_from_gpu(used, stat=status, errmsg=message)
    call count_failure('sync_from_gpu')
    if (.not. c_associated(get_cpu_pointer(used, 4, stat=status, errmsg=message))) failures = failures + 1
    call count_failure('get_cpu_pointer')
    if (mode /= BUFFER_WRITE_ONLY) then
      call read_buffer(used, back, stat=status, errmsg=message)
      call count_failure('read_buffer')
      if (where_it_is == 'host' .and. any(back /= 7)) failures = failures + 1
    end if
    call release_gpu_handle(used, stat=status, errmsg=message)
    call count_failure('release_gpu_handle')
    call destroy_unified_buffer(used, stat=status, errmsg=message)
    call count_failure('destroy_unified_buffer')
    write (message, '(a, i0, a, i0)') 'all procedures with access mode ', mode, ' and memory hint ', hint
    call check(failures == 0, trim(message))
  end subroutine use_all_of

  subroutine count_failure(what)
    character(*), intent(in) :: what

    if (status == STATUS_OK) return
    failures = failures + 1
    print '(a)', what // ': ' // trim(message)
  end subroutine count_failure

end program fallback_test
