!> stops CASE: what a program does that does not ask for stat. It is to stop with the message.
program stops
  use checks
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds
  implicit none

  type(unified_buffer) :: buffer, never
  type(compute_shader) :: shader
  type(buffer_pool) :: pool
  type(gpu_fence) :: fence
  integer, pointer :: p(:, :)
  integer :: number
  logical, pointer :: flags(:)

  call set_gpu_device('debug:0')
  buffer = create_unified_buffer(16_i64, BUFFER_READ_WRITE)
  nullify (p, flags)
  number = 0
  select case (argument(1))
  case ('past_the_end')
    call write_buffer(buffer, [1, 2, 3, 4, 5])
  case ('logicals_past_the_end')
    call write_buffer(buffer, [.true.], 4_i64)
  case ('negative_offset')
    call read_buffer(buffer, number, -1_i64)
  case ('zero_size')
    buffer = create_unified_buffer(0_i64, BUFFER_READ_WRITE)
  case ('wrong_element_size')
    if (transfer(get_cpu_pointer(buffer, 5), 0_i64) == 0) print '(a)', 'went on'
  case ('wrong_shape')
    call get_pointer(buffer, p, [2])
  case ('logicals_of_wrong_shape')
    call get_pointer(buffer, flags, [5])
  case ('use_after_destroy')
    call destroy_unified_buffer(buffer)
    call sync_to_gpu(buffer)
  case ('double_destroy')
    call destroy_unified_buffer(buffer)
    call destroy_unified_buffer(buffer)
  case ('mapping_after_destroy')
    call destroy_unified_buffer(buffer)
    print '(a)', buffer_mapping(buffer)
  case ('never_created')
    call write_buffer(never, 1)
  case ('creation_failed')
    never = create_unified_buffer(huge(1_i64), BUFFER_READ_WRITE)
    print '(a)', 'went on'
    call write_buffer(never, 1)
  case ('acquisition_failed')
    pool = create_buffer_pool()
    never = acquire_buffer(pool, huge(1_i64), BUFFER_READ_WRITE)
    print '(a)', 'went on'
    call write_buffer(never, 1)
  case ('no_fence')
    call gpu_fence_wait(fence, 1_i64)
  case ('no_shader')
    call dispatch_compute(shader, 1)
  case ('errmsg_alone')
    call stopped_with_errmsg()
  end select
  print '(a)', 'came to the end'

contains

  subroutine stopped_with_errmsg()
    character(100) :: message

    call write_buffer(buffer, 1, 100_i64, errmsg=message)
  end subroutine stopped_with_errmsg

end program stops
