!> Heat spreads over a plate: the host's cores and a GPU take turns, a step each, on the same memory.
program heat
  use example_gpu, only: stop_without_gpu
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds, only: i64, sp
  implicit none

  character, parameter :: nl = new_line('a')
  character(*), parameter :: source = &
    '#version 450'//nl// &
    '#define SIDE 512'//nl// &
    'layout(local_size_x = 128) in;'//nl// &
    'layout(std430, binding = 0) readonly buffer cells_now { float now[]; };'//nl// &
    'layout(std430, binding = 1) writeonly buffer cells_next { float next[]; };'//nl// &
    'void main() {'//nl// &
    '  const uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y + 1, i = y * SIDE + x;'//nl// &
    '  if (x == 0 || x == SIDE - 1) return;'//nl// &
    '  next[i] = now[i] + 0.2 * (now[i - 1] + now[i + 1] + now[i - SIDE] + now[i + SIDE] - 4 * now[i]);'//nl// &
    '}'//nl
  integer, parameter :: side = 512, steps = 100
  integer(i64), parameter :: bytes = storage_size(1.0_sp)/8*int(side, i64)**2

  type(unified_buffer) :: buffers(2)
  type(compute_shader) :: shader
  type(transfer_statistics) :: counts
  real(sp), pointer, contiguous :: one(:, :) => null(), other(:, :) => null()
  real(sp), allocatable :: expected(:, :), next(:, :)
  integer :: step

  call stop_without_gpu()
  buffers(1) = create_unified_buffer(bytes, BUFFER_READ_WRITE)
  buffers(2) = create_unified_buffer(bytes, BUFFER_READ_WRITE)
  call get_pointer(buffers(1), one, [side, side])
  call get_pointer(buffers(2), other, [side, side])
  shader = create_compute_shader(source)

  call heat_up(one)
  call heat_up(other)
  do step = 1, steps, 2
    call step_on_host(one, other)
    call step_on_gpu(buffers(2), buffers(1))
  end do

  allocate (expected(side, side), next(side, side))
  call heat_up(expected)
  call heat_up(next)
  do step = 1, steps, 2
    call step_on_host(expected, next)
    call step_on_host(next, expected)
  end do
  if (.not. all(abs(one - expected) <= 1e-3_sp)) error stop 'heat_fortran: the plate differs from the host''s alone'

  counts = total_statistics()
  print '(i0, a, i0, a, es7.1)', steps, ' steps, every other one on the GPU: ', counts%bytes_moved, &
    ' bytes moved between memories, largest error ', maxval(abs(one - expected))
  call destroy_compute_shader(shader)
  call destroy_unified_buffer(buffers(1))
  call destroy_unified_buffer(buffers(2))

contains

  !> Makes the first state of the plate. The edges stay as they are: the upper one is hot.
  pure subroutine heat_up(plate)
    real(sp), intent(out) :: plate(:, :)

    plate = 0
    plate(:, 1) = 100
  end subroutine heat_up

  pure subroutine step_on_host(now, next)
    real(sp), contiguous, intent(in) :: now(:, :)
    real(sp), contiguous, intent(inout) :: next(:, :)

    integer :: x, y

    do concurrent(y=2:size(now, 2) - 1, x=2:size(now, 1) - 1)
      next(x, y) = now(x, y) + 0.2_sp*(now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1) - 4*now(x, y))
    end do
  end subroutine step_on_host

  !> Makes a step on the GPU: binding shows it what the host has written.
  subroutine step_on_gpu(now, next)
    type(unified_buffer), intent(in) :: now, next

    call bind_buffer_to_shader(now, 0)
    call bind_buffer_to_shader(next, 1)
    call dispatch_compute(shader, side/128, side - 2)
    call sync_from_gpu(next)
  end subroutine step_on_gpu

end program heat
