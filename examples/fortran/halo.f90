!> Waves on a pond that is cut among the processes of mpiexec, on an OpenGL device or on the host of each.
!>
!> Each step the first and the last row go to the neighbours; while they are under way, the rows between are computed. Of
!> a field on a device only these rows come to the host, and only the ghosts go back. The first process compares the
!> result with what it makes of the whole pond alone, and draws it: halo_fortran [PICTURE.png]
program halo_example
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds, only: i64, sp
  use mpi_f08
  use unibuf_mpi
  implicit none

  interface
    subroutine draw(heights, width, height, path) bind(C, name='example_draw_heights')
      import
      implicit none
      real(sp), intent(in) :: heights(*)
      integer(c_int), intent(in), value :: width, height
      character(kind=c_char), intent(in) :: path(*)
    end subroutine draw
  end interface

  character, parameter :: nl = new_line('a')
  character(*), parameter :: source = &
    '#version 450'//nl// &
    'layout(local_size_x = 64) in;'//nl// &
    'layout(std430, binding = 0) readonly buffer cells_now { float now[]; };'//nl// &
    'layout(std430, binding = 1) buffer cells_next { float next[]; };'//nl// &
    'uniform int width;'//nl// &
    'uniform int row;'//nl// &
    'void main() {'//nl// &
    '  const int x = int(gl_GlobalInvocationID.x), i = (int(gl_GlobalInvocationID.y) + row) * width + x;'//nl// &
    '  if (x == 0 || x >= width - 1) return;'//nl// &
    '  const float around = now[i - 1] + now[i + 1] + now[i - width] + now[i + width];'//nl// &
    '  next[i] = 2 * now[i] - next[i] + 0.25 * (around - 4 * now[i]);'//nl// &
    '}'//nl
  integer, parameter :: width = 512, height = 512, steps = 400

  type(unified_buffer) :: fields(2)
  type(halo) :: halos(2)
  type(compute_shader) :: shader
  type(transfer_statistics) :: counts
  real(sp), allocatable :: cells(:, :), before(:, :), whole(:, :), part(:, :)
  character(500) :: path
  integer :: rank, ranks, first, rows, step, now, next, status
  integer(i64) :: moved
  logical :: on_gpu

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  first = height*rank/ranks
  rows = height*(rank + 1)/ranks - first
  shader = create_compute_shader(source, 'opengl:0', stat=status)
  on_gpu = status == STATUS_OK
  call set_gpu_device(trim(merge('opengl:0', 'host    ', on_gpu)))

  cells = drops(first, rows)
  do now = 1, 2
    fields(now) = create_unified_buffer(size(cells, kind=i64)*4, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call write_buffer(fields(now), cells)
    call sync_to_gpu(fields(now))
    if (on_gpu) call mark_device_dirty(fields(now))  ! the host forgets it, as after the first step
    halos(now) = create_halo(MPI_COMM_WORLD, fields(now:now), [4], [width, rows + 2], [0, 1])
  end do
  counts = total_statistics()
  moved = counts%bytes_moved

  do step = 1, steps
    now = 2 - mod(step, 2)
    next = 3 - now
    call begin_halo(halos(now))
    call compute(2, rows - 2)
    call finish_halo(halos(now))
    call compute(1, 1)
    call compute(rows, 1)
  end do
  counts = total_statistics()
  moved = counts%bytes_moved - moved

  now = 3 - now
  if (rank /= 0) then
    call send_buffer(fields(now), 0, 0, MPI_COMM_WORLD)
  else
    allocate (whole(width, height))
    call collect()
    call compare()
  end if
  call destroy_halo(halos(1))
  call destroy_halo(halos(2))
  call MPI_Finalize()

contains

  !> The first state of some rows, and of one more at either side: two drops have fallen.
  function drops(first, rows) result(heights)
    integer, intent(in) :: first, rows
    real(sp) :: heights(width, 0:rows + 1)

    integer :: x, y

    heights = 0
    do y = max(1, 1 - first), min(rows, height - first)
      do x = 2, width - 1
        heights(x, y) = exp(-((x - 0.3*width)**2 + (y + first - 0.4*height)**2)/50) &
                        + exp(-((x - 0.7*width)**2 + (y + first - 0.6*height)**2)/50)/2
      end do
    end do
  end function drops

  !> Computes the next state of some rows, from this one on.
  subroutine compute(row, count)
    integer, intent(in) :: row, count

    if (count < 1) return
    if (on_gpu) then
      call dispatch_compute(shader, width/64, count, buffers=[fields(now), fields(next)], &
                            uniforms=[uniform('width', width), uniform('row', row)])
    else
      call compute_at_host(row, count)
    end if
  end subroutine compute

  subroutine compute_at_host(row, count)
    integer, intent(in) :: row, count

    type(buffer_lease) :: reading, writing
    real(sp), pointer, contiguous :: from(:, :) => null(), to(:, :) => null()

    reading = acquire_buffer(fields(now), 'host', ACCESS_READ)
    writing = acquire_buffer(fields(next), 'host', ACCESS_READ_WRITE)
    call get_pointer(reading, from, [width, rows + 2])
    call get_pointer(writing, to, [width, rows + 2])
    call wave(from(:, row:row + count + 1), to(:, row:row + count + 1))
    call release_buffer(reading)
    call release_buffer(writing)
  end subroutine compute_at_host

  pure subroutine wave(from, to)
    real(sp), contiguous, intent(in) :: from(:, :)
    real(sp), contiguous, intent(inout) :: to(:, :)

    integer :: x, y

    do y = 2, size(from, 2) - 1
      do x = 2, width - 1
        to(x, y) = 2*from(x, y) - to(x, y) &
                   + 0.25_sp*(from(x - 1, y) + from(x + 1, y) + from(x, y - 1) + from(x, y + 1) - 4*from(x, y))
      end do
    end do
  end subroutine wave

  !> Puts the rows of all processes together.
  subroutine collect()
    type(unified_buffer) :: received
    integer :: other, begin, count

    call read_buffer(fields(now), cells)
    whole(:, :rows) = cells(:, 2:rows + 1)
    do other = 1, ranks - 1
      begin = height*other/ranks
      count = height*(other + 1)/ranks - begin
      allocate (part(width, count + 2))
      received = create_unified_buffer(size(part, kind=i64)*4, BUFFER_READ_WRITE)
      call recv_buffer(received, other, 0, MPI_COMM_WORLD)
      call read_buffer(received, part)
      whole(:, begin + 1:begin + count) = part(:, 2:count + 1)
      call destroy_unified_buffer(received)
      deallocate (part)
    end do
  end subroutine collect

  subroutine compare()
    real(sp), allocatable :: swapped(:, :)
    real(sp) :: error

    cells = drops(0, height)
    before = cells
    do step = 1, steps
      call wave(cells, before)
      call move_alloc(before, swapped)
      call move_alloc(cells, before)
      call move_alloc(swapped, cells)
    end do
    error = maxval(abs(whole - cells(:, 2:height + 1)))
    if (.not. error <= 1e-3_sp) error stop 'halo_fortran: the waves differ from one process''s'
    print '(i0, a, i0, a, i0, a, i0, 2a)', width, ' x ', height, ' cells, ', steps, ' steps, ', ranks, &
      ' processes, on ', trim(merge('opengl:0', 'host    ', on_gpu))
    print '(a, i0, a, es7.1)', 'rank 0, each step: ', moved/steps, &
      ' bytes between host and device; largest difference from one process: ', error
    if (command_argument_count() == 0) return
    call get_command_argument(1, path)
    call draw(whole, width, height, trim(path)//c_null_char)
  end subroutine compare

end program halo_example
