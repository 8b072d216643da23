!> Counts what the program itself copies and holds, on the host and on the GPU; unibuf counts its own.
module conv2d_tally
  use kinds, only: i64
  implicit none
  private
  public :: tally, clear_tally, count_copy, count_memory

  type :: figures
    integer(i64) :: copied = 0
    integer(i64) :: held = 0
    integer(i64) :: peak = 0
  end type figures

  type(figures) :: tally

contains

  subroutine clear_tally()
    tally = figures()
  end subroutine clear_tally

  subroutine count_copy(bytes)
    integer(i64), intent(in) :: bytes

    tally%copied = tally%copied + bytes
  end subroutine count_copy

  !> Counts memory that is taken; `bytes` is negative where memory is freed.
  subroutine count_memory(bytes)
    integer(i64), intent(in) :: bytes

    tally%held = tally%held + bytes
    tally%peak = max(tally%peak, tally%held)
  end subroutine count_memory

end module conv2d_tally
