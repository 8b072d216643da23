!> The convolution on OpenCL.
module conv2d_opencl
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_intptr_t, c_null_char, c_null_ptr, c_ptr
  use conv2d_gpus, only: gpu
  use conv2d_tally, only: count_copy, count_memory
  use gpu_unified_buffers, only: get_gpu_handle, unified_buffer
  use kinds, only: sp
  implicit none
  private
  public :: opencl_gpu

  type, extends(gpu) :: opencl_gpu
    private
    type(c_ptr) :: kernel = c_null_ptr
    integer(c_intptr_t) :: input = 0   ! native buffers
    integer(c_intptr_t) :: output = 0
  contains
    procedure :: open => open_opencl
    procedure :: close => close_opencl
    procedure :: create_native_buffers
    procedure :: delete_native_buffers
    procedure :: upload
    procedure :: download
    procedure :: use_buffers
    procedure :: compute
  end type opencl_gpu

  integer, parameter :: tile_width = 4, tile_height = 16

  character, parameter :: nl = new_line('a')

  !> A work-item makes 4 columns of 16 rows, as the shader of conv2d_opengl does.
  character(*), parameter :: source = &
    'void load(global const float* from, int x, int y, float4* quad, float4* sum) {'//nl// &
    '  global const float* row = from + clamp(y, 0, HEIGHT - 1) * WIDTH;'//nl// &
    '  *quad = vload4(0, row + x);'//nl// &
    '  const float4 left = (float4)(row[max(x - 1, 0)], quad->xyz);'//nl// &
    '  const float4 right = (float4)(quad->yzw, row[min(x + 4, WIDTH - 1)]);'//nl// &
    '  *sum = left + *quad + right;'//nl// &
    '}'//nl// &
    'kernel void find_edges(global const float* restrict from, global float* restrict to) {'//nl// &
    '  const int x = get_global_id(0) * 4;'//nl// &
    '  const int y = get_global_id(1) * 16;'//nl// &
    '  float4 quad, next, above, here, below;'//nl// &
    '  load(from, x, y - 1, &quad, &above);'//nl// &
    '  load(from, x, y, &quad, &here);'//nl// &
    '  for (int row = y; row < min(y + 16, HEIGHT); ++row) {'//nl// &
    '    load(from, x, row + 1, &next, &below);'//nl// &
    '    vstore4(9 * quad - (above + here + below), 0, to + row * WIDTH + x);'//nl// &
    '    above = here;'//nl// &
    '    here = below;'//nl// &
    '    quad = next;'//nl// &
    '  }'//nl// &
    '}'//nl

  interface
    function cl_create_kernel(source, name) result(kernel) bind(C, name='example_cl_create_kernel')
      import
      implicit none
      character(kind=c_char), intent(in) :: source(*), name(*)
      type(c_ptr) :: kernel
    end function cl_create_kernel

    subroutine cl_delete_kernel(kernel) bind(C, name='example_cl_delete_kernel')
      import
      implicit none
      type(c_ptr), intent(in), value :: kernel
    end subroutine cl_delete_kernel

    subroutine cl_set_memory(kernel, index, argument) bind(C, name='example_cl_set_memory')
      import
      implicit none
      type(c_ptr), intent(in), value :: kernel
      integer(c_int), intent(in), value :: index
      integer(c_intptr_t), intent(in), value :: argument
    end subroutine cl_set_memory

    subroutine cl_enqueue(kernel, across, down) bind(C, name='example_cl_enqueue')
      import
      implicit none
      type(c_ptr), intent(in), value :: kernel
      integer(c_int), intent(in), value :: across, down
    end subroutine cl_enqueue

    function cl_create_buffer(bytes) result(buffer) bind(C, name='example_cl_create_buffer')
      import
      implicit none
      integer(c_int64_t), intent(in), value :: bytes
      integer(c_intptr_t) :: buffer
    end function cl_create_buffer

    subroutine cl_delete_buffer(buffer) bind(C, name='example_cl_delete_buffer')
      import
      implicit none
      integer(c_intptr_t), intent(in), value :: buffer
    end subroutine cl_delete_buffer

    subroutine cl_write(buffer, bytes, data) bind(C, name='example_cl_write')
      import
      implicit none
      integer(c_intptr_t), intent(in), value :: buffer
      integer(c_int64_t), intent(in), value :: bytes
      real(sp), intent(in) :: data(*)
    end subroutine cl_write

    subroutine cl_read(buffer, bytes, data) bind(C, name='example_cl_read')
      import
      implicit none
      integer(c_intptr_t), intent(in), value :: buffer
      integer(c_int64_t), intent(in), value :: bytes
      real(sp), intent(inout) :: data(*)
    end subroutine cl_read
  end interface

contains

  subroutine open_opencl(self, width, height)
    class(opencl_gpu), intent(inout) :: self
    integer, intent(in) :: width, height

    self%width = width
    self%height = height
    self%kernel = cl_create_kernel(self%defines()//source//c_null_char, 'find_edges'//c_null_char)
  end subroutine open_opencl

  subroutine close_opencl(self)
    class(opencl_gpu), intent(inout) :: self

    call cl_delete_kernel(self%kernel)
  end subroutine close_opencl

  subroutine create_native_buffers(self)
    class(opencl_gpu), intent(inout) :: self

    self%input = cl_create_buffer(self%bytes())
    self%output = cl_create_buffer(self%bytes())
    call count_memory(2*self%bytes())
    call cl_set_memory(self%kernel, 0, self%input)
    call cl_set_memory(self%kernel, 1, self%output)
  end subroutine create_native_buffers

  subroutine delete_native_buffers(self)
    class(opencl_gpu), intent(inout) :: self

    call cl_delete_buffer(self%input)
    call cl_delete_buffer(self%output)
    call count_memory(-2*self%bytes())
  end subroutine delete_native_buffers

  subroutine upload(self, input)
    class(opencl_gpu), intent(inout) :: self
    real(sp), contiguous, intent(in) :: input(:)

    call cl_write(self%input, self%bytes(), input)
    call count_copy(self%bytes())
  end subroutine upload

  subroutine download(self, output)
    class(opencl_gpu), intent(inout) :: self
    real(sp), contiguous, intent(inout) :: output(:)

    call cl_read(self%output, self%bytes(), output)
    call count_copy(self%bytes())
  end subroutine download

  subroutine use_buffers(self, input, output)
    class(opencl_gpu), intent(inout) :: self
    type(unified_buffer), intent(in) :: input, output

    call cl_set_memory(self%kernel, 0, get_gpu_handle(input))
    call cl_set_memory(self%kernel, 1, get_gpu_handle(output))
  end subroutine use_buffers

  subroutine compute(self)
    class(opencl_gpu), intent(inout) :: self

    call cl_enqueue(self%kernel, self%width/tile_width, (self%height + tile_height - 1)/tile_height)
  end subroutine compute

end module conv2d_opencl
