!> shader_threads_test: threads bind, dispatch and read, each with buffers of its own.
program shader_threads_test
  use checks
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds
  implicit none

  integer, parameter :: threads = 4, rounds = 50, n = 4096
  character, parameter :: new = new_line('a')
  type(compute_shader) :: scaling
  type(unified_buffer) :: numbers, scaled
  integer :: wrong, status
  real(sp) :: back(n)
  character(500) :: message

  scaling = create_compute_shader( &
            '#version 450' // new // 'layout(local_size_x = 64) in;' // new // &
            'layout(std430, binding = 0) readonly buffer from_numbers { float a[]; };' // new // &
            'layout(std430, binding = 1) writeonly buffer to_numbers { float b[]; };' // new // &
            'uniform float factor = 2.0; uniform int more; uniform uint bits; uniform double fine;' // new // &
            'void main() { uint i = gl_GlobalInvocationID.x;' // new // &
            'b[i] = factor*a[i] + float(more) + float(bits) + float(fine); }', stat=status, errmsg=message)
  if (status == STATUS_DEVICE_UNAVAILABLE) call skip(trim(message))
  call bound_by_one()
  call bound_by_each()
  call passed()
  call refusals()
  call finish()

contains

  subroutine bound_by_each()
    type(unified_buffer) :: from, to
    real(sp) :: x(n), y(n)
    integer :: thread, round

    wrong = 0
    !$omp parallel do num_threads(threads) private(from, to, x, y, round) reduction(+:wrong) schedule(static, 1)
    do thread = 1, threads
      from = create_unified_buffer(4_i64*n, BUFFER_WRITE_ONLY)
      to = create_unified_buffer(4_i64*n, BUFFER_READ_ONLY, MEMORY_GPU_PREFERRED)
      do round = 1, rounds
        x = real(thread*1000 + round, sp)
        call write_buffer(from, x)
        call bind_buffer_to_shader(from, 0)
        call bind_buffer_to_shader(to, 1)
        call dispatch_compute(scaling, n/64)
        call read_buffer(to, y)
        if (any(y /= 2*x)) wrong = wrong + 1
      end do
      call destroy_unified_buffer(from)
      call destroy_unified_buffer(to)
    end do
    call check(wrong == 0, 'bindings are the thread''s own')
  end subroutine bound_by_each

  !> Binds once, on one thread, for shaders of others.
  subroutine bound_by_one()
    numbers = create_unified_buffer(4_i64*n, BUFFER_WRITE_ONLY, MEMORY_GPU_PREFERRED)
    scaled = create_unified_buffer(4_i64*n, BUFFER_READ_ONLY, MEMORY_GPU_PREFERRED)
    call write_buffer(numbers, spread(3.0_sp, 1, n))
    call bind_buffer_to_shader(numbers, 0)
    call bind_buffer_to_shader(scaled, 1)
    wrong = 0
    !$omp parallel num_threads(2) private(status) reduction(+:wrong)
    !$omp critical
    call dispatch_compute(scaling, n/64, stat=status)
    if (status /= STATUS_OK) wrong = wrong + 1
    !$omp end critical
    !$omp end parallel
    call read_buffer(scaled, back)
    call check(wrong == 0 .and. all(back == 6), 'a thread that has bound nothing uses what others bound')
  end subroutine bound_by_one

  subroutine passed()
    type(unified_buffer) :: from, to
    type(transfer_statistics) :: before, after
    real(sp) :: x(n), y(n)
    integer :: thread, round

    wrong = 0
    !$omp parallel do num_threads(threads) private(from, to, x, y, round) reduction(+:wrong) schedule(static, 1)
    do thread = 1, threads
      from = create_unified_buffer(4_i64*n, BUFFER_WRITE_ONLY)
      to = create_unified_buffer(4_i64*n, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
      do round = 1, rounds
        x = real(thread*1000 + round, sp)
        call write_buffer(from, x)
        call dispatch_compute(scaling, n/64, buffers=[from, to], uniforms=[uniform('factor', real(thread, sp)), &
                              uniform('more', round), uniform('bits', 2), uniform('fine', 0.5_dp)])
        call read_buffer(to, y)
        if (any(y /= thread*x + round + 2.5)) wrong = wrong + 1
      end do
      call destroy_unified_buffer(from)
      call destroy_unified_buffer(to)
    end do
    call check(wrong == 0, 'buffers and uniforms of a dispatch are its own')

    call bind_buffer_to_shader(numbers, 0)
    call bind_buffer_to_shader(scaled, 1)
    call dispatch_compute(scaling, n/64, uniforms=[uniform('factor', 2.0_sp), uniform('more', 0), uniform('bits', 0), &
                          uniform('fine', 0.0_dp)])
    call read_buffer(scaled, back)
    call check(all(back == 6), 'and leave what is bound')

    to = create_unified_buffer(4_i64*n, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call dispatch_compute(scaling, n/64, buffers=[numbers, to])
    call read_buffer(to, y)
    before = buffer_statistics(to)
    call read_buffer(to, y)
    call dispatch_compute(scaling, n/64, buffers=[numbers, scaled])
    call read_buffer(to, y)
    after = buffer_statistics(to)
    call check(all(y == 6) .and. after%bytes_moved == before%bytes_moved, 'what no shader uses is not fetched again')
    call dispatch_compute(scaling, n/64, buffers=[to, to])
    call read_buffer(to, y)
    call check(all(y == 12), 'a buffer may be given twice')
    call destroy_unified_buffer(to)
  end subroutine passed

  subroutine refusals()
    type(unified_buffer) :: elsewhere
    type(buffer_lease) :: lease

    call refused([uniform('factro', 1.0_sp)], 'the uniform ''factro''')
    call refused([uniform('factor', 1)], 'is float, and was given an integer')
    call refused([uniform('more', 1.0_sp)], 'is int, and was given a real')
    call refused([uniform('fine', 1.0_sp)], 'is double, and was given a real')
    call read_buffer(scaled, back)
    call dispatch_compute(scaling, n/64, buffers=[numbers, scaled], stat=status, errmsg=message, &
                          uniforms=[uniform('more', 50), uniform('nothing', 1)])
    call dispatch_compute(scaling, n/64)
    call read_buffer(scaled, back)
    call check(all(back == 6), 'a dispatch that is refused sets no uniform')
    call dispatch_compute(scaling, n/64, buffers=[numbers], stat=status, errmsg=message)
    call told('binding 1, and 1 buffers were given')
    lease = acquire_buffer(scaled, 'host', ACCESS_READ)
    call dispatch_compute(scaling, n/64, stat=status, errmsg=message)
    call check(status == STATUS_ACCESS_CONFLICT, 'no shader uses what this thread has leased: ' // trim(message))
    call dispatch_compute(scaling, n/64, buffers=[numbers, scaled], stat=status, errmsg=message)
    call check(status == STATUS_ACCESS_CONFLICT, 'however it is passed')
    call release_buffer(lease)
    elsewhere = create_unified_buffer(4_i64*n, BUFFER_READ_WRITE)
    call bind_buffer_to_shader(elsewhere, 1)
    call destroy_unified_buffer(elsewhere)
    call dispatch_compute(scaling, n/64, stat=status, errmsg=message)
    call told('binding 1, to which no buffer is bound')
    call bind_buffer_to_shader(scaled, 1)
    call release_gpu_handle(scaled)
    call dispatch_compute(scaling, n/64, stat=status, errmsg=message)
    call told('binding 1, to which no buffer is bound')
    elsewhere = create_unified_buffer(4_i64*n, BUFFER_READ_WRITE, device='debug:0')
    call dispatch_compute(scaling, n/64, buffers=[numbers, elsewhere], stat=status, errmsg=message)
    call told('to use a buffer that is for debug:0')
    call destroy_unified_buffer(elsewhere)
    call destroy_unified_buffer(numbers)
    call dispatch_compute(scaling, n/64, buffers=[numbers, scaled], stat=status, errmsg=message)
    call told('destroyed')
    call destroy_unified_buffer(scaled)
    call destroy_compute_shader(scaling)
  end subroutine refusals

  subroutine refused(uniforms, what)
    type(shader_uniform), intent(in) :: uniforms(:)
    character(*), intent(in) :: what

    call dispatch_compute(scaling, n/64, buffers=[numbers, scaled], uniforms=uniforms, stat=status, errmsg=message)
    call told(what)
  end subroutine refused

  subroutine told(what)
    character(*), intent(in) :: what

    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, what) /= 0, trim(message))
  end subroutine told

end program shader_threads_test
