!> The convolution as a plain loop, which all results are held against.
module conv2d_edges
  use kinds, only: sp
  implicit none
  private
  public :: find_edges, tolerance

  real(sp), parameter :: tolerance = 1e-5_sp

  real(sp), parameter :: weights(-1:1, -1:1) = reshape([ &
    -1.0_sp, -1.0_sp, -1.0_sp, &
    -1.0_sp, 8.0_sp, -1.0_sp, &
    -1.0_sp, -1.0_sp, -1.0_sp], [3, 3])

contains

  !> At the border the nearest pixel inside stands for those outside.
  pure subroutine find_edges(from, to)
    real(sp), intent(in) :: from(:, :)
    real(sp), intent(out) :: to(:, :)

    integer :: dx, dy, x, y, width, height
    real(sp) :: sum

    width = size(from, 1)
    height = size(from, 2)
    do y = 1, height
      do x = 1, width
        sum = 0
        do dy = -1, 1
          do dx = -1, 1
            sum = sum + weights(dx, dy)*from(clamped(x + dx, width), clamped(y + dy, height))
          end do
        end do
        to(x, y) = sum
      end do
    end do
  end subroutine find_edges

  elemental integer function clamped(at, last)
    integer, intent(in) :: at, last

    clamped = min(max(at, 1), last)
  end function clamped

end module conv2d_edges
