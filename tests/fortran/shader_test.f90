!> shader_test VENDOR: shaders and the host take turns with a buffer, and neither sees what is stale.
program shader_test
  use, intrinsic :: iso_c_binding, only: c_f_pointer
  use checks
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds
  implicit none

  integer, parameter :: n = 4096
  integer(i64), parameter :: bytes = 4*n
  type(compute_shader) :: doubling, slow
  integer :: status, hint
  character(500) :: message
  integer :: i
  integer :: numbers(n) = [(i, i=1, n)]

  doubling = create_compute_shader(source('b[i] = 2*a[i];'), stat=status, errmsg=message)
  if (status == STATUS_DEVICE_UNAVAILABLE) call skip(trim(message))
  slow = create_compute_shader(source('int x = a[i]; for (int k = 0; k < 20000; ++k) x = x*3 + k; b[i] = x;'))
  do hint = MEMORY_CPU_PREFERRED, MEMORY_STREAMING
    call input_and_output()
    call in_place()
    call pointers()
    call waiting()
    call through_views()
  end do
  call mappings()
  call zero_copy()
  call given_back()
  call handles()
  call refusals()
  call destroy_compute_shader(doubling)
  call destroy_compute_shader(slow)
  call destroy_compute_shader(slow, stat=status)
  call check(status == STATUS_INVALID_ARGUMENT, 'a shader ends once')
  call finish()

