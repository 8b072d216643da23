!> fallback_test: the error handling of the design document, on a machine with and without OpenGL.
program fallback_test
  use checks
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds
  implicit none

  type(unified_buffer) :: buffer
  character(:), allocatable :: where_it_is
  integer :: status, back(4)
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
  if (where_it_is == 'host') then
    call check(status == STATUS_UNSUPPORTED, 'but no shader can use the host''s: ' // trim(message))
  else
    call check(status == STATUS_OK, 'a shader can use it')
  end if
  call destroy_unified_buffer(buffer)
  call finish()

end program fallback_test
