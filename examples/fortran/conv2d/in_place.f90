!> Two unified buffers, in which the application has its pictures: nobody copies.
module conv2d_in_place
  use conv2d_clock, only: milliseconds
  use conv2d_gpus, only: gpu
  use conv2d_picture, only: looked_at, take_pixels
  use conv2d_ways, only: way
  use gpu_unified_buffers, only: BUFFER_READ_ONLY, BUFFER_WRITE_ONLY, create_unified_buffer, destroy_unified_buffer, &
                                 get_pointer, sync_from_gpu, sync_to_gpu, unified_buffer
  use kinds, only: dp, sp
  implicit none
  private
  public :: in_place

  type, extends(way) :: in_place
    private
    type(unified_buffer) :: input_buffer, output_buffer
    ! These are contiguous, or else the compiler would copy where they are passed on.
    real(sp), pointer, contiguous :: input(:, :) => null()
    real(sp), pointer, contiguous :: output(:, :) => null()
  contains
    procedure :: start
    procedure :: frame
    procedure :: management
    procedure :: finish
  end type in_place

contains

  subroutine start(self, on)
    class(in_place), intent(inout) :: self
    class(gpu), intent(inout) :: on

    self%input_buffer = create_unified_buffer(on%bytes(), BUFFER_WRITE_ONLY, device=on%name)
    self%output_buffer = create_unified_buffer(on%bytes(), BUFFER_READ_ONLY, device=on%name)
    call get_pointer(self%input_buffer, self%input, [on%width, on%height])
    call get_pointer(self%output_buffer, self%output, [on%width, on%height])
    call take_pixels(on%width*on%height, self%input)
  end subroutine start

  subroutine frame(self, on, seen)
    class(in_place), intent(inout) :: self
    class(gpu), intent(inout) :: on
    real(sp), intent(out) :: seen

    call take_pixels(on%width, self%input)
    call sync_to_gpu(self%input_buffer)

    call on%use_buffers(self%input_buffer, self%output_buffer)
    call on%compute()

    call sync_from_gpu(self%output_buffer)
    seen = looked_at(self%output, on%width, on%height)
  end subroutine frame

  subroutine management(self, on, took)
    class(in_place), intent(inout) :: self
    class(gpu), intent(inout) :: on
    real(dp), intent(out) :: took

    call take_pixels(on%width, self%input)
    took = milliseconds()
    call sync_to_gpu(self%input_buffer)
    call on%use_buffers(self%input_buffer, self%output_buffer)
    call sync_from_gpu(self%output_buffer)
    took = milliseconds() - took
  end subroutine management

  subroutine finish(self, on, result)
    class(in_place), intent(inout) :: self
    class(gpu), intent(inout) :: on
    real(sp), intent(out) :: result(:, :)

    associate (unused => on)
    end associate
    result = self%output
    call destroy_unified_buffer(self%input_buffer)
    call destroy_unified_buffer(self%output_buffer)
  end subroutine finish

end module conv2d_in_place
