!> transitions_test DEVICE TABLE: states move as the one table of all languages tells: see tests/support/state_story.inc.
program transitions_test
  use checks
  use gpu_unified_buffers
  use kinds
  implicit none

  integer :: status
  character(500) :: message

  call set_gpu_device(argument(1), stat=status, errmsg=message)
  if (status /= STATUS_OK) call skip(trim(message))
  call follow('with_a_device')
  call finish()

contains

  !> Plays the story from its first write on: a buffer has the host's copy before anybody accesses it here.
  subroutine follow(story)
    character(*), intent(in) :: story

    type(unified_buffer) :: buffer
    character(200) :: line
    character(32) :: words(4)
    integer :: table, last
    logical :: begun

    begun = .false.
    buffer = create_unified_buffer(5000_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    open (newunit=table, file=argument(2), action='read', status='old')
    do
      read (table, '(a)', iostat=last) line
      if (last /= 0) exit
      if (index(line, 'UNIBUF_STEP(' // story // ',') /= 1) cycle
      words = words_of(line(index(line, '(') + 1:index(line, ')') - 1))
      if (begun) call check(state_of(buffer) == words(3), 'before ' // trim(words(2)) // ': ' // trim(words(3)))
      begun = begun .or. words(2) == 'write_at_host'
      if (.not. begun) cycle
      call play(buffer, trim(words(2)))
      call check(state_of(buffer) == words(4), 'after ' // trim(words(2)) // ': ' // trim(words(4)))
    end do
    close (table)
    call destroy_unified_buffer(buffer)
  end subroutine follow

  !> Returns what commas separate.
  function words_of(text) result(words)
    character(*), intent(in) :: text
    character(32) :: words(4)

    integer :: begin, i, length

    begin = 1
    do i = 1, size(words)
      length = index(text(begin:) // ',', ',') - 1
      words(i) = adjustl(text(begin:begin + length - 1))
      begin = begin + length + 1
    end do
  end function words_of

  !> Returns the name of the state as the table writes it.
  function state_of(buffer) result(name)
    type(unified_buffer), intent(in) :: buffer
    character(32) :: name

    integer :: i

    name = buffer_state_name(buffer_state(buffer))
    do i = 1, len_trim(name)
      if (name(i:i) >= 'A' .and. name(i:i) <= 'Z') name(i:i) = achar(iachar(name(i:i)) + 32)
    end do
  end function state_of

  !> Does what the table calls a verb. A program in Fortran has no pointer for reading, and names the GPU's copy by a
  !> lease: these are leases here.
  subroutine play(buffer, verb)
    type(unified_buffer), intent(in) :: buffer
    character(*), intent(in) :: verb

    select case (verb)
    case ('read_at_host', 'have_host_to_read')
      call lease(buffer, 'host', ACCESS_READ)
    case ('write_at_host')
      call lease(buffer, 'host', ACCESS_WRITE)
    case ('read_write_at_host')
      call lease(buffer, 'host', ACCESS_READ_WRITE)
    case ('write_part_at_host')
      call lease(buffer, 'host', ACCESS_WRITE, 50_i64)
    case ('read_at_device', 'have_device')
      call lease(buffer, gpu_device(), ACCESS_READ)
    case ('write_at_device')
      call lease(buffer, gpu_device(), ACCESS_WRITE)
    case ('read_write_at_device')
      call lease(buffer, gpu_device(), ACCESS_READ_WRITE)
    case ('write_part_at_device')
      call lease(buffer, gpu_device(), ACCESS_WRITE, 0_i64, 9_i64)
    case ('sync_to_host')
      call sync_from_gpu(buffer)
    case ('sync_to_device', 'prefetch_to_device')
      call sync_to_gpu(buffer)
    case ('mark_host')
      call mark_host_dirty(buffer)
    case ('mark_device')
      call mark_device_dirty(buffer)
    case ('fill')
      call fill_buffer(buffer, 1_i8)
    case ('copy_part_from')
      call write_buffer(buffer, 3_i8, 7_i64)
    case default
      call check(.false., verb // ' is a verb that this test does not know')
    end select

  end subroutine play

  !> Takes a lease, and ends it.
  subroutine lease(buffer, where, access, offset, size)
    type(unified_buffer), intent(in) :: buffer
    character(*), intent(in) :: where
    integer, intent(in) :: access
    integer(i64), intent(in), optional :: offset, size

    call release_buffer(acquire_buffer(buffer, where, access, offset, size))
  end subroutine lease

end program transitions_test
