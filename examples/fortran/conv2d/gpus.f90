!> The parts of a GPU's API that the convolution needs, in the way of today and on unified buffers.
module conv2d_gpus
  use gpu_unified_buffers, only: unified_buffer
  use kinds, only: i64, sp
  implicit none
  private
  public :: gpu

  !> A GPU that has the convolution as a program for pictures of one size.
  type, abstract :: gpu
    character(:), allocatable :: name
    integer :: width = 0
    integer :: height = 0
  contains
    !> Compiles the program.
    procedure(open_gpu), deferred :: open
    procedure(without_arguments), deferred :: close

    !> These are for the way of today: buffers of the GPU's API, which are filled and read by copying.
    procedure(without_arguments), deferred :: create_native_buffers
    procedure(without_arguments), deferred :: delete_native_buffers
    procedure(upload_input), deferred :: upload
    procedure(download_output), deferred :: download

    !> Sets the unified buffers that `compute` works on from now on.
    procedure(use_unified_buffers), deferred :: use_buffers

    !> Queues the convolution.
    procedure(without_arguments), deferred :: compute

    procedure :: bytes
    procedure :: defines
  end type gpu

  abstract interface
    subroutine open_gpu(self, width, height)
      import
      implicit none
      class(gpu), intent(inout) :: self
      integer, intent(in) :: width, height
    end subroutine open_gpu

    subroutine without_arguments(self)
      import
      implicit none
      class(gpu), intent(inout) :: self
    end subroutine without_arguments

    subroutine upload_input(self, input)
      import
      implicit none
      class(gpu), intent(inout) :: self
      real(sp), contiguous, intent(in) :: input(:)
    end subroutine upload_input

    subroutine download_output(self, output)
      import
      implicit none
      class(gpu), intent(inout) :: self
      real(sp), contiguous, intent(inout) :: output(:)
    end subroutine download_output

    subroutine use_unified_buffers(self, input, output)
      import
      implicit none
      class(gpu), intent(inout) :: self
      type(unified_buffer), intent(in) :: input, output
    end subroutine use_unified_buffers
  end interface

contains

  !> Returns the size of a picture in bytes.
  pure integer(i64) function bytes(self)
    class(gpu), intent(in) :: self

    bytes = storage_size(1.0_sp)/8*int(self%width, i64)*self%height
  end function bytes

  !> Returns lines that tell the program's preprocessor the size.
  function defines(self) result(lines)
    class(gpu), intent(in) :: self
    character(:), allocatable :: lines

    character(64) :: text

    write (text, '(2(a, i0, a))') '#define WIDTH ', self%width, new_line('a'), &
      '#define HEIGHT ', self%height, new_line('a')
    lines = trim(text)
  end function defines

end module conv2d_gpus
