!> pool_test DEVICE: buffers are used again, and syncs move together.
program pool_test
  use checks
  use gpu_unified_buffers
  use kinds
  implicit none

  integer :: status
  character(500) :: message

  call set_gpu_device(argument(1), stat=status, errmsg=message)
  if (status /= STATUS_OK) call skip(trim(message))
  call pools()
  call refusals()
  call batches()
  call finish()

contains

  subroutine pools()
    type(buffer_pool) :: pool
    type(unified_buffer) :: buffer, before
    type(pool_statistics) :: figures
    integer :: back(256), round
    logical :: clean

    pool = create_buffer_pool()
    call reserve_buffers(pool, 2, 1024_i64, BUFFER_READ_WRITE)
    figures = get_pool_statistics(pool)
    call check(figures%held == 2, 'reserved buffers are there')
    clean = .true.
    do round = 1, 10
      buffer = acquire_buffer(pool, 1024_i64, BUFFER_READ_WRITE)
      call read_buffer(buffer, back)
      clean = clean .and. all(back == 0)
      call write_buffer(buffer, spread(round, 1, 256))
      call sync_to_gpu(buffer)
      before = buffer
      call release_buffer(pool, buffer)
    end do
    call check(clean, 'what was written before is not there')
    call check(.not. buffer_is_valid(before), 'a released handle ends, with its copies')
    figures = get_pool_statistics(pool)
    call check(figures%hits == 10 .and. figures%misses == 2 .and. figures%held == 2, 'the same buffers were used again')
    buffer = acquire_buffer(pool, 100000_i64, BUFFER_READ_WRITE)
    figures = get_pool_statistics(pool)
    call check(figures%misses == 3, 'another size is made')
    call trim_buffer_pool(pool)
    figures = get_pool_statistics(pool)
    call check(figures%held == 0, 'a trimmed pool holds nothing')
    call destroy_buffer_pool(pool)
    call write_buffer(buffer, 1)
    call read_buffer(buffer, back(:1))
    call check(back(1) == 1, 'a buffer that is in use outlives its pool')
    call destroy_unified_buffer(buffer)
  end subroutine pools

  subroutine refusals()
    type(buffer_pool) :: pool, other
    type(unified_buffer) :: buffer, view
    type(buffer_lease) :: lease

    pool = create_buffer_pool()
    other = create_buffer_pool()
    buffer = acquire_buffer(pool, 64_i64, BUFFER_READ_WRITE)
    call release_buffer(other, buffer, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT, 'a buffer goes back to its own pool: ' // trim(message))
    view = view_buffer(buffer, 0_i64, 8_i64)
    call release_buffer(pool, view, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT, 'a view is no buffer of a pool: ' // trim(message))
    call destroy_unified_buffer(view)
    lease = acquire_buffer(buffer, 'host', ACCESS_READ)
    call release_buffer(pool, buffer, stat=status, errmsg=message)
    call check(status == STATUS_ACCESS_CONFLICT, 'nor is one that is leased: ' // trim(message))
    call check(buffer_is_valid(buffer), 'and it is still the program''s')
    call release_buffer(lease)
    call release_buffer(pool, buffer)
    call release_buffer(pool, buffer, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT, 'it goes back once: ' // trim(message))
    buffer = acquire_buffer(pool, 0_i64, BUFFER_READ_WRITE, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. .not. buffer_is_valid(buffer), 'no buffer has no bytes')
    call reserve_buffers(pool, -1, 64_i64, BUFFER_READ_WRITE, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT, 'nor are there -1 of them: ' // trim(message))
    call destroy_buffer_pool(other)
    call destroy_buffer_pool(pool)
    call destroy_buffer_pool(pool, stat=status)
    call check(status == STATUS_INVALID_ARGUMENT, 'a pool ends once')
  end subroutine refusals

  subroutine batches()
    type(unified_buffer) :: buffers(20)
    integer :: i

    do i = 1, size(buffers)
      buffers(i) = create_unified_buffer(64_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
      call write_buffer(buffers(i), spread(i, 1, 16))
    end do
    call begin_batch()
    do i = 1, size(buffers)
      call sync_to_gpu(buffers(i))
    end do
    if (argument(1) /= 'host') then
      call check(all([(buffer_state(buffers(i)) == BUFFER_HOST_DIRTY, i=1, size(buffers))]), 'a batch collects')
    end if
    call end_batch()
    if (argument(1) /= 'host') then
      call check(all([(buffer_state(buffers(i)) == BUFFER_SYNCHRONIZED, i=1, size(buffers))]), 'and moves at its end')
    end if
    do i = 1, size(buffers)
      call destroy_unified_buffer(buffers(i))
    end do
  end subroutine batches

end program pool_test
