!> lifecycle_test DEVICE: handles, from create to destroy; who has the newest content in between.
program lifecycle_test
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_ptr
  use checks
  use gpu_unified_buffers
  use kinds
  implicit none

  type :: simulation
    type(unified_buffer) :: state
    type(unified_buffer) :: parts(3)
  end type simulation

  integer :: status
  character(500) :: message

  call set_gpu_device(argument(1), stat=status, errmsg=message)
  if (status /= STATUS_OK) call skip(trim(message))
  call check(gpu_device() == argument(1), 'the GPU is the one that was chosen')
  call handles()
  call components()
  call many()
  call states()
  call sizes()
  call views()
  call leases()
  call statistics()
  call finish()

contains

  function made_elsewhere() result(buffer)
    type(unified_buffer) :: buffer

    buffer = create_unified_buffer(4_i64, BUFFER_READ_WRITE)
    call write_buffer(buffer, 42)
  end function made_elsewhere

  subroutine handles()
    type(unified_buffer) :: never, buffer, copy
    integer :: x

    call check(.not. buffer_is_valid(never), 'a handle is not valid before it is created')
    buffer = made_elsewhere()
    call read_buffer(buffer, x)
    call check(x == 42, 'what a function creates lives on after its result has gone')
    copy = buffer
    call write_buffer(copy, 43)
    call read_buffer(buffer, x)
    call check(x == 43, 'copies of a handle share the buffer')
    call destroy_unified_buffer(buffer)
    call check(.not. buffer_is_valid(buffer) .and. .not. buffer_is_valid(copy), 'all copies end with one')
    buffer = create_unified_buffer(8_i64, BUFFER_READ_WRITE)
    call check(buffer_is_valid(buffer) .and. .not. buffer_is_valid(copy), 'an old copy does not stand for a new buffer')
    call read_buffer(copy, x, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'destroyed: buffer #') > 0, &
               'and says so when it is used')
    call check(index(message, '(4 bytes)') > 0, 'and which buffer it was')
    copy = buffer
    call destroy_unified_buffer(buffer)
    call read_buffer(copy, x, stat=status, errmsg=message)
    call check(index(message, '(8 bytes)') > 0, 'also where nothing has taken its place')
  end subroutine handles

  subroutine components()
    type(simulation) :: first, second
    integer :: i, x

    first%state = create_unified_buffer(4_i64, BUFFER_READ_WRITE)
    first%parts = [(create_unified_buffer(4_i64, BUFFER_READ_WRITE), i=1, 3)]
    second = first
    do i = 1, 3
      call write_buffer(second%parts(i), 10*i)
    end do
    call read_buffer(first%parts(2), x)
    call check(x == 20, 'handles may be components and elements, and are shared by assignment')
    call destroy_unified_buffer(first%state)
    do i = 1, 3
      call destroy_unified_buffer(first%parts(i))
    end do
    call check(.not. buffer_is_valid(second%state), 'and end together')
  end subroutine components

  subroutine many()
    type(unified_buffer) :: all_of_them(200)
    integer :: i, round, x
    logical :: right
    integer(i64) :: before

    before = memory_held()
    right = .true.
    do round = 1, 3
      do i = 1, size(all_of_them)
        all_of_them(i) = create_unified_buffer(int(4*i, i64), BUFFER_READ_WRITE)
        call write_buffer(all_of_them(i), round*1000 + i)
      end do
      do i = 1, size(all_of_them)
        call read_buffer(all_of_them(i), x)
        right = right .and. x == round*1000 + i .and. buffer_size(all_of_them(i)) == 4*i
        call destroy_unified_buffer(all_of_them(i))
      end do
    end do
    call check(right, 'buffers do not mix when handles are used again')
    call check(memory_held() == before, 'destroyed buffers hold no memory')
  end subroutine many

  subroutine states()
    type(unified_buffer) :: buffer
    type(c_ptr) :: address
    real(sp), pointer :: p(:)
    real(sp) :: x

    buffer = create_unified_buffer(400000_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    address = get_cpu_pointer(buffer, 4)
    call check(c_associated(address), 'it has a host pointer')
    call c_f_pointer(address, p, [100000])
    p = 1
    call check(buffer_state(buffer) == BUFFER_HOST_DIRTY, 'what is written through it is found')
    call check(buffer_state_name(buffer_state(buffer)) == 'HOST_DIRTY', 'a state has a name')
    call release_cpu_pointer(buffer)
    call sync_to_gpu(buffer)
    if (argument(1) == 'host') then
      call check(buffer_state(buffer) == BUFFER_HOST_DIRTY, 'the host alone has nobody to be in step with')
      call destroy_unified_buffer(buffer)
      return
    end if
    call check(index(buffer_mapping(buffer), 'mirrored') == 1, 'gpu_preferred is mirrored')
    call check(buffer_state(buffer) == BUFFER_SYNCHRONIZED, 'sync_to_gpu makes both current')
    call mark_device_dirty(buffer)
    call check(buffer_state(buffer) == BUFFER_DEVICE_DIRTY, 'mark_device_dirty says that the GPU wrote')
    call sync_from_gpu(buffer)
    call read_buffer(buffer, x, 7_i64)
    call check(buffer_state(buffer) == BUFFER_SYNCHRONIZED .and. x == 1, 'sync_from_gpu fetches it')
    call mark_host_dirty(buffer)
    call check(buffer_state(buffer) == BUFFER_HOST_DIRTY, 'mark_host_dirty says that the host wrote')
    call sync_to_gpu(buffer, 0_i64, 200000_i64)
    call check(buffer_state(buffer) == BUFFER_HOST_DIRTY, 'half of it is not all of it')
    call sync_to_gpu(buffer, 200000_i64)
    call check(buffer_state(buffer) == BUFFER_SYNCHRONIZED, 'both halves are')
    call mark_host_dirty(buffer)
    call flush_buffer_range(buffer, size=4000_i64)
    call flush_buffer_range(buffer, 4000_i64, 396000)
    call check(buffer_state(buffer) == BUFFER_SYNCHRONIZED, 'what is flushed is current at the GPU')
    call destroy_unified_buffer(buffer)
  end subroutine states

  subroutine sizes()
    type(unified_buffer) :: buffer

    buffer = create_unified_buffer(1_i64, BUFFER_READ_WRITE)
    call check(buffer_size(buffer) == 1, 'one byte is a buffer')
    call check(c_associated(get_cpu_pointer(buffer, 1)), 'of one element')
    call destroy_unified_buffer(buffer)
  end subroutine sizes

  subroutine views()
    type(unified_buffer) :: buffer, left, right
    integer(i32) :: back(8)

    buffer = create_unified_buffer(32_i64, BUFFER_READ_WRITE)
    left = view_buffer(buffer, 0_i64, 24_i64)
    right = view_buffer(buffer, 8_i64, 24_i64)
    call write_buffer(left, [1, 2, 3, 4, 5, 6])
    call sync_to_gpu(right)
    call write_buffer(right, [30, 40])
    call read_buffer(left, back(:6))
    call check(all(back(:6) == [1, 2, 30, 40, 5, 6]), 'views that overlap are coherent')
    call destroy_unified_buffer(left)
    call destroy_unified_buffer(right)
    call read_buffer(buffer, back)
    call check(back(3) == 30, 'and the buffer outlives them')
    call destroy_unified_buffer(buffer)
  end subroutine views

  subroutine leases()
    type(unified_buffer) :: buffer
    type(buffer_lease) :: lease, copy
    integer(i32), pointer :: p(:)
    integer :: x

    buffer = create_unified_buffer(40_i64, BUFFER_READ_WRITE)
    lease = acquire_buffer(buffer, 'host', ACCESS_WRITE)
    call write_buffer(buffer, 1, stat=status, errmsg=message)
    call check(status == STATUS_ACCESS_CONFLICT, 'a lease excludes other accesses of its thread')
    call get_pointer(lease, p)
    p = 9
    copy = lease
    call release_buffer(copy)
    call release_buffer(lease, stat=status)
    call check(status == STATUS_INVALID_ARGUMENT, 'a lease ends once')
    call read_buffer(buffer, x, 9_i64)
    call check(x == 9, 'what was written under it is there')

    lease = acquire_buffer(buffer, argument(1), ACCESS_READ, timeout_ns=huge(1_i64))
    call check(lease_handle(lease) /= 0 .or. argument(1) == 'host', 'a lease at the GPU has its handle')
    call release_buffer(lease)
    lease = acquire_buffer(buffer, 'host', 7, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'ACCESS_READ') > 0, 'an access is 1, 2 or 3')
    lease = acquire_buffer(buffer, 'host', ACCESS_READ, timeout_ns=-1_i64, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, '-1') > 0, 'a timeout is not negative')
    lease = acquire_buffer(buffer, 'nowhere', ACCESS_READ, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT, 'a memory has a name of unibuf')
    lease = acquire_buffer(buffer, 'host', ACCESS_READ, 36_i64, 8_i64, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE, 'a lease lies in the buffer')

    lease = acquire_buffer(buffer, 'host', ACCESS_WRITE)
    call destroy_unified_buffer(buffer)
    call get_pointer(lease, p)
    p = 1
    call release_buffer(lease, stat=status)
    call check(status == STATUS_OK, 'a lease outlives its buffer')
  end subroutine leases

  subroutine statistics()
    type(unified_buffer) :: buffer
    type(transfer_statistics) :: figures, total

    buffer = create_unified_buffer(1000_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call write_buffer(buffer, spread(1_i8, 1, 1000))
    call sync_to_gpu(buffer)
    call sync_to_gpu(buffer)
    figures = buffer_statistics(buffer)
    total = total_statistics()
    if (argument(1) == 'host') then
      call check(figures%bytes_moved == 0, 'where the host is the GPU nothing moves')
    else
      call check(figures%bytes_moved == 1000 .and. figures%transfers == 1, 'what is current does not move again')
    end if
    call check(total%bytes_moved >= figures%bytes_moved, 'the total has it too')
    call reset_peak_memory()
    call check(peak_memory_held() == memory_held() .and. memory_held() >= 1000, 'memory that is held is counted')
    call destroy_unified_buffer(buffer)
  end subroutine statistics

end program lifecycle_test
