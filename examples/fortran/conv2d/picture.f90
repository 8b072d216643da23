!> Loads the photograph that an application would take with its camera, and looks at a result as it would.
module conv2d_picture
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  use kinds, only: sp
  implicit none
  private
  public :: load_picture, take_pixels, looked_at

  interface
    subroutine load(path, width, height) bind(C, name='example_load_picture')
      import
      implicit none
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), intent(inout) :: width, height
    end subroutine load

    !> Writes the first pixels where the application wants them, row by row, black 0 and white 1.
    subroutine take_pixels(count, to) bind(C, name='example_take_pixels')
      import
      implicit none
      integer(c_int), intent(in), value :: count
      real(sp), intent(inout) :: to(*)
    end subroutine take_pixels
  end interface

contains

  !> Scales the picture; a size of 0 is its own. Widths are cut to a multiple of four.
  subroutine load_picture(path, width, height)
    character(*), intent(in) :: path
    integer, intent(inout) :: width, height

    call load(path//c_null_char, width, height)
  end subroutine load_picture

  !> Reads every pixel of the result.
  pure function looked_at(result, width, height) result(sum_of_all)
    integer, intent(in) :: width, height
    real(sp), intent(in) :: result(width, height)
    real(sp) :: sum_of_all

    real(sp) :: sums(width)
    integer :: y

    ! There is a sum for each column: the compiler may not add in another order, but can add many columns at once.
    sums = 0
    do y = 1, height
      sums = sums + result(:, y)
    end do
    sum_of_all = sum(sums)
  end function looked_at

end module conv2d_picture
