!> section_test DEVICE: sections of a buffer that is seen as an array, from lower to upper bounds.
program section_test
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  use checks
  use gpu_unified_buffers
  use kinds
  implicit none

  integer, parameter :: shape3(3) = [7, 6, 5]
  integer :: status
  character(500) :: message

  call set_gpu_device(argument(1), stat=status, errmsg=message)
  if (status /= STATUS_OK) call skip(trim(message))
  call written_and_read()
  call views()
  call only_their_bytes_move()
  call leases()
  call logicals()
  call bad_bounds()
  call finish()

contains

  function numbers() result(a)
    real(dp) :: a(7, 6, 5)
    integer :: i

    a = reshape([(real(i, dp), i=1, size(a))], [7, 6, 5])
  end function numbers

  function made() result(buffer)
    type(unified_buffer) :: buffer

    buffer = create_unified_buffer(8_i64*product(shape3), BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call write_buffer(buffer, numbers())
  end function made

  !> Makes the device the one that has the newest content.
  subroutine touch(buffer)
    type(unified_buffer), intent(in) :: buffer
    type(buffer_lease) :: lease

    lease = acquire_buffer(buffer, gpu_device(), ACCESS_READ_WRITE)
    call release_buffer(lease)
  end subroutine touch

  subroutine written_and_read()
    type(unified_buffer) :: buffer
    real(dp) :: expected(7, 6, 5), got(7, 6, 5), plane(7, 5), block(3, 2, 4), wide(6, 2, 8)

    buffer = made()
    expected = numbers()
    call touch(buffer)
    call read_buffer(buffer, plane, shape3, [1, 3, 1], [7, 3, 5])
    call check(all(plane == expected(:, 3, :)), 'a plane is read')
    block = -1
    call write_buffer(buffer, block, shape3, [2, 4, 1], [4, 5, 4])
    expected(2:4, 4:5, 1:4) = -1
    wide = 7
    call write_buffer(buffer, wide(1:6:2, :, 1:8:2), shape3, [5, 1, 2], [7, 2, 5])
    expected(5:7, 1:2, 2:5) = 7
    call touch(buffer)
    call read_buffer(buffer, wide(2:6:2, :, 2:8:2), shape3, [2, 4, 1], [4, 5, 4])
    call check(all(wide(2:6:2, :, 2:8:2) == -1) .and. all(wide(1:5:2, :, 1:7:2) == 7), &
               'sections of both are copied to each other')
    call read_buffer(buffer, got)
    call check(all(got == expected), 'just what was asked for is written')
    call destroy_unified_buffer(buffer)
  end subroutine written_and_read

  subroutine views()
    type(unified_buffer) :: buffer, row
    real(dp), pointer :: shown(:, :, :) => null()
    real(dp) :: expected(7, 6, 5), got(7, 6, 5), ends(1, 6, 5)

    buffer = made()
    expected = numbers()
    row = view_section(buffer, shape3, [7, 1, 1], [7, 6, 5], 8)
    call check(buffer_size(row) == 8*30, 'a section has the size of its elements')
    call fill_buffer(row, 2.5_dp)
    expected(7, :, :) = 2.5_dp
    call touch(row)
    call read_buffer(row, ends)
    call check(all(ends == 2.5_dp), 'a view of a section is read as it is filled')
    call get_pointer(row, shown)
    call check(all(shape(shown) == [1, 6, 5]) .and. all(shown == 2.5_dp), 'a pointer has the shape of the section')
    shown(1, 2, :) = 9
    expected(7, 2, :) = 9
    call touch(buffer)
    call read_buffer(buffer, got)
    call check(all(got == expected), 'what is written through it is found')
    call get_pointer(row, shown, [6, 5], stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'no shape') > 0, 'a pointer into it takes no shape')
    call destroy_unified_buffer(row)
    call destroy_unified_buffer(buffer)
  end subroutine views

  subroutine only_their_bytes_move()
    type(unified_buffer) :: buffer
    integer(i64) :: before
    real(dp) :: edge(1, 6, 5)

    buffer = made()
    call touch(buffer)
    before = transferred(buffer)
    call read_buffer(buffer, edge, shape3, [3, 1, 1], [3, 6, 5])
    if (before > 0) then
      call check(transferred(buffer) - before == 8*size(edge), 'only the bytes of a section move')
    else
      call check(transferred(buffer) == 0, 'nothing moves where the memory is one')
    end if
    call destroy_unified_buffer(buffer)
  end subroutine only_their_bytes_move

  integer(i64) function transferred(buffer)
    type(unified_buffer), intent(in) :: buffer

    transferred = transferred_bytes(gpu_device(), 'host', buffer) + transferred_bytes('host', gpu_device(), buffer)
  end function transferred

  subroutine leases()
    type(unified_buffer) :: buffer, column, beside
    type(buffer_lease) :: lease, other
    integer, parameter :: extents(2) = [20, 30]
    real(sp), pointer :: elements(:, :) => null()
    real(sp) :: all_of_it(20, 30)

    buffer = create_unified_buffer(4_i64*product(extents), BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    column = view_section(buffer, extents, [4, 1], [5, 30], 4)
    beside = view_section(buffer, extents, [6, 1], [6, 30], 4)
    lease = acquire_buffer(column, 'host', ACCESS_WRITE)
    other = acquire_buffer(beside, 'host', ACCESS_WRITE, stat=status)
    call check(status == STATUS_OK, 'sections side by side exclude each other in nothing')
    call get_pointer(lease, elements)
    elements = 3
    call get_pointer(other, elements)
    elements = 4
    call release_buffer(other)
    other = acquire_buffer(buffer, 'host', ACCESS_READ, stat=status, errmsg=message)
    call check(status == STATUS_ACCESS_CONFLICT .and. index(message, 'rows among bytes') > 0, 'a section excludes the whole')
    call release_buffer(lease)
    call touch(buffer)
    call read_buffer(buffer, all_of_it)
    call check(all(all_of_it(4:5, :) == 3) .and. all(all_of_it(6, :) == 4) .and. all(all_of_it(7, :) == 0), &
               'what was written through the leases is there')
    call destroy_unified_buffer(column)
    call destroy_unified_buffer(beside)
    call destroy_unified_buffer(buffer)
  end subroutine leases

  subroutine logicals()
    type(unified_buffer) :: buffer
    logical :: mask(4, 5), part(2, 5)

    buffer = create_unified_buffer(int(storage_size(mask)/8*size(mask), i64), BUFFER_READ_WRITE)
    mask = .false.
    call write_buffer(buffer, mask)
    part = .true.
    call write_buffer(buffer, part, shape(mask), [2, 1], [3, 5])
    call read_buffer(buffer, mask)
    call check(all(mask(2:3, :)) .and. .not. any(mask(1, :)) .and. .not. any(mask(4, :)), 'sections of logicals are written')
    call destroy_unified_buffer(buffer)
  end subroutine logicals

  subroutine bad_bounds()
    type(unified_buffer) :: buffer, view
    real(dp) :: part(3)

    buffer = made()
    view = view_section(buffer, shape3, [1, 1, 1], [8, 6, 5], 8, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE .and. index(message, 'axis 1') > 0, 'a bound beyond the shape is refused')
    view = view_section(buffer, shape3, [1, 0, 1], [7, 6, 5], 8, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE .and. index(message, 'elements 0 to 6 along axis 2') > 0, 'bounds count from 1')
    view = view_section(buffer, [7, 6, 4], [1, 1, 1], [7, 6, 4], 8, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, '168 elements') > 0, 'the shape is that of the buffer')
    view = view_section(buffer, shape3, [1, 1], [7, 6, 5], 8, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'as many') > 0, 'each axis has bounds')
    call write_buffer(buffer, part, shape3, [1, 1, 1], [2, 1, 1], stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE .and. index(message, '3 elements') > 0, 'data is as much as the section')
    call destroy_unified_buffer(buffer)
  end subroutine bad_bounds

end program section_test
