!> Compute shaders of OpenGL, from a string: all that a small program needs to use a GPU. `stat` and `errmsg` are as
!> in gpu_unified_buffers.
module gpu_compute_shaders
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_ptr, c_ptr
  use gpu_buffer_types, only: unified_buffer
  use kinds, only: dp, i32, i64, sp
  implicit none
  private
  public :: compute_shader, create_compute_shader, dispatch_compute, destroy_compute_shader
  public :: shader_uniform, uniform

  !> A compute shader. Copies of the handle stand for the same shader.
  type, bind(C) :: compute_shader
    private
    type(c_ptr) :: slot = c_null_ptr
    integer(i64) :: generation = 0
  end type compute_shader

  !> A value for a uniform of a shader: uniform(name, value) makes one.
  type, bind(C) :: shader_uniform
    private
    character(kind=c_char) :: name(64) = ' '
    integer(c_int) :: what = 0
    integer(i64) :: bits = 0
  end type shader_uniform

  !> uniform('dt', 0.1): a value for `uniform float dt;`. An integer is for int and uint, a real for float, a real of
  !> double precision for double. A name has at most 64 characters.
  interface uniform
    module procedure integer_uniform, real_uniform, double_uniform
  end interface uniform

  interface

    !> Compiles GLSL for a context: the one of "opengl:0", which has no window, or the one of use_current_gl_context.
    !> Lines end with new_line('a'). STATUS_INVALID_ARGUMENT, with the compiler's words, where it does not compile.
    function create_compute_shader(source, device, stat, errmsg) result(shader) &
      bind(C, name='unibuf_fortran_create_shader')
      import
      implicit none
      character(*), intent(in) :: source
      character(*), intent(in), optional :: device
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(compute_shader) :: shader
    end function create_compute_shader

    !> Queues that many groups of a shader, and returns. Later shaders see what this one writes.
    !>
    !> With `buffers` the shader uses just these, the first one at binding 0: any number of threads may call this at
    !> once. Without, it uses what bind_buffer_to_shader has bound on this thread, or, at a binding where this thread
    !> has never bound anything, what any thread bound last. STATUS_INVALID_ARGUMENT where it uses a binding that has
    !> no buffer, STATUS_ACCESS_CONFLICT where this thread has leased one elsewhere; leases of other threads are waited
    !> for. All of `uniforms` are set, or none; the shader keeps their values for dispatches that set none.
    subroutine dispatch_compute(shader, groups_x, groups_y, groups_z, buffers, uniforms, stat, errmsg) &
      bind(C, name='unibuf_fortran_dispatch')
      import
      implicit none
      type(compute_shader), intent(in) :: shader
      integer, intent(in) :: groups_x
      integer, intent(in), optional :: groups_y, groups_z
      type(unified_buffer), intent(in), optional :: buffers(:)
      type(shader_uniform), intent(in), optional :: uniforms(:)
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine dispatch_compute

    subroutine destroy_compute_shader(shader, stat, errmsg) bind(C, name='unibuf_fortran_destroy_shader')
      import
      implicit none
      type(compute_shader), intent(in) :: shader
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine destroy_compute_shader

  end interface

contains

  pure function integer_uniform(name, value) result(made)
    character(*), intent(in) :: name
    integer(i32), intent(in) :: value
    type(shader_uniform) :: made

    made = named(name, 0_c_int, int(value, i64))
  end function integer_uniform

  pure function real_uniform(name, value) result(made)
    character(*), intent(in) :: name
    real(sp), intent(in) :: value
    type(shader_uniform) :: made

    made = named(name, 1_c_int, int(transfer(value, 0_i32), i64))
  end function real_uniform

  pure function double_uniform(name, value) result(made)
    character(*), intent(in) :: name
    real(dp), intent(in) :: value
    type(shader_uniform) :: made

    made = named(name, 2_c_int, transfer(value, 0_i64))
  end function double_uniform

  pure function named(name, what, bits) result(made)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: what
    integer(i64), intent(in) :: bits
    type(shader_uniform) :: made

    integer :: i

    do i = 1, min(len(name), size(made%name))
      made%name(i) = name(i:i)
    end do
    made%what = what
    made%bits = bits
  end function named

end module gpu_compute_shaders
