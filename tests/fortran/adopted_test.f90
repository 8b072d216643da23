!> adopted_test: the program's own OpenGL context, in the place of unibuf's.
program adopted_test
  use, intrinsic :: iso_c_binding, only: c_int
  use checks
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds
  implicit none

  interface
    !> An EGL context that is current on this thread; 0 where none can be made.
    integer(c_int) function make_context() bind(C, name='test_make_context')
      import :: c_int
    end function make_context

    subroutine release_context() bind(C, name='test_release_context')
    end subroutine release_context

    subroutine take_context() bind(C, name='test_take_context')
    end subroutine take_context

    !> glDispatchCompute by the program's own program, which adds 1 to each number of binding 0.
    subroutine dispatch_own(groups) bind(C, name='test_dispatch_own')
      import :: c_int
      integer(c_int), intent(in), value :: groups
    end subroutine dispatch_own
  end interface

  type(unified_buffer) :: buffer
  type(transfer_statistics) :: before, after
  integer :: i, status, numbers(1024), back(1024)
  character(500) :: message

  call use_current_gl_context(stat=status, errmsg=message)
  call check(status == STATUS_DEVICE_UNAVAILABLE, 'without a context there is none to use: ' // trim(message))
  if (make_context() == 0) call skip('no OpenGL context can be made')

  call use_current_gl_context()
  call check(index(gpu_device(), 'opengl:') == 1 .and. gpu_device() /= 'opengl:0', 'the context is a device of its own')

  before = total_statistics()
  numbers = [(i, i=1, 1024)]
  buffer = create_unified_buffer(4096_i64, BUFFER_READ_WRITE)
  call bind_buffer_to_shader(buffer, 0)
  call write_buffer(buffer, numbers)
  call dispatch_own(16)
  call dispatch_own(16)
  call read_buffer(buffer, back)
  call check(all(back == numbers + 2), 'the program''s own shader uses the buffer')
  after = total_statistics()
  call check(after%bytes_moved == before%bytes_moved, 'without a copy')

  call release_context()
  call read_buffer(buffer, back, stat=status, errmsg=message)
  call check(status == STATUS_DEVICE_UNAVAILABLE, 'without the context its buffers cannot be used: ' // trim(message))
  call take_context()
  call read_buffer(buffer, back)
  call check(all(back == numbers + 2), 'and nothing is lost')
  call destroy_unified_buffer(buffer)
  call finish()

end program adopted_test
