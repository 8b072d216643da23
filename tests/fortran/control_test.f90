!> control_test DEVICE: arrays of the program's own, names, prefetches, discards, limits, and what was moved.
program control_test
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  use checks
  use gpu_unified_buffers
  use kinds
  implicit none

  integer, parameter :: n = 1000
  character(:), allocatable :: device
  character(500) :: message
  integer :: status

  device = argument(1)
  call set_gpu_device(device, stat=status, errmsg=message)
  if (status == STATUS_DEVICE_UNAVAILABLE) call skip(trim(message))
  call over()
  call names()
  call moves()
  call guards()
  call traces()
  call limits()
  call devices()
  call finish()

contains

  subroutine over()
    real(dp), allocatable, target :: field(:, :)
    type(unified_buffer) :: buffer
    type(buffer_lease) :: lease
    real(dp) :: back(n)

    allocate (field(n/10, 10), source=1.0_dp)
    buffer = create_buffer_over(field, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call check(buffer_size(buffer) == 8_i64*n, 'a buffer over an array has its size')
    call read_buffer(buffer, back)
    call check(all(back == 1), 'and its content')
    lease = acquire_buffer(buffer, device, ACCESS_READ)
    call release_buffer(lease)
    field(5, 2) = 7
    field(n/10, 10) = 8
    call there_and_back(buffer)
    call read_buffer(buffer, back)
    call check(back(n/10 + 5) == 7 .and. back(n) == 8 .and. count(back == 1) == n - 2, &
               'what the program writes to the array is found')
    call fill_buffer(buffer, 3.0_dp)
    call sync_from_gpu(buffer)
    call check(all(field == 3), 'and the array has what is written to the buffer')
    call release_cpu_pointer(buffer)
    call there_and_back(buffer)
    call sync_from_gpu(buffer)
    field(7, 2) = 5
    call sync_to_gpu(buffer)
    call there_and_back(buffer)
    call read_buffer(buffer, back)
    call check(back(n/10 + 7) == 5, 'also after release_cpu_pointer: its name is a pointer that never ends')
    call destroy_unified_buffer(buffer)
    buffer = create_buffer_over(field(1:n/20, :), BUFFER_READ_WRITE, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'contiguous') /= 0, trim(message))
    buffer = create_buffer_over(field(1:0, :), BUFFER_READ_WRITE, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'a size of 0') /= 0, trim(message))
    call check(index(trim(message) // '.', ' [unibuf explain invalid_argument].') /= 0, 'it names its section')
    buffer = create_buffer_over(field, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call begin_io(buffer, ACCESS_WRITE)
    field = 8
    lease = acquire_buffer(buffer, device, ACCESS_READ)
    call release_buffer(lease)
    if (device /= 'host') then
      lease = acquire_buffer(buffer, device, ACCESS_WRITE, stat=status, errmsg=message)
      call check(status == STATUS_ACCESS_CONFLICT .and. index(message, 'io_view') /= 0, trim(message))
    end if
    call begin_io(buffer, ACCESS_READ, stat=status)
    call check(status == STATUS_INVALID_ARGUMENT, 'I/O that only reads needs a lease')
    call end_io(buffer)
    call there_and_back(buffer)
    call read_buffer(buffer, back)
    call check(all(back == 8), 'what I/O has written is there, and at the GPU')
    call end_io(buffer)
    call destroy_unified_buffer(buffer)
    buffer = create_buffer_over(field, BUFFER_CONSTANT, MEMORY_GPU_PREFERRED)
    call sync_to_gpu(buffer)
    call fill_buffer(buffer, 4.0_dp, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'content is constant') /= 0, trim(message))
    lease = acquire_buffer(buffer, device, ACCESS_WRITE, stat=status)
    call check(status == STATUS_INVALID_ARGUMENT, 'no lease writes a constant')
    field = 6
    call mark_host_dirty(buffer)
    lease = acquire_buffer(buffer, device, ACCESS_READ)
    call release_buffer(lease)
    call read_buffer(buffer, back)
    call check(all(back == 6), 'a mark tells what the program has written to a constant')
    call destroy_unified_buffer(buffer)
    deallocate (field)
  end subroutine over

  !> Makes the device's copy the newest.
  subroutine there_and_back(buffer)
    type(unified_buffer), intent(in) :: buffer

    type(buffer_lease) :: lease

    lease = acquire_buffer(buffer, device, ACCESS_READ_WRITE)
    call release_buffer(lease)
  end subroutine there_and_back

  subroutine names()
    type(unified_buffer) :: buffer, found

    buffer = create_unified_buffer(400_i64, BUFFER_READ_WRITE)
    call write_buffer(buffer, spread(5, 1, 100))
    call register_buffer('temperature', buffer)
    found = find_buffer('temperature')
    call check(holds(found, 5), 'a buffer is found by its name')
    call register_buffer('temperature', buffer, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'temperature') /= 0, trim(message))
    call unregister_buffer('temperature')
    call check(.not. buffer_is_valid(find_buffer('temperature')), 'until the name is taken away')
    call destroy_unified_buffer(found)
    call destroy_unified_buffer(buffer)
  end subroutine names

  logical function holds(buffer, value)
    type(unified_buffer), intent(in) :: buffer
    integer, intent(in) :: value

    integer :: back(100)

    call read_buffer(buffer, back)
    holds = all(back == value)
  end function holds

  subroutine moves()
    type(unified_buffer) :: buffer
    integer(i64) :: expected

    buffer = create_unified_buffer(400_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call write_buffer(buffer, spread(5, 1, 100))
    call prefetch_buffer(buffer, device, 0_i64, 200_i64)
    expected = 200
    if (device == 'host') expected = 0
    call check(transferred_bytes('host', device, buffer) == expected, 'a part is brought ahead')
    call check(transferred_bytes('host', device) >= expected .and. transferred_bytes(device, 'host', buffer) == 0, &
               'bytes are counted by direction')
    if (device /= 'host') then
      call discard_copy(buffer, device)
      call check(holds(buffer, 5), 'a copy is discarded, and no content')
      call there_and_back(buffer)
      call discard_copy(buffer, device, stat=status, errmsg=message)
      call check(status == STATUS_ACCESS_CONFLICT, 'the last one is not: ' // trim(message))
    end if
    call discard_content(buffer)
    call check(holds(buffer, 0), 'discarded content is zero')
    call destroy_unified_buffer(buffer)
  end subroutine moves

  subroutine traces()
    type(unified_buffer) :: buffer
    type(buffer_lease) :: lease
    integer(i64) :: moved, least, before
    integer :: unit
    logical :: there

    call begin_trace('/nonexistent/trace', stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'No such file') /= 0, trim(message))
    call begin_trace('control.' // device // '.trace', 2, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'TRACE_CLOSE') /= 0, trim(message))
    buffer = create_unified_buffer(400_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call write_buffer(buffer, spread(5, 1, 100))
    call recorded_traffic(before, least)
    call begin_trace('control.' // device // '.trace', TRACE_CLOSE)
    lease = acquire_buffer(buffer, device, ACCESS_READ)
    call release_buffer(lease)
    call end_trace()
    call recorded_traffic(moved, least)
    call check(moved == before + merge(0_i64, 400_i64, device == 'host'), 'the lease moved what it lacked')
    call check(least <= moved, 'no more is needed than was moved')
    inquire (file='control.' // device // '.trace', exist=there)
    call check(there, 'the trace is there')
    open (newunit=unit, file='control.' // device // '.trace')
    close (unit, status='delete')
    call destroy_unified_buffer(buffer)
  end subroutine traces

  subroutine guards()
    type(unified_buffer) :: buffer
    type(buffer_lease) :: lease
    integer(i64) :: before

    call end_guard(stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT, trim(message))
    call begin_guard(3, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'GUARD_REFUSE') /= 0, trim(message))
    if (device == 'host') return
    buffer = create_unified_buffer(400_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call write_buffer(buffer, spread(5, 1, 100))
    before = transferred_bytes('host', device)
    call begin_guard(GUARD_REFUSE, to=device)
    lease = acquire_buffer(buffer, device, ACCESS_READ, stat=status, errmsg=message)
    call check(status == STATUS_ACCESS_CONFLICT .and. index(message, 'a guard refuses') /= 0, trim(message))
    call check(transferred_bytes('host', device) == before, 'what is refused has not moved')
    call begin_guard(GUARD_ALLOW, from='host')
    lease = acquire_buffer(buffer, device, ACCESS_READ)
    call release_buffer(lease)
    call end_guard()
    call write_buffer(buffer, spread(6, 1, 100))
    call sync_to_gpu(buffer)
    call check(transferred_bytes('host', device) == before + 800, 'what is asked for by name moves')
    call end_guard()
    call destroy_unified_buffer(buffer)
  end subroutine guards

  subroutine limits()
    type(unified_buffer) :: first, second
    type(transfer_statistics) :: figures

    if (device == 'host') return
    first = create_unified_buffer(400_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    second = create_unified_buffer(400_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call write_buffer(first, spread(5, 1, 100))
    call there_and_back(first)
    call limit_gpu_memory(device, 1_i64)
    figures = buffer_statistics(first)
    call check(figures%evictions == 1 .and. holds(first, 5), 'a limit makes copies go')
    call sync_to_gpu(second, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_MEMORY, trim(message))
    call limit_gpu_memory(device)
    call sync_to_gpu(second, stat=status, errmsg=message)
    call check(status == STATUS_OK, 'until it is taken away')
    call limit_gpu_memory(device, -1_i64, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE, trim(message))
    call destroy_unified_buffer(first)
    call destroy_unified_buffer(second)
  end subroutine limits

  subroutine devices()
    call check(any(device_names() == 'host') .and. any(device_names() == device), 'the devices have names')
    call use_opencl_queue(0_c_intptr_t, 0_c_intptr_t, stat=status, errmsg=message)
    call check(status /= STATUS_OK, 'an OpenCL context of 0 is none: ' // trim(message))
  end subroutine devices

end program control_test
