!> fence_test DEVICE: fences stand for the work that was submitted before.
program fence_test
  use checks
  use gpu_unified_buffers
  use kinds
  implicit none

  type(gpu_fence) :: fence, copy, never
  integer :: status
  character(500) :: message
  logical :: signaled

  call set_gpu_device(argument(1), stat=status, errmsg=message)
  if (status /= STATUS_OK) call skip(trim(message))

  call check(.not. gpu_fence_is_valid(never), 'a fence is not valid before it is created')
  fence = gpu_fence_create()
  copy = fence
  call check(gpu_fence_is_valid(fence), 'and is then')
  call gpu_fence_wait(fence, 10000000000_i64)
  call gpu_fence_wait(copy)
  call gpu_fence_wait(fence, 0_i64, signaled)
  call check(signaled, 'work that is done is done for all copies')
  call gpu_fence_wait(fence, -1_i64, stat=status, errmsg=message)
  call check(status == STATUS_INVALID_ARGUMENT, 'a negative timeout is refused: ' // trim(message))
  call gpu_fence_destroy(fence)
  call check(.not. gpu_fence_is_valid(copy), 'all copies end with one')
  call gpu_fence_wait(fence, 1_i64, stat=status, errmsg=message)
  call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'fence') > 0, 'a wait after that: ' // trim(message))
  call gpu_fence_destroy(fence, stat=status)
  call check(status == STATUS_INVALID_ARGUMENT, 'a fence ends once')
  fence = gpu_fence_create('nothing:0', stat=status, errmsg=message)
  call check(status == STATUS_INVALID_ARGUMENT .and. .not. gpu_fence_is_valid(fence), 'a fence of no device')
  if (argument(1) == 'opengl:0') call late()
  call finish()

contains

  !> Work that is not done yet.
  subroutine late()
    use gpu_compute_shaders
    type(compute_shader) :: long
    type(unified_buffer) :: buffer

    long = create_compute_shader('#version 450' // new_line('a') // 'layout(local_size_x = 64) in;' // &
                                 'layout(std430, binding = 0) buffer numbers { uint a[]; };' // &
                                 'void main() { uint x = gl_GlobalInvocationID.x;' // &
                                 'for (uint k = 0; k < 200000u; ++k) x = x*3u + k; a[gl_GlobalInvocationID.x] = x; }')
    buffer = create_unified_buffer(4_i64*65536, BUFFER_READ_WRITE)
    call bind_buffer_to_shader(buffer, 0)
    call dispatch_compute(long, 1024)
    fence = gpu_fence_create()
    call gpu_fence_wait(fence, 0_i64, signaled)
    if (signaled) print '(a)', 'not checked: a timeout; this driver was done before anybody could ask'
    call gpu_fence_wait(fence)
    call gpu_fence_wait(fence, 0_i64, signaled)
    call check(signaled, 'a fence stays usable after a look at it')
    call gpu_fence_destroy(fence)
    call destroy_unified_buffer(buffer)
    call destroy_compute_shader(long)
  end subroutine late

end program fence_test
