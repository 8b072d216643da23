!> Migration, phase 1: the API that callers know stays, and works on unified buffers inside.

!> A library that smooths signals. Callers pass arrays, as ever.
module smoothing
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds, only: i64, sp
  implicit none
  private
  public :: smooth, smooth_on_host, why_not_on_gpu

  character, parameter :: nl = new_line('a')
  character(*), parameter :: source = &
    '#version 450'//nl// &
    'layout(local_size_x = 256) in;'//nl// &
    'layout(std430, binding = 0) readonly buffer signal { float from[]; };'//nl// &
    'layout(std430, binding = 1) writeonly buffer smoothed { float to[]; };'//nl// &
    'void main() {'//nl// &
    '  const int i = int(gl_GlobalInvocationID.x), last = from.length() - 1;'//nl// &
    '  if (i <= last) to[i] = (from[max(i - 1, 0)] + 2 * from[i] + from[min(i + 1, last)]) / 4;'//nl// &
    '}'//nl

  integer(i64), parameter :: element = storage_size(1.0_sp)/8

  ! These are kept from call to call, in the place of temporary arrays and glBufferData.
  type(unified_buffer) :: input, output
  type(compute_shader) :: shader
  integer :: capacity = 0
  logical :: on_gpu = .true.
  character(:), allocatable :: why_not_on_gpu

contains

  !> Smooths a signal, by the interface of before.
  subroutine smooth(signal, smoothed)
    real(sp), intent(in) :: signal(:)
    real(sp), intent(out) :: smoothed(size(signal))

    if (size(signal) /= capacity) call make_buffers(size(signal))
    if (.not. on_gpu) then
      call smooth_on_host(signal, smoothed)
      return
    end if
    call write_buffer(input, signal)
    call bind_buffer_to_shader(input, 0)
    call bind_buffer_to_shader(output, 1)
    call dispatch_compute(shader, (size(signal) + 255)/256)
    call read_buffer(output, smoothed)
  end subroutine smooth

  !> Smooths on the host, as a machine without a GPU does.
  pure subroutine smooth_on_host(signal, smoothed)
    real(sp), intent(in) :: signal(:)
    real(sp), intent(out) :: smoothed(size(signal))

    integer :: i, last

    last = size(signal)
    do concurrent(i=1:last)
      smoothed(i) = (signal(max(i - 1, 1)) + 2*signal(i) + signal(min(i + 1, last)))/4
    end do
  end subroutine smooth_on_host

  subroutine make_buffers(elements)
    integer, intent(in) :: elements

    if (.not. on_gpu) return
    if (capacity == 0) then
      input = create_unified_buffer(elements*element, BUFFER_WRITE_ONLY)
      on_gpu = buffer_is_valid(input)
      if (.not. on_gpu) then
        why_not_on_gpu = unified_buffer_message()
        return
      end if
      shader = create_compute_shader(source)
    else
      call destroy_unified_buffer(input)
      call destroy_unified_buffer(output)
      input = create_unified_buffer(elements*element, BUFFER_WRITE_ONLY)
    end if
    output = create_unified_buffer(elements*element, BUFFER_READ_ONLY)
    capacity = elements
  end subroutine make_buffers

end module smoothing

!> A caller, which has not changed.
program phase1_drop_in
  use gpu_unified_buffers
  use kinds, only: sp
  use smoothing, only: smooth, smooth_on_host, why_not_on_gpu
  implicit none

  integer, parameter :: sizes(3) = [100000, 100000, 77]
  real(sp), allocatable :: signal(:), smoothed(:), expected(:)
  type(transfer_statistics) :: counts
  integer :: i

  do i = 1, size(sizes)
    allocate (signal(sizes(i)), smoothed(sizes(i)), expected(sizes(i)))
    call random_number(signal)
    call smooth(signal, smoothed)
    call smooth_on_host(signal, expected)
    if (.not. all(abs(smoothed - expected) <= 1e-6_sp)) error stop 'phase1: a wrong result'
    deallocate (signal, smoothed, expected)
  end do
  if (allocated(why_not_on_gpu)) print '(2a)', 'the GPU was skipped: ', why_not_on_gpu
  counts = total_statistics()
  print '(i0, a, i0, a)', size(sizes), ' signals smoothed through the API of before: ', counts%bytes_moved, &
    ' bytes moved between memories'
end program phase1_drop_in
