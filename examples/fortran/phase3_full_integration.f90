!> Migration, phase 3: designed around shared memory. Frames stream through two slots: while the GPU works on one, the
!> host fills the next and takes the one before from where it lies. Slots are of a pool, for the next stream to use.
module streams
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds, only: dp, i64, sp
  implicit none
  private
  public :: total_power

  type :: slot
    type(unified_buffer) :: input, output
    real(sp), pointer, contiguous :: samples(:) => null()
    real(sp), pointer, contiguous :: powers(:) => null()
    type(gpu_fence) :: done
  end type slot

contains

  !> Returns the sum of the squares of all samples of that many frames, which the GPU squares.
  function total_power(shader, pool, frames, length) result(total)
    type(compute_shader), intent(in) :: shader
    type(buffer_pool), intent(in) :: pool
    integer, intent(in) :: frames, length
    real(dp) :: total

    type(slot) :: slots(0:1)
    integer(i64) :: bytes
    integer :: frame, i

    bytes = storage_size(1.0_sp)/8*int(length, i64)
    do i = 0, 1
      slots(i)%input = acquire_buffer(pool, bytes, BUFFER_WRITE_ONLY, MEMORY_STREAMING)
      slots(i)%output = acquire_buffer(pool, bytes, BUFFER_READ_ONLY)
      call get_pointer(slots(i)%input, slots(i)%samples)
      call get_pointer(slots(i)%output, slots(i)%powers)
    end do
    total = 0
    do frame = 1, frames + 1
      associate (now => slots(mod(frame, 2)), before => slots(mod(frame + 1, 2)))
        if (frame <= frames) call fill(now, frame)
        if (frame > 1) call wait_for(before)
        if (frame <= frames) call submit(shader, now)
        if (frame > 1) total = total + sum(real(before%powers, dp))
      end associate
    end do
    do i = 0, 1
      call release_buffer(pool, slots(i)%input)
      call release_buffer(pool, slots(i)%output)
    end do
  end function total_power

  !> Fills a slot while the GPU is at work on the other one.
  subroutine fill(of, frame)
    type(slot), intent(inout) :: of
    integer, intent(in) :: frame

    of%samples = real(frame, sp)
    call sync_to_gpu(of%input)
  end subroutine fill

  subroutine submit(shader, of)
    type(compute_shader), intent(in) :: shader
    type(slot), intent(inout) :: of

    call bind_buffer_to_shader(of%input, 0)
    call bind_buffer_to_shader(of%output, 1)
    call dispatch_compute(shader, (size(of%samples) + 255)/256)
    of%done = gpu_fence_create()
  end subroutine submit

  !> Waits a second at most: then something is wrong, and the program stops.
  subroutine wait_for(of)
    type(slot), intent(inout) :: of

    call gpu_fence_wait(of%done, timeout_ns=1000000000_i64)
    call gpu_fence_destroy(of%done)
    call sync_from_gpu(of%output)
  end subroutine wait_for

end module streams

program phase3_full_integration
  use example_gpu, only: stop_without_gpu
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds, only: dp
  use streams, only: total_power
  implicit none

  character, parameter :: nl = new_line('a')
  character(*), parameter :: source = &
    '#version 450'//nl// &
    'layout(local_size_x = 256) in;'//nl// &
    'layout(std430, binding = 0) readonly buffer samples { float from[]; };'//nl// &
    'layout(std430, binding = 1) writeonly buffer powers { float to[]; };'//nl// &
    'void main() {'//nl// &
    '  const uint i = gl_GlobalInvocationID.x;'//nl// &
    '  if (i < from.length()) to[i] = from[i] * from[i];'//nl// &
    '}'//nl
  integer, parameter :: length = 100000, frames = 9, number_of_streams = 4
  real(dp), parameter :: expected = length*real(frames*(frames + 1)*(2*frames + 1)/6, dp)
  type(compute_shader) :: shader
  type(buffer_pool) :: pool
  type(pool_statistics) :: reuse
  type(transfer_statistics) :: counts
  integer :: i

  call stop_without_gpu()
  shader = create_compute_shader(source)
  pool = create_buffer_pool()
  do i = 1, number_of_streams
    if (abs(total_power(shader, pool, frames, length) - expected) > 0) error stop 'phase3: a wrong result'
  end do
  reuse = get_pool_statistics(pool)
  counts = total_statistics()
  call destroy_buffer_pool(pool)
  print '(5(i0, a))', number_of_streams, ' streams of ', frames, ' frames: ', counts%bytes_moved, &
    ' bytes moved between memories, ', reuse%misses, ' buffers made and ', reuse%hits, ' used again'
end program phase3_full_integration
