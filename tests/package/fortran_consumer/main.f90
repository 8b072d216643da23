program consumer
  use gpu_unified_buffers
  use kinds
  implicit none

  type(unified_buffer) :: buffer
  real(sp) :: numbers(2, 3)

  call set_gpu_device('debug:0')
  buffer = create_unified_buffer(24_i64, BUFFER_READ_WRITE)
  call fill_buffer(buffer, 1.0_sp)
  call read_buffer(buffer, numbers)
  call destroy_unified_buffer(buffer)
  if (any(numbers < 1 .or. numbers > 1)) error stop 'the numbers are not 1'
end program consumer
