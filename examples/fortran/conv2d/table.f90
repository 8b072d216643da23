!> Shows people what was measured.
module conv2d_table
  use conv2d_measuring, only: measurement
  use kinds, only: dp, i64
  implicit none
  private
  public :: print_head, print_row, print_skipped, print_gain

contains

  subroutine print_head()
    print '(/, a)', 'device     way                      time         copied          moved           held'// &
      '     management  against current'
  end subroutine print_head

  subroutine print_row(device, way, cost, current)
    character(*), intent(in) :: device, way
    type(measurement), intent(in) :: cost, current

    character(10) :: first
    character(14) :: second
    character(15) :: management

    first = device
    second = way
    management = '              -'
    if (cost%management > 0) write (management, '(i12, a)') nint(1000*cost%management), ' us'
    print '(a10, 1x, a14, f12.1, a, 3(f11.1, a), a15, f16.2, a)', first, second, cost%time, ' ms', &
      mib(cost%copied), ' MiB', mib(cost%moved), ' MiB', mib(cost%held), ' MiB', management, &
      current%time/cost%time, 'x'
  end subroutine print_row

  subroutine print_skipped(device, reason)
    character(*), intent(in) :: device, reason

    character(10) :: first

    first = device
    print '(a10, 1x, 2a)', first, 'skipped: ', trim(reason)
  end subroutine print_skipped

  !> Prints what the design of unified buffers promises, and what came of it.
  subroutine print_gain(device, current, in_place)
    character(*), intent(in) :: device
    type(measurement), intent(in) :: current, in_place

    character(12) :: factor

    write (factor, '(f12.1)') current%time/in_place%time
    print '(2a, i0, a, i0, a, i0, 4a)', device, ' in place: ', in_place%copied + in_place%moved, &
      ' bytes copied, ', (100*in_place%held)/current%held, '% of the memory, ', &
      nint(1000*in_place%management), ' us of buffer management, ', trim(adjustl(factor)), ' times as fast'
  end subroutine print_gain

  pure real(dp) function mib(bytes)
    integer(i64), intent(in) :: bytes

    mib = real(bytes, dp)/2**20
  end function mib

end module conv2d_table