contains

  !> A shader with a line for each number.
  function source(line)
    character(*), intent(in) :: line
    character(:), allocatable :: source

    character, parameter :: new = new_line('a')

    source = '#version 450' // new // 'layout(local_size_x = 64) in;' // new // &
             'layout(std430, binding = 0) readonly buffer input_numbers { int a[]; };' // new // &
             'layout(std430, binding = 1) buffer output_numbers { int b[]; };' // new // &
             'void main() { uint i = gl_GlobalInvocationID.x; if (i < a.length()) {' // line // '} }'
  end function source

  subroutine dispatch(shader)
    type(compute_shader), intent(in) :: shader

    call dispatch_compute(shader, n/64)
  end subroutine dispatch

  function with_hint() result(text)
    character(:), allocatable :: text

    character(*), parameter :: names(4) = [character(13) :: 'cpu_preferred', 'gpu_preferred', 'coherent', 'streaming']

    text = ' (' // trim(names(hint)) // ')'
  end function with_hint

  subroutine input_and_output()
    type(unified_buffer) :: input, output
    integer :: round, back(n)
    logical :: right

    input = create_unified_buffer(bytes, BUFFER_WRITE_ONLY, hint)
    output = create_unified_buffer(bytes, BUFFER_READ_ONLY, hint)
    call bind_buffer_to_shader(input, 0)
    call bind_buffer_to_shader(output, 1)
    right = .true.
    do round = 1, 4
      call write_buffer(input, round*numbers)
      call dispatch(doubling)
      call read_buffer(output, back)
      right = right .and. all(back == 2*round*numbers)
    end do
    call check(right, 'buffers that were bound once stay coherent round after round' // with_hint())
    call write_buffer(input, [7], 100_i64)
    call dispatch(doubling)
    call read_buffer(output, back(:1), 100_i64)
    call check(back(1) == 14, 'a part is written and read' // with_hint())
    call destroy_unified_buffer(input)
    call destroy_unified_buffer(output)
  end subroutine input_and_output

  subroutine in_place()
    type(unified_buffer) :: both
    integer :: back(n)

    both = create_unified_buffer(bytes, BUFFER_READ_WRITE, hint)
    call write_buffer(both, numbers)
    call bind_buffer_to_shader(both, 0)
    call bind_buffer_to_shader(both, 1)
    call dispatch(doubling)
    call dispatch(doubling)
    call read_buffer(both, back)
    call check(all(back == 4*numbers), 'a shader sees what the one before it wrote' // with_hint())
    call write_buffer(both, [5], int(n - 1, i64))
    call dispatch(doubling)
    call read_buffer(both, back)
    call check(all(back(:n - 1) == 8*numbers(:n - 1)) .and. back(n) == 10, &
               'what the host writes in one place leaves the rest as the shader had it' // with_hint())
    call fill_buffer(both, 3)
    call dispatch(doubling)
    call read_buffer(both, back)
    call check(all(back == 6), 'a shader sees what was filled' // with_hint())
    call destroy_unified_buffer(both)
  end subroutine in_place

  subroutine pointers()
    type(unified_buffer) :: both
    integer, pointer :: p(:)

    both = create_unified_buffer(bytes, BUFFER_READ_WRITE, hint)
    call bind_buffer_to_shader(both, 0)
    call bind_buffer_to_shader(both, 1)
    call get_pointer(both, p)
    p = numbers
    call sync_to_gpu(both)
    call dispatch(doubling)
    call sync_from_gpu(both)
    call check(all(p == 2*numbers), 'a pointer sees what the shader wrote, after sync_from_gpu' // with_hint())
    p(1:10) = 0
    call flush_buffer_range(both, 0_i64, 40)
    call dispatch(doubling)
    call get_pointer(both, p)
    call check(all(p(1:10) == 0) .and. all(p(11:) == 4*numbers(11:)), &
               'a shader sees what was flushed, and a new pointer what it wrote' // with_hint())
    call destroy_unified_buffer(both)
  end subroutine pointers

  subroutine waiting()
    type(unified_buffer) :: input, output
    integer :: first(n), second(n)

    input = create_unified_buffer(bytes, BUFFER_WRITE_ONLY, hint)
    output = create_unified_buffer(bytes, BUFFER_READ_ONLY, hint)
    call bind_buffer_to_shader(input, 0)
    call bind_buffer_to_shader(output, 1)
    call write_buffer(input, numbers)
    call dispatch(slow)
    call read_buffer(output, first)
    call write_buffer(input, numbers)
    call dispatch(slow)
    call write_buffer(input, spread(0, 1, n))
    call read_buffer(output, second)
    call check(all(first == second), 'a write waits for the shader that reads what was there' // with_hint())
    call destroy_unified_buffer(input)
    call destroy_unified_buffer(output)
  end subroutine waiting

  subroutine through_views()
    type(unified_buffer) :: both, upper
    integer :: back(n)

    both = create_unified_buffer(bytes, BUFFER_READ_WRITE, hint)
    upper = view_buffer(both, bytes/2, bytes/2)
    call bind_buffer_to_shader(both, 0)
    call bind_buffer_to_shader(both, 1)
    call write_buffer(both, numbers)
    call dispatch(doubling)
    call read_buffer(upper, back(:n/2))
    call check(all(back(:n/2) == 2*numbers(n/2 + 1:)), 'a view sees what a shader wrote into its buffer' // with_hint())
    call release_gpu_handle(both)
    call bind_buffer_to_shader(upper, 0)
    call bind_buffer_to_shader(upper, 1)
    call dispatch(doubling)
    call read_buffer(both, back)
    call check(all(back(:n/2) == 2*numbers(:n/2)) .and. all(back(n/2 + 1:) == 4*numbers(n/2 + 1:)), &
               'a buffer sees what a shader wrote into its view' // with_hint())
    call destroy_unified_buffer(upper)
    call destroy_unified_buffer(both)
  end subroutine through_views

  !> The document's table, for the maker of the driver that the argument names.
  subroutine mappings()
    character(:), allocatable :: writes, reads, both

    select case (argument(1))
    case ('amd')
      writes = 'to write, write-combined, coherent'
      reads = 'to read, cached, coherent'
      both = 'to read and write, cached, coherent'
    case ('nvidia')
      writes = 'to write, explicit flush'
      reads = 'to read, cached, made visible by a barrier'
      both = 'to read and write, cached, explicit flush'
    case default
      writes = 'to write, coherent'
      reads = 'to read, cached, coherent'
      both = 'to read and write, cached, coherent'
    end select
    call mapped(BUFFER_WRITE_ONLY, MEMORY_STREAMING, 'shared: asked for: streaming; mapped ' // writes)
    call mapped(BUFFER_READ_ONLY, MEMORY_CPU_PREFERRED, 'shared: asked for: cpu_preferred; mapped ' // reads)
    call mapped(BUFFER_READ_WRITE, MEMORY_STREAMING, 'shared: asked for: streaming; mapped ' // both)
    call mapped(BUFFER_READ_WRITE, MEMORY_COHERENT, &
                'shared: asked for: coherent; mapped to read and write, cached, coherent')
    call mapped(BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED, 'mirrored: asked for: gpu_preferred')
  end subroutine mappings

  subroutine mapped(access_mode, memory_hint, how)
    integer, intent(in) :: access_mode, memory_hint
    character(*), intent(in) :: how

    type(unified_buffer) :: buffer

    buffer = create_unified_buffer(64_i64, access_mode, memory_hint)
    call check(buffer_mapping(buffer) == how, buffer_mapping(buffer))
    call destroy_unified_buffer(buffer)
  end subroutine mapped

  subroutine zero_copy()
    type(unified_buffer) :: input, output
    type(transfer_statistics) :: before, after
    integer(i64) :: held
    integer :: back(n)

    held = memory_held()
    before = total_statistics()
    input = create_unified_buffer(bytes, BUFFER_WRITE_ONLY)
    output = create_unified_buffer(bytes, BUFFER_READ_ONLY)
    call bind_buffer_to_shader(input, 0)
    call bind_buffer_to_shader(output, 1)
    call write_buffer(input, numbers)
    call dispatch(doubling)
    call read_buffer(output, back)
    after = total_statistics()
    call check(after%bytes_moved == before%bytes_moved, 'no byte moves between host and GPU')
    call check(memory_held() - held == 2*bytes, 'each buffer is in memory once')
    call destroy_unified_buffer(input)
    call destroy_unified_buffer(output)
  end subroutine zero_copy

  subroutine given_back()
    type(unified_buffer) :: buffer
    type(transfer_statistics) :: before, after
    integer :: back(n), k

    buffer = create_unified_buffer(bytes, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call bind_buffer_to_shader(buffer, 0)
    call write_buffer(buffer, numbers)
    call release_gpu_handle(buffer)
    call read_buffer(buffer, back)  ! what shaders did until then
    before = buffer_statistics(buffer)
    do k = 1, 5
      call read_buffer(buffer, back)
    end do
    after = buffer_statistics(buffer)
    call check(after%bytes_moved == before%bytes_moved, 'after release_gpu_handle the GPU counts as idle')
    call destroy_unified_buffer(buffer)
  end subroutine given_back

  subroutine handles()
    type(unified_buffer) :: buffer, view
    integer(i64) :: offset

    buffer = create_unified_buffer(bytes, BUFFER_READ_WRITE)
    view = view_buffer(buffer, 256_i64, 256_i64)
    call check(get_gpu_handle(buffer) > 0, 'a buffer has a name in OpenGL')
    call check(get_gpu_handle(view, offset) == get_gpu_handle(buffer) .and. offset == 256, 'a view lies inside it')
    call destroy_unified_buffer(view)
    call destroy_unified_buffer(buffer)
  end subroutine handles

  subroutine refusals()
    type(unified_buffer) :: buffer, view
    type(compute_shader) :: broken

    buffer = create_unified_buffer(bytes, BUFFER_READ_WRITE)
    call bind_buffer_to_shader(buffer, -1, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE, 'a negative binding is refused: ' // trim(message))
    call bind_buffer_to_shader(buffer, 100000, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE, 'a binding that the context lacks: ' // trim(message))
    view = view_buffer(buffer, 1_i64, 8_i64)
    call bind_buffer_to_shader(view, 0, stat=status, errmsg=message)
    call check(status == STATUS_UNSUPPORTED, 'a view that begins where no binding may: ' // trim(message))
    call destroy_unified_buffer(view)
    call destroy_unified_buffer(buffer)

    broken = create_compute_shader('#version 450' // new_line('a') // 'void main() { nonsense }', stat=status, &
                                   errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'error') > 0, &
               'a shader that does not compile: ' // trim(message))
    call dispatch_compute(broken, 1, stat=status)
    call check(status == STATUS_INVALID_ARGUMENT, 'and cannot be dispatched')
    call dispatch_compute(doubling, -1, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE, 'a negative number of groups: ' // trim(message))
    broken = create_compute_shader(source(''), 'debug:0', stat=status, errmsg=message)
    call check(status == STATUS_UNSUPPORTED, 'a shader where there are none: ' // trim(message))
  end subroutine refusals

end program shader_test
