!> Compute shaders of OpenGL, from a string: all that a small program needs to use a GPU. `stat` and `errmsg` are as
!> in gpu_unified_buffers.
module gpu_compute_shaders
  use, intrinsic :: iso_c_binding, only: c_null_ptr, c_ptr
  use kinds, only: i64
  implicit none
  private
  public :: compute_shader, create_compute_shader, dispatch_compute, destroy_compute_shader

  !> A compute shader. Copies of the handle stand for the same shader.
  type, bind(C) :: compute_shader
    private
    type(c_ptr) :: slot = c_null_ptr
    integer(i64) :: generation = 0
  end type compute_shader

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

    !> Queues that many groups of a shader, and returns. Later shaders see what this one writes; its buffers are those
    !> of bind_buffer_to_shader.
    subroutine dispatch_compute(shader, groups_x, groups_y, groups_z, stat, errmsg) &
      bind(C, name='unibuf_fortran_dispatch')
      import
      implicit none
      type(compute_shader), intent(in) :: shader
      integer, intent(in) :: groups_x
      integer, intent(in), optional :: groups_y, groups_z
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

end module gpu_compute_shaders
