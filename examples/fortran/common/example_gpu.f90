!> Ends an example where there is no GPU.
module example_gpu
  use gpu_unified_buffers, only: STATUS_DEVICE_UNAVAILABLE, STATUS_OK, gpu_device
  implicit none
  private
  public :: stop_without_gpu

contains

  !> Ends the program in peace, with the reason.
  subroutine stop_without_gpu()
    character(:), allocatable :: name
    character(500) :: reason
    integer :: status

    name = gpu_device(stat=status, errmsg=reason)
    if (status == STATUS_OK .and. len(name) > 0) return
    if (status /= STATUS_DEVICE_UNAVAILABLE) error stop trim(reason)
    print '(2a)', 'skipped: ', trim(reason)
    stop
  end subroutine stop_without_gpu

end module example_gpu
