!> threads_test: threads of OpenMP create, use and destroy buffers of their own, and share one.
program threads_test
  use omp_lib, only: omp_get_thread_num
  use checks
  use gpu_unified_buffers
  use kinds
  implicit none

  integer, parameter :: threads = 8, rounds = 200
  integer :: wrong
  type(unified_buffer) :: shared
  integer :: total(threads)

  call set_gpu_device('debug:0')
  call own_buffers()
  call one_buffer()
  call leases()
  call errors()
  call finish()

contains

  subroutine own_buffers()
    type(unified_buffer) :: buffer
    integer :: thread, round, back(16)

    wrong = 0
    !$omp parallel do num_threads(threads) private(buffer, round, back) reduction(+:wrong) schedule(static, 1)
    do thread = 1, threads
      do round = 1, rounds
        buffer = create_unified_buffer(64_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
        call write_buffer(buffer, spread(thread*1000 + round, 1, 16))
        call sync_to_gpu(buffer)
        call mark_device_dirty(buffer)
        call read_buffer(buffer, back)
        if (any(back /= thread*1000 + round)) wrong = wrong + 1
        call destroy_unified_buffer(buffer)
      end do
    end do
    call check(wrong == 0, 'each thread sees its own buffers')
  end subroutine own_buffers

  subroutine one_buffer()
    integer :: thread, round

    shared = create_unified_buffer(4_i64*threads, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    !$omp parallel do num_threads(threads) private(round) schedule(static, 1)
    do thread = 1, threads
      do round = 1, rounds
        call write_buffer(shared, round, int(thread - 1, i64))
        call sync_to_gpu(shared)
      end do
    end do
    call read_buffer(shared, total)
    call check(all(total == rounds), 'threads write their parts of one buffer, and none is lost')
    call destroy_unified_buffer(shared)
  end subroutine one_buffer

  !> Takes leases of a buffer that the GPU may use at any time.
  subroutine leases()
    type(unified_buffer) :: buffer
    type(buffer_lease) :: lease, other
    integer :: round, status

    buffer = create_unified_buffer(4_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call check(get_gpu_handle(buffer) /= 0, 'the GPU has a handle of a buffer')
    !$omp parallel num_threads(threads) private(round, lease)
    do round = 1, rounds
      lease = acquire_buffer(buffer, 'host', ACCESS_READ)
      !$omp barrier
      call release_buffer(lease)
      !$omp barrier
    end do
    !$omp end parallel
    call check(.true., 'threads read it at the same time')

    wrong = 0
    lease = acquire_buffer(buffer, 'host', ACCESS_WRITE)
    !$omp parallel num_threads(2) private(other, status) reduction(+:wrong)
    other = acquire_buffer(buffer, 'host', ACCESS_READ, timeout_ns=20000000_i64, stat=status)
    if (omp_get_thread_num() == 1 .and. status /= STATUS_TIMEOUT) wrong = wrong + 1
    !$omp end parallel
    call check(wrong == 0, 'a thread waits for the lease of another as long as it wants to')
    call release_buffer(lease)
    lease = acquire_buffer(buffer, 'debug:0', ACCESS_WRITE)
    !$omp parallel num_threads(2) private(other, status) reduction(+:wrong)
    other = acquire_buffer(buffer, 'host', ACCESS_READ, timeout_ns=20000000_i64, stat=status)
    if (omp_get_thread_num() == 1 .and. status /= STATUS_TIMEOUT) wrong = wrong + 1
    !$omp end parallel
    call check(wrong == 0, 'also at the GPU')
    call release_buffer(lease)
    call destroy_unified_buffer(buffer)
  end subroutine leases

  !> The message is that of the thread's own failure.
  subroutine errors()
    type(unified_buffer) :: buffer
    integer :: thread, round, status
    character(200) :: message, expected

    buffer = create_unified_buffer(4_i64, BUFFER_READ_WRITE)
    wrong = 0
    !$omp parallel do num_threads(threads) private(round, status, message, expected) reduction(+:wrong) schedule(static, 1)
    do thread = 1, threads
      do round = 1, rounds
        call write_buffer(buffer, 1, int(thread*1000, i64), stat=status, errmsg=message)
        write (expected, '(a, i0)') 'from element ', thread*1000
        if (status /= STATUS_OUT_OF_RANGE .or. index(message, trim(expected)) == 0) wrong = wrong + 1
      end do
    end do
    call check(wrong == 0, 'each thread gets the message of its own failure')
    call destroy_unified_buffer(buffer)
  end subroutine errors

end program threads_test
