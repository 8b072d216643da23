!> turns_test: whose turn it is with a buffer that shaders use, at leases, views, pools and refusals.
program turns_test
  use checks
  use gpu_compute_shaders
  use gpu_unified_buffers
  use kinds
  implicit none

  integer, parameter :: n = 4096
  integer(i64), parameter :: bytes = 4*n
  character, parameter :: new = new_line('a')
  type(compute_shader) :: increment
  integer :: status, hint, numbers(n)
  character(500) :: message

  increment = create_compute_shader( &
              '#version 450' // new // 'layout(local_size_x = 64) in;' // new // &
              'layout(std430, binding = 0) buffer numbers { int a[]; };' // new // &
              'void main() { a[gl_GlobalInvocationID.x] += 1; }', stat=status, errmsg=message)
  if (status == STATUS_DEVICE_UNAVAILABLE) call skip(trim(message))
  do hint = MEMORY_CPU_PREFERRED, MEMORY_STREAMING
    call taken_back()
    call leased_twice()
    call leased_in_part()
    call leased_at_another_device()
    call leased_and_destroyed()
    call fetched_once()
    call handle_given_back()
    call kept_pointer()
    call filled_under_a_pointer()
    call flushed_where_the_gpu_is_newer()
    call refused_dispatch()
    call unread()
    call refused_binding()
    call refused_release()
    call released_with_a_view()
  end do
  call ranges()
  call destroy_compute_shader(increment)
  call finish()

