!> sizes_test DEVICE: sizes that nothing has, in every argument that is one, while other buffers hold memory at the host
!> and at the device: each is refused at once, and no buffer is any other. tests/fortran/every_size.cmake looks whether one is forgotten.
program sizes_test
  use, intrinsic :: iso_c_binding, only: c_ptr
  use checks
  use gpu_unified_buffers
  use kinds
  implicit none

  integer, parameter :: bytes = 1000
  ! Sums and products of these wrap: 8 times the last but two is 1000. To C the negative ones are 2^64 - 1, 2^64 - 256
  ! and 2^63.
  integer(i64), parameter :: sizes(*) = [-1_i64, -256_i64, -huge(1_i64) - 1, huge(1_i64), 2_i64**62, &
                                         2_i64**61 + 125, 2_i64**61, 2_i64**32]
  integer, parameter :: content(bytes/4) = 7
  type(unified_buffer) :: buffer, others(2), made
  type(buffer_pool) :: pool
  type(buffer_lease) :: lease
  integer(i64) :: size
  integer :: status, i
  character(500) :: message

  call set_gpu_device(argument(1), stat=status, errmsg=message)
  if (status /= STATUS_OK) call skip(trim(message))
  buffer = create_unified_buffer(int(bytes, i64), BUFFER_READ_WRITE)
  call write_buffer(buffer, content)
  do i = 1, 2
    others(i) = create_unified_buffer(int(bytes, i64), BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call write_buffer(others(i), content + i)
  end do
  lease = acquire_buffer(others(2), gpu_device(), ACCESS_READ_WRITE)  ! the device has the newest content
  call release_buffer(lease)
  pool = create_buffer_pool()
  do i = 1, ubound(sizes, 1)
    size = sizes(i)
    call creation()
    call ranges()
    call elements()
    call limits()
  end do
  call sections()
  call finish()

contains

  !> That a call was refused, and that all is as before.
  subroutine refused(what)
    character(*), intent(in) :: what

    integer :: back(bytes/4), other
    logical :: same
    character(20) :: number

    write (number, '(i0)') size
    call check(status == STATUS_OUT_OF_RANGE .or. status == STATUS_OUT_OF_MEMORY .or. &
               status == STATUS_INVALID_ARGUMENT, what // ' of ' // trim(number) // ' is refused: ' // trim(message))
    call read_buffer(buffer, back)
    same = all(back == content)
    do other = 1, 2
      call read_buffer(others(other), back)
      same = same .and. all(back == content + other)
    end do
    call check(same, 'and all is as before')
  end subroutine refused

  subroutine creation()
    if (size /= 2_i64**32) then  ! which may be had
      made = create_unified_buffer(size, BUFFER_READ_WRITE, stat=status, errmsg=message)
      call refused('create_unified_buffer size')
      made = acquire_buffer(pool, size, BUFFER_READ_WRITE, stat=status, errmsg=message)
      call refused('acquire_from_pool size')
      call reserve_buffers(pool, 3, size, BUFFER_READ_WRITE, stat=status, errmsg=message)
      call refused('reserve_buffers size')
    end if
    call reserve_buffers(pool, huge(1), merge(size, huge(1_i64), size /= 2_i64**32), BUFFER_READ_WRITE, &
                         stat=status, errmsg=message)
    call refused('reserve_buffers count')
  end subroutine creation

  subroutine ranges()
    made = view_buffer(buffer, size, 8_i64, stat=status, errmsg=message)
    call refused('view_buffer offset')
    made = view_buffer(buffer, size, -size, stat=status, errmsg=message)
    call refused('view_buffer offset and size')
    made = view_buffer(buffer, 8_i64, size, stat=status, errmsg=message)
    call refused('view_buffer size')
    lease = acquire_buffer(buffer, gpu_device(), ACCESS_READ, size, stat=status, errmsg=message)
    call refused('acquire_lease offset')
    lease = acquire_buffer(buffer, gpu_device(), ACCESS_READ, 8_i64, size, stat=status, errmsg=message)
    call refused('acquire_lease size')
    call prefetch_buffer(buffer, gpu_device(), size, stat=status, errmsg=message)
    call refused('prefetch_buffer offset')
    call prefetch_buffer(buffer, gpu_device(), 8_i64, size, stat=status, errmsg=message)
    call refused('prefetch_buffer size')
    call sync_to_gpu(buffer, size, stat=status, errmsg=message)
    call refused('sync_to_gpu offset')
    call sync_to_gpu(buffer, 8_i64, size, stat=status, errmsg=message)
    call refused('sync_to_gpu size')
    call sync_from_gpu(buffer, size, stat=status, errmsg=message)
    call refused('sync_from_gpu offset')
    call sync_from_gpu(buffer, 8_i64, size, stat=status, errmsg=message)
    call refused('sync_from_gpu size')
    call flush_buffer_range(buffer, size, 8, stat=status, errmsg=message)
    call refused('flush_buffer_range offset')
    call flush_buffer_range(buffer, 8_i64, size, stat=status, errmsg=message)
    call refused('flush_buffer_range size')
    call mark_host_dirty(buffer, size, stat=status, errmsg=message)
    call refused('mark_host_dirty offset')
    call mark_host_dirty(buffer, 8_i64, size, stat=status, errmsg=message)
    call refused('mark_host_dirty size')
    call mark_device_dirty(buffer, size, stat=status, errmsg=message)
    call refused('mark_device_dirty offset')
    call mark_device_dirty(buffer, 8_i64, size, stat=status, errmsg=message)
    call refused('mark_device_dirty size')
  end subroutine ranges

  subroutine elements()
    integer :: few(2)
    logical :: flags(2)
    integer, pointer :: p(:), q(:, :)
    logical, pointer :: r(:, :)

    few = 7
    flags = .true.
    call write_buffer(buffer, few, size, stat=status, errmsg=message)
    call refused('write_buffer offset')
    call write_buffer(buffer, flags, size, stat=status, errmsg=message)
    call refused('write_buffer_logical offset')
    call read_buffer(buffer, few, size, stat=status, errmsg=message)
    call refused('read_buffer offset')
    call read_buffer(buffer, flags, size, stat=status, errmsg=message)
    call refused('read_buffer_logical offset')
    call check(all(few == 7), 'and leaves the array alone')
    call get_pointer(buffer, p, offset=size, stat=status, errmsg=message)
    call refused('get_pointer offset')
    call get_pointer(buffer, p, [size], stat=status, errmsg=message)
    call refused('get_pointer shape')
    call get_pointer(buffer, q, [size, 8_i64], stat=status, errmsg=message)
    call refused('get_pointer shape')
    call get_pointer(buffer, r, [size, 8_i64], offset=1_i64, stat=status, errmsg=message)
    call refused('get_pointer_logical shape')
    lease = acquire_buffer(buffer, 'host', ACCESS_READ)
    call get_pointer(lease, q, [size, 8_i64], stat=status, errmsg=message)
    call release_buffer(lease)
    call refused('get_lease_pointer shape')
  end subroutine elements

  !> The extents are default integers here: the product of these is 1000 bytes, where it wraps.
  subroutine sections()
    integer, parameter :: wraps(4) = [7, 6823, 12453269, 69782329], ones(4) = 1
    real(dp) :: few(1)
    type(c_ptr) :: address

    few = 7
    call read_buffer(buffer, few, wraps, ones, ones, stat=status, errmsg=message)
    call refused('read_section shape')
    call read_buffer(buffer, few, [125], [huge(1)], [huge(1)], stat=status, errmsg=message)
    call refused('read_section lower')
    call read_buffer(buffer, few, [125], [1], [huge(1)], stat=status, errmsg=message)
    call refused('read_section upper')
    call write_buffer(buffer, few, wraps, wraps, wraps, stat=status, errmsg=message)
    call refused('write_section shape')
    call write_buffer(buffer, few, [125], [-huge(1)], [-huge(1)], stat=status, errmsg=message)
    call refused('write_section lower')
    call write_buffer(buffer, few, [125], [1], [huge(1)], stat=status, errmsg=message)
    call refused('write_section upper')
    made = view_section(buffer, wraps, ones, wraps, 8, stat=status, errmsg=message)
    call refused('view_section shape')
    made = view_section(buffer, [125], [huge(1)], [huge(1)], 8, stat=status, errmsg=message)
    call refused('view_section lower')
    made = view_section(buffer, [125], [1], [huge(1)], 8, stat=status, errmsg=message)
    call refused('view_section upper')
    address = get_cpu_pointer(buffer, huge(1), stat=status, errmsg=message)
    call refused('get_cpu_pointer element_size')
    made = view_section(buffer, [125], [1], [125], huge(1), stat=status, errmsg=message)
    call refused('view_section element_size')
    made = view_section(buffer, [125], [1], [125], -8, stat=status, errmsg=message)
    call refused('view_section element_size')
  end subroutine sections

  !> A limit may be any number that is not negative.
  subroutine limits()
    call limit_gpu_memory(gpu_device(), size, stat=status, errmsg=message)
    call check(status == STATUS_OK .neqv. size < 0, 'limit_gpu_memory bytes is any number that is not negative')
    call limit_gpu_memory(gpu_device())
    call trim_buffer_pool(pool, size, stat=status, errmsg=message)
    call check(status == STATUS_OK .neqv. size < 0, 'trim_buffer_pool bytes too')
  end subroutine limits

end program sizes_test
