!> What a test program checked: each on a line, and the verdict at its end.
module checks
  implicit none
  private
  public :: check, finish, skip, argument

  integer :: failures = 0, successes = 0

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what

    if (holds) then
      successes = successes + 1
      print '(a)', 'ok      ' // what
    else
      failures = failures + 1
      print '(a)', 'FAILED  ' // what
    end if
  end subroutine check

  subroutine finish()
    print '(i0, a, i0, a)', successes, ' checked, ', failures, ' failed'
    if (failures > 0 .or. successes == 0) error stop 1
  end subroutine finish

  !> What the machine lacks.
  subroutine skip(reason)
    character(*), intent(in) :: reason

    print '(a)', 'SKIP: ' // reason
    stop 77
  end subroutine skip

  !> Returns an argument of the command line.
  function argument(number) result(text)
    integer, intent(in) :: number
    character(:), allocatable :: text

    integer :: length

    call get_command_argument(number, length=length)
    allocate (character(length) :: text)
    call get_command_argument(number, text)
  end function argument

end module checks
