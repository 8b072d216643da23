!> The way of today, as the design of unified buffers quotes it: temporaries, and copies into and out of buffers of
!> the GPU's API.
module conv2d_current
  use conv2d_gpus, only: gpu
  use conv2d_picture, only: looked_at, take_pixels
  use conv2d_tally, only: count_copy, count_memory
  use conv2d_ways, only: way
  use kinds, only: dp, sp
  implicit none
  private
  public :: current

  type, extends(way) :: current
    private
    real(sp), allocatable :: cpu_input(:), cpu_output(:)
  contains
    procedure :: start
    procedure :: frame
    procedure :: management
    procedure :: finish
  end type current

contains

  subroutine start(self, on)
    class(current), intent(inout) :: self
    class(gpu), intent(inout) :: on

    allocate (self%cpu_input(on%width*on%height), self%cpu_output(on%width*on%height))
    call count_memory(2*on%bytes())
    call on%create_native_buffers()
    call take_pixels(on%width*on%height, self%cpu_input)
  end subroutine start

  subroutine frame(self, on, seen)
    class(current), intent(inout) :: self
    class(gpu), intent(inout) :: on
    real(sp), intent(out) :: seen

    real(sp), allocatable :: gpu_input(:), gpu_output(:)
    integer :: size

    size = on%width*on%height
    call take_pixels(on%width, self%cpu_input)
    associate (cpu_input => self%cpu_input, cpu_output => self%cpu_output)

      ! Allocate temporary buffers
      allocate(gpu_input(size))
      allocate(gpu_output(size))

      ! Copy data
      gpu_input = cpu_input
      call glBufferData(on, gpu_input)

      ! Execute
      call gpu_compute()

      ! Copy back
      call glGetBufferSubData(on, gpu_output)
      cpu_output = gpu_output

    end associate
    call count_copy(2*on%bytes())
    call count_memory(2*on%bytes())
    deallocate (gpu_input, gpu_output)
    call count_memory(-2*on%bytes())
    seen = looked_at(self%cpu_output, on%width, on%height)

  contains

    subroutine gpu_compute()
      call on%compute()
    end subroutine gpu_compute

  end subroutine frame

  !> Does what glBufferData does, or what OpenCL has in its place.
  subroutine glBufferData(on, from)
    class(gpu), intent(inout) :: on
    real(sp), contiguous, intent(in) :: from(:)

    call on%upload(from)
  end subroutine glBufferData

  subroutine glGetBufferSubData(on, to)
    class(gpu), intent(inout) :: on
    real(sp), contiguous, intent(inout) :: to(:)

    call on%download(to)
  end subroutine glGetBufferSubData

  !> Takes no time: this way has no unified buffers.
  subroutine management(self, on, took)
    class(current), intent(inout) :: self
    class(gpu), intent(inout) :: on
    real(dp), intent(out) :: took

    associate (of => self, there => on)
    end associate
    took = 0
  end subroutine management

  subroutine finish(self, on, result)
    class(current), intent(inout) :: self
    class(gpu), intent(inout) :: on
    real(sp), intent(out) :: result(:, :)

    result = reshape(self%cpu_output, shape(result))
    call on%delete_native_buffers()
    deallocate (self%cpu_input, self%cpu_output)
    call count_memory(-2*on%bytes())
  end subroutine finish

end module conv2d_current
