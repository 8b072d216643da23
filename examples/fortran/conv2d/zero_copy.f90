!> Two unified buffers, and an application that keeps its arrays: it writes and reads them through the buffers.
module conv2d_zero_copy
  use conv2d_clock, only: milliseconds
  use conv2d_gpus, only: gpu
  use conv2d_picture, only: looked_at, take_pixels
  use conv2d_tally, only: count_copy, count_memory
  use conv2d_ways, only: way
  use gpu_unified_buffers, only: BUFFER_READ_ONLY, BUFFER_WRITE_ONLY, create_unified_buffer, destroy_unified_buffer, &
                                 read_buffer, unified_buffer, write_buffer
  use kinds, only: dp, sp
  implicit none
  private
  public :: zero_copy

  type, extends(way) :: zero_copy
    private
    real(sp), allocatable :: cpu_input(:, :), cpu_output(:, :)
    type(unified_buffer) :: input_buffer, output_buffer
  contains
    procedure :: start
    procedure :: frame
    procedure :: management
    procedure :: finish
  end type zero_copy

contains

  subroutine start(self, on)
    class(zero_copy), intent(inout) :: self
    class(gpu), intent(inout) :: on

    allocate (self%cpu_input(on%width, on%height), self%cpu_output(on%width, on%height))
    call count_memory(2*on%bytes())
    self%input_buffer = create_unified_buffer(on%bytes(), BUFFER_WRITE_ONLY, device=on%name)
    self%output_buffer = create_unified_buffer(on%bytes(), BUFFER_READ_ONLY, device=on%name)
    call take_pixels(on%width*on%height, self%cpu_input)
  end subroutine start

  subroutine frame(self, on, seen)
    class(zero_copy), intent(inout) :: self
    class(gpu), intent(inout) :: on
    real(sp), intent(out) :: seen

    call take_pixels(on%width, self%cpu_input)

    call write_buffer(self%input_buffer, self%cpu_input)
    call on%use_buffers(self%input_buffer, self%output_buffer)
    call on%compute()
    call read_buffer(self%output_buffer, self%cpu_output)
    call count_copy(2*on%bytes())

    seen = looked_at(self%cpu_output, on%width, on%height)
  end subroutine frame

  !> Works on a row instead of the picture, so that little is copied.
  subroutine management(self, on, took)
    class(zero_copy), intent(inout) :: self
    class(gpu), intent(inout) :: on
    real(dp), intent(out) :: took

    took = milliseconds()
    call write_buffer(self%input_buffer, self%cpu_input(:, 1))
    call on%use_buffers(self%input_buffer, self%output_buffer)
    call read_buffer(self%output_buffer, self%cpu_output(:, 1))
    took = milliseconds() - took
  end subroutine management

  subroutine finish(self, on, result)
    class(zero_copy), intent(inout) :: self
    class(gpu), intent(inout) :: on
    real(sp), intent(out) :: result(:, :)

    result = self%cpu_output
    call destroy_unified_buffer(self%input_buffer)
    call destroy_unified_buffer(self%output_buffer)
    deallocate (self%cpu_input, self%cpu_output)
    call count_memory(-2*on%bytes())
  end subroutine finish

end module conv2d_zero_copy
