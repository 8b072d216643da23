!> A way to have an application's pictures convolved by a GPU.
module conv2d_ways
  use conv2d_gpus, only: gpu
  use kinds, only: dp, sp
  implicit none
  private
  public :: way

  type, abstract :: way
  contains
    !> Allocates what is kept, and takes the picture.
    procedure(start_way), deferred :: start

    !> Makes one frame, the same in all ways: the application writes the first row of its picture anew, as a camera
    !> would; the picture is convolved; the application looks at all of the result.
    procedure(one_frame), deferred :: frame

    !> Returns the milliseconds of all that a frame asks of unibuf, where the host has written a row and the GPU is
    !> idle.
    procedure(time_management), deferred :: management

    procedure(finish_way), deferred :: finish
  end type way

  abstract interface
    subroutine start_way(self, on)
      import
      implicit none
      class(way), intent(inout) :: self
      class(gpu), intent(inout) :: on
    end subroutine start_way

    subroutine one_frame(self, on, seen)
      import
      implicit none
      class(way), intent(inout) :: self
      class(gpu), intent(inout) :: on
      real(sp), intent(out) :: seen
    end subroutine one_frame

    subroutine time_management(self, on, took)
      import
      implicit none
      class(way), intent(inout) :: self
      class(gpu), intent(inout) :: on
      real(dp), intent(out) :: took
    end subroutine time_management

    !> Hands out the last result, and frees everything.
    subroutine finish_way(self, on, result)
      import
      implicit none
      class(way), intent(inout) :: self
      class(gpu), intent(inout) :: on
      real(sp), intent(out) :: result(:, :)
    end subroutine finish_way
  end interface

end module conv2d_ways
