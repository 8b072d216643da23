!> Tells how long something took.
module conv2d_clock
  use kinds, only: dp, i64
  implicit none
  private
  public :: milliseconds, median

contains

  !> Returns the time since some moment before the program.
  function milliseconds() result(now)
    real(dp) :: now

    integer(i64) :: count, rate

    call system_clock(count, rate)
    now = 1e3_dp*count/rate
  end function milliseconds

  pure function median(of) result(middle)
    real(dp), intent(in) :: of(:)
    real(dp) :: middle

    integer :: i

    ! The median is the first value with at most half of the values below it, and at most half above.
    middle = of(1)
    do i = 1, size(of)
      middle = of(i)
      if (2*count(of < middle) <= size(of) .and. 2*count(of > middle) <= size(of)) return
    end do
  end function median

end module conv2d_clock
