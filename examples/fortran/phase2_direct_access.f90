!> Migration, phase 2: callers get pointers into the buffers, and the copies in between are gone.

!> A swarm of particles, which a GPU moves and the host keeps in their box: both on the same memory.
module swarm
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds, only: i64, sp
  implicit none
  private
  public :: particles, create_particles, move_particles, destroy_particles

  !> `position` and `velocity` may be read and written between calls of move_particles. They are contiguous, or else
  !> the compiler would copy them where they are passed on.
  type :: particles
    real(sp), pointer, contiguous :: position(:, :) => null()
    real(sp), pointer, contiguous :: velocity(:, :) => null()
    type(unified_buffer), private :: positions, velocities
    type(compute_shader), private :: shader
  end type particles

  character, parameter :: nl = new_line('a')
  character(*), parameter :: source = &
    '#version 450'//nl// &
    'layout(local_size_x = 256) in;'//nl// &
    'layout(std430, binding = 0) buffer positions { float position[]; };'//nl// &
    'layout(std430, binding = 1) readonly buffer velocities { float velocity[]; };'//nl// &
    'void main() {'//nl// &
    '  const int i = int(gl_GlobalInvocationID.x);'//nl// &
    '  if (i < position.length()) position[i] += velocity[i] * 0.125;'//nl// &
    '}'//nl

contains

  !> Makes the particles, of three coordinates each.
  subroutine create_particles(dust, count)
    type(particles), intent(out) :: dust
    integer, intent(in) :: count

    integer(i64) :: bytes

    bytes = 3*storage_size(1.0_sp)/8*int(count, i64)
    dust%positions = create_unified_buffer(bytes, BUFFER_READ_WRITE)
    dust%velocities = create_unified_buffer(bytes, BUFFER_READ_WRITE)
    call get_pointer(dust%positions, dust%position, [3, count])
    call get_pointer(dust%velocities, dust%velocity, [3, count])
    dust%shader = create_compute_shader(source)
  end subroutine create_particles

  subroutine move_particles(dust)
    type(particles), intent(inout) :: dust

    call sync_to_gpu(dust%positions)
    call sync_to_gpu(dust%velocities)
    call bind_buffer_to_shader(dust%positions, 0)
    call bind_buffer_to_shader(dust%velocities, 1)
    call dispatch_compute(dust%shader, (size(dust%position) + 255)/256)
    call sync_from_gpu(dust%positions)
  end subroutine move_particles

  subroutine destroy_particles(dust)
    type(particles), intent(inout) :: dust

    call destroy_unified_buffer(dust%positions)
    call destroy_unified_buffer(dust%velocities)
    call destroy_compute_shader(dust%shader)
  end subroutine destroy_particles

end module swarm

program phase2_direct_access
  use example_gpu, only: stop_without_gpu
  use gpu_unified_buffers
  use kinds, only: sp
  use swarm, only: create_particles, destroy_particles, move_particles, particles
  implicit none

  integer, parameter :: count = 20000, steps = 50
  type(particles) :: dust
  type(transfer_statistics) :: counts
  real(sp) :: position(3, count), velocity(3, count)  ! the same without a GPU
  integer :: step

  call stop_without_gpu()
  call create_particles(dust, count)
  call random_number(position)
  call random_number(velocity)
  dust%position = position
  dust%velocity = velocity
  do step = 1, steps
    call move_particles(dust)
    call turn_back(dust%position, dust%velocity)
    position = position + velocity*0.125_sp
    call turn_back(position, velocity)
  end do
  if (.not. all(abs(dust%position - position) <= 1e-4_sp)) error stop 'phase2: a wrong result'
  call destroy_particles(dust)
  counts = total_statistics()
  print '(i0, a, i0, a)', steps, ' steps in place: ', counts%bytes_moved, ' bytes moved between memories'

contains

  !> Turns a particle back at the walls of a box, in place where the swarm's memory is given.
  elemental subroutine turn_back(where, speed)
    real(sp), intent(in) :: where
    real(sp), intent(inout) :: speed

    if (where < 0) speed = abs(speed)
    if (where > 1) speed = -abs(speed)
  end subroutine turn_back

end program phase2_direct_access
