!> Passes on, in procedures that are written in Fortran, what one of C says.
module unibuf_reports
  use, intrinsic :: iso_c_binding, only: c_char, c_size_t
  implicit none
  private
  public :: report, put_message

  interface
    !> Gives the message of this thread's last failure.
    subroutine put_message(text) bind(C, name='unibuf_fortran_message')
      implicit none
      character(*), intent(inout) :: text
    end subroutine put_message
  end interface

contains

  !> Tells of `status` by `stat` and `errmsg`; without `stat` a failure stops the program.
  subroutine report(status, stat, errmsg)
    integer, intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    character(2048) :: message

    if (present(stat)) stat = status
    if (status == 0) return
    call put_message(message)
    if (.not. present(stat)) error stop trim(message)
    if (present(errmsg)) errmsg = message
  end subroutine report

  !> Tells C of a failure without `stat`: stops the program.
  subroutine stop_program(message, length) bind(C, name='unibuf_fortran_stop')
    integer(c_size_t), intent(in), value :: length
    character(kind=c_char), intent(in) :: message(length)

    character(length) :: text
    integer(c_size_t) :: i

    do i = 1, length
      text(i:i) = message(i)
    end do
    error stop text
  end subroutine stop_program

end module unibuf_reports