contains

  !> Returns a buffer of ones that is bound to a shader.
  function bound() result(buffer)
    type(unified_buffer) :: buffer

    buffer = create_unified_buffer(bytes, BUFFER_READ_WRITE, hint)
    call bind_buffer_to_shader(buffer, 0)
    call write_buffer(buffer, spread(1, 1, n))
  end function bound

  subroutine dispatch()
    call dispatch_compute(increment, n/64)
  end subroutine dispatch

  subroutine succeeded(what)
    character(*), intent(in) :: what

    character(13), parameter :: names(4) = [character(13) :: 'cpu_preferred', 'gpu_preferred', 'coherent', 'streaming']

    if (status /= STATUS_OK) print '(a)', trim(message)
    call check(status == STATUS_OK, what // ' (' // trim(names(hint)) // ')')
  end subroutine succeeded

  subroutine has(buffer, value, what)
    type(unified_buffer), intent(in) :: buffer
    integer, intent(in) :: value
    character(*), intent(in) :: what

    call read_buffer(buffer, numbers, stat=status, errmsg=message)
    if (any(numbers /= value)) then
      status = -1
      message = 'the content is another'
    end if
    call succeeded(what)
  end subroutine has

  subroutine taken_back()
    type(unified_buffer) :: buffer

    buffer = bound()
    call dispatch()
    call has(buffer, 2, 'a shader has run')
    call dispatch()
    call release_gpu_handle(buffer)
    call has(buffer, 3, 'what shaders did before release_gpu_handle is there')
    call destroy_unified_buffer(buffer)
  end subroutine taken_back

  subroutine leased_twice()
    type(unified_buffer) :: buffer
    type(buffer_lease) :: first, second

    buffer = bound()
    call dispatch()
    first = acquire_buffer(buffer, 'host', ACCESS_READ)
    second = acquire_buffer(buffer, 'host', ACCESS_READ, offset=1024_i64, stat=status, errmsg=message)
    call succeeded('leases that read do not exclude each other')
    call has(buffer, 2, 'nor does read_buffer')
    if (status == STATUS_OK) call release_buffer(first, stat=status, errmsg=message)
    call succeeded('one of them ends')
    if (status == STATUS_OK) call release_buffer(second, stat=status, errmsg=message)
    call succeeded('and the other')
    call dispatch()
    call has(buffer, 3, 'then it is the turn of shaders')
    call destroy_unified_buffer(buffer)
  end subroutine leased_twice

  subroutine leased_in_part()
    type(unified_buffer) :: buffer
    type(buffer_lease) :: lease
    integer, pointer, contiguous :: part(:) => null()

    buffer = bound()
    lease = acquire_buffer(buffer, 'host', ACCESS_READ_WRITE, size=bytes/2)
    call write_buffer(buffer, spread(5, 1, n/2), int(n/2, i64))
    call sync_to_gpu(buffer, stat=status, errmsg=message)
    call succeeded('sync_to_gpu leaves out what is leased')
    call get_pointer(lease, part)
    part = 5
    call release_buffer(lease)
    call dispatch()
    call has(buffer, 6, 'a shader sees what was written under a lease, and beside it')
    call destroy_unified_buffer(buffer)
  end subroutine leased_in_part

  subroutine leased_at_another_device()
    type(unified_buffer) :: buffer
    type(buffer_lease) :: lease
    integer, pointer, contiguous :: there(:) => null()

    buffer = bound()
    lease = acquire_buffer(buffer, 'debug:0', ACCESS_READ)
    call release_buffer(lease)
    call dispatch()
    lease = acquire_buffer(buffer, 'debug:0', ACCESS_READ_WRITE)
    call get_pointer(lease, there)
    if (any(there /= 2)) status = -1
    call succeeded('a lease at another device sees what a shader wrote')
    there = 7
    call release_buffer(lease)
    call dispatch()
    call has(buffer, 8, 'and a shader what was written there')
    call destroy_unified_buffer(buffer)
  end subroutine leased_at_another_device

  subroutine leased_and_destroyed()
    type(unified_buffer) :: buffer, view
    type(buffer_lease) :: lease
    integer, pointer, contiguous :: part(:) => null()

    buffer = bound()
    view = view_buffer(buffer, 0_i64, bytes)
    call bind_buffer_to_shader(view, 0)
    lease = acquire_buffer(buffer, 'host', ACCESS_WRITE)
    call destroy_unified_buffer(buffer)
    call get_pointer(lease, part)
    part = 3
    call release_buffer(lease)
    call dispatch()
    call has(view, 4, 'a shader sees what was written under a lease of a handle that has ended')
    call destroy_unified_buffer(view)
  end subroutine leased_and_destroyed

  !> After one dispatch each byte comes once, whoever asks for it, and whether or not the GPU's handle is out.
  subroutine fetched_once()
    type(unified_buffer) :: buffer
    type(transfer_statistics) :: before, after
    integer, pointer, contiguous :: p(:) => null()
    integer(i64) :: most
    integer :: round

    do round = 1, 2
      buffer = bound()
      if (round == 2) then
        if (get_gpu_handle(buffer) == 0) status = -1
      end if
      call dispatch()
      before = buffer_statistics(buffer)
      call sync_from_gpu(buffer)
      call has(buffer, 2, 'a shader has run')
      call get_pointer(buffer, p)
      call has(buffer, 2, 'and is not asked again')
      call get_pointer(buffer, p)
      if (round == 1) call sync_from_gpu(buffer)
      p(5) = 7
      call read_buffer(buffer, numbers)
      after = buffer_statistics(buffer)
      most = 0
      if (hint == MEMORY_GPU_PREFERRED) most = bytes
      call check(after%bytes_moved - before%bytes_moved == most, 'each byte comes once')
      call dispatch()
      call sync_from_gpu(buffer)
      call check(p(5) == 8 .and. p(6) == 3, 'a dispatch takes along what pointers wrote')
      call destroy_unified_buffer(buffer)
    end do
    buffer = create_unified_buffer(bytes, BUFFER_WRITE_ONLY, hint)
    call sync_from_gpu(buffer, stat=status, errmsg=message)
    call succeeded('sync_from_gpu of a buffer that the host only writes')
    call bind_buffer_to_shader(buffer, 0)
    call sync_from_gpu(buffer, stat=status, errmsg=message)
    call succeeded('and while it is bound')
    call destroy_unified_buffer(buffer)
  end subroutine fetched_once

  !> Once the program has given the GPU's handle back, the module tells of every shader again: a pointer stays the host's.
  subroutine handle_given_back()
    type(unified_buffer) :: buffer
    integer, pointer, contiguous :: p(:) => null()

    buffer = create_unified_buffer(bytes, BUFFER_READ_WRITE, hint)
    if (get_gpu_handle(buffer) == 0) status = -1
    call release_gpu_handle(buffer)
    call bind_buffer_to_shader(buffer, 0)
    call write_buffer(buffer, spread(1, 1, n))
    call get_pointer(buffer, p)
    p(1) = 2
    call read_buffer(buffer, numbers(:1))
    p(2) = 3
    call dispatch_compute(increment, n/64, stat=status, errmsg=message)
    call succeeded('a write through a pointer, after a read')
    call read_buffer(buffer, numbers)
    call check(numbers(1) == 3 .and. numbers(2) == 4 .and. numbers(3) == 2, 'a shader has seen both writes')
    call destroy_unified_buffer(buffer)
  end subroutine handle_given_back

  !> Where writes are not found, the host counts as written while a pointer is out: UNIBUF_TRACKING=off.
  subroutine kept_pointer()
    type(unified_buffer) :: buffer
    integer, pointer, contiguous :: p(:) => null()
    integer :: round

    buffer = bound()
    call get_pointer(buffer, p)
    p = 0
    call sync_to_gpu(buffer)
    do round = 1, 5
      call dispatch()
      call read_buffer(buffer, numbers(:n/2))
    end do
    call has(buffer, 5, 'a pointer that is kept does not undo what shaders write')
    call write_buffer(buffer, spread(10, 1, n))
    do round = 11, 13
      call dispatch()
      call has(buffer, round, 'nor after write_buffer')
    end do
    call get_pointer(buffer, p)
    do round = 1, 3
      p = 20*round
      call sync_to_gpu(buffer)
      call dispatch()
      call has(buffer, 20*round + 1, 'what is written through it after a read is there after sync_to_gpu')
    end do
    call dispatch()
    call release_gpu_handle(buffer)
    call bind_buffer_to_shader(buffer, 0)
    call has(buffer, 62, 'and what a shader wrote before another binding')
    call destroy_unified_buffer(buffer)
  end subroutine kept_pointer

  !> A pointer shows what was filled, and what it writes then is the newest, also where that was there before the fill.
  subroutine filled_under_a_pointer()
    integer :: elements(2), i, round
    integer, allocatable :: back(:)
    integer, pointer :: kept(:)
    type(unified_buffer) :: buffer

    elements = [64, n]
    do i = 1, 2
      do round = 1, 2
        buffer = create_unified_buffer(4_i64*elements(i), BUFFER_READ_WRITE, hint)
        call write_buffer(buffer, spread(1, 1, elements(i)))
        if (round == 2) call bind_buffer_to_shader(buffer, 0)
        call get_pointer(buffer, kept)
        call fill_buffer(buffer, 9, stat=status, errmsg=message)
        call succeeded('a buffer is filled under a pointer')
        call check(all(kept == 9), 'which shows it')
        kept(2) = 1
        if (round == 2) call dispatch_compute(increment, elements(i)/64)
        allocate (back(elements(i)))
        call read_buffer(buffer, back, stat=status, errmsg=message)
        call succeeded('and can be written')
        call check(back(1) == 9 + round - 1 .and. back(2) == round, 'with nothing lost')
        deallocate (back)
        call destroy_unified_buffer(buffer)
      end do
    end do
  end subroutine filled_under_a_pointer

  subroutine flushed_where_the_gpu_is_newer()
    type(unified_buffer) :: buffer

    buffer = bound()
    call dispatch()
    call flush_buffer_range(buffer, size=4, stat=status, errmsg=message)
    call has(buffer, 2, 'a flush puts nothing old over what the GPU wrote')
    call destroy_unified_buffer(buffer)
  end subroutine flushed_where_the_gpu_is_newer

  !> After a dispatch that is refused it is still the turn of the host's pointers.
  subroutine refused_dispatch()
    integer :: refused
    integer, pointer :: kept(:)
    type(compute_shader) :: two
    type(unified_buffer) :: buffer

    two = create_compute_shader( &
          '#version 450' // new // 'layout(local_size_x = 64) in;' // new // &
          'layout(std430, binding = 0) buffer first { int a[]; };' // new // &
          'layout(std430, binding = 7) buffer second { int b[]; };' // new // &
          'void main() { a[gl_GlobalInvocationID.x] += b[gl_GlobalInvocationID.x]; }')
    do refused = 1, 3
      buffer = bound()
      call dispatch()
      call get_pointer(buffer, kept)
      kept = 5
      select case (refused)
       case (1)
        call dispatch_compute(two, n/64, stat=status, errmsg=message)
       case (2)
        call dispatch_compute(increment, -1, stat=status, errmsg=message)
       case (3)
        call dispatch_compute(increment, n/64, uniforms=[uniform('none', 1)], stat=status, errmsg=message)
      end select
      call check(status /= STATUS_OK, 'a dispatch is refused: ' // trim(message))
      kept = 6
      call dispatch_compute(increment, n/64, stat=status, errmsg=message)
      call succeeded('what a pointer writes after that is taken')
      call has(buffer, 7, 'by the next dispatch')
      call destroy_unified_buffer(buffer)
    end do
    call destroy_compute_shader(two)
  end subroutine refused_dispatch

  !> The host does not read what was created for it to write only, whatever came before.
  subroutine unread()
    integer, pointer :: kept(:)
    type(unified_buffer) :: buffer

    buffer = create_unified_buffer(bytes, BUFFER_WRITE_ONLY, hint)
    call write_buffer(buffer, spread(1, 1, n))
    call bind_buffer_to_shader(buffer, 0)
    call get_pointer(buffer, kept)
    kept = 2
    call read_buffer(buffer, numbers, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT, 'a buffer of the host''s output is not read: ' // trim(message))
    call destroy_unified_buffer(buffer)
  end subroutine unread

  subroutine refused_binding()
    type(unified_buffer) :: buffer
    type(transfer_statistics) :: before, after

    buffer = create_unified_buffer(bytes, BUFFER_READ_WRITE, hint)
    call write_buffer(buffer, spread(1, 1, n))
    call bind_buffer_to_shader(buffer, 100000, stat=status)
    before = buffer_statistics(buffer)
    call read_buffer(buffer, numbers)
    after = buffer_statistics(buffer)
    call check(status /= STATUS_OK .and. after%bytes_moved == before%bytes_moved .and. &
               after%publications == before%publications, 'after a binding that was refused there are no turns')
    call destroy_unified_buffer(buffer)
  end subroutine refused_binding

  subroutine refused_release()
    type(buffer_pool) :: pool, other
    type(unified_buffer) :: buffer

    pool = create_buffer_pool()
    other = create_buffer_pool()
    buffer = acquire_buffer(pool, bytes, BUFFER_READ_WRITE, hint)
    call bind_buffer_to_shader(buffer, 0)
    call dispatch()
    call has(buffer, 1, 'a shader has written a buffer of a pool')
    call release_buffer(other, buffer, stat=status)
    call check(status == STATUS_INVALID_ARGUMENT, 'another pool does not take it')
    call dispatch()
    call has(buffer, 2, 'a release that was refused leaves the turns')
    call release_buffer(pool, buffer)
    call destroy_buffer_pool(pool)
    call destroy_buffer_pool(other)
  end subroutine refused_release

  subroutine released_with_a_view()
    type(buffer_pool) :: pool
    type(unified_buffer) :: buffer, view

    pool = create_buffer_pool()
    buffer = acquire_buffer(pool, bytes, BUFFER_READ_WRITE, hint)
    view = view_buffer(buffer, 0_i64, bytes)
    call bind_buffer_to_shader(view, 0)
    call release_buffer(pool, buffer, stat=status, errmsg=message)
    call succeeded('a buffer goes back to its pool while shaders use a view of it')
    call dispatch()
    call has(view, 1, 'the view goes on')
    buffer = acquire_buffer(pool, bytes, BUFFER_READ_WRITE, hint)
    call has(buffer, 0, 'and the next one is another')
    call destroy_unified_buffer(view)
    call release_buffer(pool, buffer)
    call destroy_buffer_pool(pool)
  end subroutine released_with_a_view

  subroutine ranges()
    type(unified_buffer) :: buffer

    hint = MEMORY_GPU_PREFERRED
    buffer = bound()
    call sync_to_gpu(buffer, 8_i64, bytes, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE, 'a range past the end of a bound buffer: ' // trim(message))
    call sync_from_gpu(buffer, bytes + 1, stat=status, errmsg=message)
    call check(status == STATUS_OUT_OF_RANGE, 'or behind it: ' // trim(message))
    call destroy_unified_buffer(buffer)
  end subroutine ranges

end program turns_test
