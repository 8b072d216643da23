!> The convolution on OpenGL.
module conv2d_opengl
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
  use conv2d_gpus, only: gpu
  use conv2d_tally, only: count_copy, count_memory
  use gpu_compute_shaders, only: compute_shader, create_compute_shader, destroy_compute_shader, dispatch_compute
  use gpu_unified_buffers, only: bind_buffer_to_shader, unified_buffer
  use kinds, only: sp
  implicit none
  private
  public :: opengl_gpu

  type, extends(gpu) :: opengl_gpu
    private
    type(compute_shader) :: shader
    integer(c_int) :: input = 0   ! native buffers
    integer(c_int) :: output = 0
  contains
    procedure :: open => open_opengl
    procedure :: close => close_opengl
    procedure :: create_native_buffers
    procedure :: delete_native_buffers
    procedure :: upload
    procedure :: download
    procedure :: use_buffers
    procedure :: compute
  end type opengl_gpu

  integer, parameter :: tile_width = 4, tile_height = 16, group = 32

  character, parameter :: nl = new_line('a')

  !> An invocation makes 4 columns of 16 rows. The weights are 8 in the middle and -1 around: nine times the pixel,
  !> less the sums of three rows, each of which is worked out once.
  character(*), parameter :: source = &
    'layout(local_size_x = 32) in;'//nl// &
    'layout(std430, binding = 0) readonly buffer input_pixels { float from[]; };'//nl// &
    'layout(std430, binding = 0) readonly buffer input_quads { vec4 from_quads[]; };'//nl// &
    'layout(std430, binding = 1) writeonly buffer output_quads { vec4 to_quads[]; };'//nl// &
    'void load(int x, int y, out vec4 quad, out vec4 sum) {'//nl// &
    '  const int row = clamp(y, 0, HEIGHT - 1) * WIDTH;'//nl// &
    '  quad = from_quads[(row + x) / 4];'//nl// &
    '  const vec4 left = vec4(from[row + max(x - 1, 0)], quad.xyz);'//nl// &
    '  const vec4 right = vec4(quad.yzw, from[row + min(x + 4, WIDTH - 1)]);'//nl// &
    '  sum = left + quad + right;'//nl// &
    '}'//nl// &
    'void main() {'//nl// &
    '  const int x = int(gl_GlobalInvocationID.x) * 4;'//nl// &
    '  const int y = int(gl_GlobalInvocationID.y) * 16;'//nl// &
    '  if (x >= WIDTH) return;'//nl// &
    '  vec4 quad, next, above, here, below;'//nl// &
    '  load(x, y - 1, quad, above);'//nl// &
    '  load(x, y, quad, here);'//nl// &
    '  for (int row = y; row < min(y + 16, HEIGHT); ++row) {'//nl// &
    '    load(x, row + 1, next, below);'//nl// &
    '    to_quads[(row * WIDTH + x) / 4] = 9 * quad - (above + here + below);'//nl// &
    '    above = here;'//nl// &
    '    here = below;'//nl// &
    '    quad = next;'//nl// &
    '  }'//nl// &
    '}'//nl

  interface
    function gl_create_buffer() result(name) bind(C, name='example_gl_create_buffer')
      import
      implicit none
      integer(c_int) :: name
    end function gl_create_buffer

    subroutine gl_delete_buffer(name) bind(C, name='example_gl_delete_buffer')
      import
      implicit none
      integer(c_int), intent(in), value :: name
    end subroutine gl_delete_buffer

    subroutine gl_buffer_data(name, bytes, data) bind(C, name='example_gl_buffer_data')
      import
      implicit none
      integer(c_int), intent(in), value :: name
      integer(c_int64_t), intent(in), value :: bytes
      real(sp), intent(in), optional :: data(*)
    end subroutine gl_buffer_data

    subroutine gl_bind_buffer(name, binding, bytes) bind(C, name='example_gl_bind_buffer')
      import
      implicit none
      integer(c_int), intent(in), value :: name, binding
      integer(c_int64_t), intent(in), value :: bytes
    end subroutine gl_bind_buffer

    subroutine gl_get_buffer_sub_data(name, bytes, data) bind(C, name='example_gl_get_buffer_sub_data')
      import
      implicit none
      integer(c_int), intent(in), value :: name
      integer(c_int64_t), intent(in), value :: bytes
      real(sp), intent(inout) :: data(*)
    end subroutine gl_get_buffer_sub_data
  end interface

contains

  subroutine open_opengl(self, width, height)
    class(opengl_gpu), intent(inout) :: self
    integer, intent(in) :: width, height

    self%width = width
    self%height = height
    self%shader = create_compute_shader('#version 450'//nl//self%defines()//source, self%name)
  end subroutine open_opengl

  subroutine close_opengl(self)
    class(opengl_gpu), intent(inout) :: self

    call destroy_compute_shader(self%shader)
  end subroutine close_opengl

  subroutine create_native_buffers(self)
    class(opengl_gpu), intent(inout) :: self

    self%input = gl_create_buffer()
    self%output = gl_create_buffer()
    call gl_buffer_data(self%output, self%bytes())
    call count_memory(2*self%bytes())
  end subroutine create_native_buffers

  subroutine delete_native_buffers(self)
    class(opengl_gpu), intent(inout) :: self

    call gl_delete_buffer(self%input)
    call gl_delete_buffer(self%output)
    call count_memory(-2*self%bytes())
  end subroutine delete_native_buffers

  subroutine upload(self, input)
    class(opengl_gpu), intent(inout) :: self
    real(sp), contiguous, intent(in) :: input(:)

    call gl_buffer_data(self%input, self%bytes(), input)
    call count_copy(self%bytes())
    call gl_bind_buffer(self%input, 0, self%bytes())
    call gl_bind_buffer(self%output, 1, self%bytes())
  end subroutine upload

  subroutine download(self, output)
    class(opengl_gpu), intent(inout) :: self
    real(sp), contiguous, intent(inout) :: output(:)

    call gl_get_buffer_sub_data(self%output, self%bytes(), output)
    call count_copy(self%bytes())
  end subroutine download

  subroutine use_buffers(self, input, output)
    class(opengl_gpu), intent(inout) :: self
    type(unified_buffer), intent(in) :: input, output

    associate (unused => self)
    end associate
    call bind_buffer_to_shader(input, 0)
    call bind_buffer_to_shader(output, 1)
  end subroutine use_buffers

  subroutine compute(self)
    class(opengl_gpu), intent(inout) :: self

    call dispatch_compute(self%shader, groups(self%width, tile_width*group), groups(self%height, tile_height))
  end subroutine compute

  elemental integer function groups(pixels, each)
    integer, intent(in) :: pixels, each

    groups = (pixels + each - 1)/each
  end function groups

end module conv2d_opengl
