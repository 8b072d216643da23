!> Measures frames of one way on one GPU.
module conv2d_measuring
  use conv2d_clock, only: median, milliseconds
  use conv2d_gpus, only: gpu
  use conv2d_tally, only: clear_tally, tally
  use conv2d_ways, only: way
  use gpu_unified_buffers, only: memory_held, peak_memory_held, reset_peak_memory, total_statistics, &
                                 transfer_statistics
  use kinds, only: dp, i64, sp
  implicit none
  private
  public :: measurement, measure

  type :: measurement
    real(dp) :: time = 0        ! median time of a frame in milliseconds
    integer(i64) :: copied = 0  ! bytes that the program copies for a frame
    integer(i64) :: moved = 0   ! bytes that unibuf moves for a frame
    integer(i64) :: held = 0    ! most bytes held at once, on the host and the GPU together
    real(dp) :: management = 0  ! milliseconds a frame that the management of buffers takes
  end type measurement

contains

  !> Runs once to warm up, and `frames` times for the clock. Figures are medians.
  function measure(how, on, frames, result) result(cost)
    class(way), intent(inout) :: how
    class(gpu), intent(inout) :: on
    integer, intent(in) :: frames
    real(sp), intent(out) :: result(:, :)
    type(measurement) :: cost

    integer, parameter :: times_managed = 101
    type(transfer_statistics) :: before, after
    real(dp) :: times(frames), managed(times_managed)
    integer(i64) :: held_by_others
    real(sp) :: first, seen
    integer :: i

    call reset_peak_memory()
    held_by_others = memory_held()
    call clear_tally()
    call how%start(on)
    call how%frame(on, first)

    tally%copied = 0
    before = total_statistics()
    do i = 1, frames
      times(i) = milliseconds()
      call how%frame(on, seen)
      times(i) = milliseconds() - times(i)
      if (.not. abs(seen - first) <= 0) error stop 'conv2d_fortran: a frame differs from the one before'
    end do
    after = total_statistics()
    cost%time = median(times)
    cost%copied = tally%copied/frames
    cost%moved = (after%bytes_moved - before%bytes_moved)/frames

    do i = 1, times_managed
      call how%management(on, managed(i))
    end do
    cost%management = median(managed)

    cost%held = tally%peak + peak_memory_held() - held_by_others
    call how%frame(on, seen)
    call how%finish(on, result)
  end function measure

end module conv2d_measuring
