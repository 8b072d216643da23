!> Fences: the completion of work that was queued on a device.
!>
!> Every procedure takes `stat` and `errmsg`, as the statements of Fortran do: `stat` is 0, or one of the STATUS_ values
!> of gpu_unified_buffers; without it the program stops with the message. Any thread may call any of them.
module gpu_fence_primitives
  use, intrinsic :: iso_c_binding, only: c_ptr, c_null_ptr
  use kinds, only: i64
  use unibuf_reports, only: report
  implicit none
  private
  public :: gpu_fence, gpu_fence_create, gpu_fence_wait, gpu_fence_is_valid, gpu_fence_destroy

  !> Stands for all work that was submitted to a device before the fence was created. Copies stand for the same work.
  type, bind(C) :: gpu_fence
    private
    type(c_ptr) :: slot = c_null_ptr
    integer(i64) :: generation = 0
  end type gpu_fence

  interface

    !> Makes a fence. `device` is one of unibuf's names, "opengl:0"; without it, the GPU that buffers are created for.
    function gpu_fence_create(device, stat, errmsg) result(fence) bind(C, name='unibuf_fortran_create_fence')
      import
      implicit none
      character(*), intent(in), optional :: device
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(gpu_fence) :: fence
    end function gpu_fence_create

    subroutine wait_for_fence(fence, timeout_ns, done, stat) bind(C, name='unibuf_fortran_wait_fence')
      import
      implicit none
      type(gpu_fence), intent(in) :: fence
      integer(i64), intent(in), optional :: timeout_ns
      integer, intent(out), optional :: done
      integer, intent(out) :: stat
    end subroutine wait_for_fence

    !> Ends a fence, and waits for nothing.
    subroutine gpu_fence_destroy(fence, stat, errmsg) bind(C, name='unibuf_fortran_destroy_fence')
      import
      implicit none
      type(gpu_fence), intent(in) :: fence
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
    end subroutine gpu_fence_destroy

    integer function fence_is_valid(fence) bind(C, name='unibuf_fortran_fence_is_valid')
      import
      implicit none
      type(gpu_fence), intent(in) :: fence
    end function fence_is_valid

  end interface

contains

  !> Waits until the work is done, at most `timeout_ns`; without a timeout, without end. Where time is up, `signaled` is
  !> false; without `signaled`, that is an error (STATUS_TIMEOUT). The fence stays usable.
  subroutine gpu_fence_wait(fence, timeout_ns, signaled, stat, errmsg)
    type(gpu_fence), intent(in) :: fence
    integer(i64), intent(in), optional :: timeout_ns
    logical, intent(out), optional :: signaled
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    integer :: done, status

    if (present(signaled)) then
      done = 0
      call wait_for_fence(fence, timeout_ns, done, status)
      signaled = done /= 0
    else
      call wait_for_fence(fence, timeout_ns, stat=status)
    end if
    call report(status, stat, errmsg)
  end subroutine gpu_fence_wait

  !> Returns whether a fence was created, and not destroyed yet.
  logical function gpu_fence_is_valid(fence)
    type(gpu_fence), intent(in) :: fence

    gpu_fence_is_valid = fence_is_valid(fence) /= 0
  end function gpu_fence_is_valid

end module gpu_fence_primitives
