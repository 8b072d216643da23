!> halo_test: what the module unibuf_mpi does on several processes. All of them check; the first one that fails ends all.
program halo_test
  use, intrinsic :: iso_c_binding, only: c_int, c_long
  use checks
  use gpu_unified_buffers
  use kinds
  use mpi_f08
  use unibuf_mpi
  implicit none

  integer, parameter :: nx = 4, ny = 5
  integer, parameter :: sizes(2) = [8, 8]
  integer :: rank, ranks, status
  character(500) :: message
  type(halo) :: edges, last

  edges = create_halo(MPI_COMM_WORLD, [field(0.0_dp)], sizes(:1), [nx + 2, ny + 2], [0, 1], stat=status, errmsg=message)
  call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'before MPI_Init') > 0, 'MPI has not begun')
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call set_gpu_device('debug:0')
  call exchanges()
  call refusals()
  call messages()
  call long_messages()
  call no_memory()
  call handles()
  call MPI_Finalize()
  call send_buffer(field(0.0_dp), 0, 0, MPI_COMM_WORLD, stat=status, errmsg=message)
  call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'after MPI_Finalize') > 0, 'MPI has ended')
  edges = create_halo(MPI_COMM_WORLD, [field(0.0_dp)], sizes(:1), [nx + 2, ny + 2], [0, 1], stat=status, errmsg=message)
  call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'after MPI_Finalize') > 0, 'for halos, too')
  call begin_halo(last, stat=status, errmsg=message)
  call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'after MPI_Finalize') > 0, 'and for those that are left')
  call destroy_halo(last)
  call finish()

contains

  !> A field of nx + 2 times ny + 2 doubles that the device has: 100 * rank + i + 10 * j, and -1 at ghosts.
  function field(add) result(made)
    real(dp), intent(in) :: add
    type(unified_buffer) :: made
    type(buffer_lease) :: lease
    real(dp), pointer, contiguous :: cells(:, :)
    integer :: i, j

    made = create_unified_buffer(8_i64*(nx + 2)*(ny + 2), BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    lease = acquire_buffer(made, 'debug:0', ACCESS_WRITE)
    call get_pointer(lease, cells, [nx + 2, ny + 2])
    cells = -1
    do j = 1, ny
      do i = 1, nx
        cells(i + 1, j + 1) = 100*rank + i + 10*j + add
      end do
    end do
    call release_buffer(lease)
  end function field

  integer(i64) function moved(buffer)
    type(unified_buffer), intent(in) :: buffer
    type(transfer_statistics) :: made

    made = buffer_statistics(buffer)
    moved = made%bytes_moved
  end function moved

  subroutine exchanges()
    type(unified_buffer) :: first, second
    type(buffer_lease) :: lease
    type(halo) :: edges
    real(dp) :: cells(nx + 2, ny + 2)
    real(dp), parameter :: half = 0.5_dp
    integer :: left, right, other, towards(2)
    integer(i64) :: bytes, sent
    logical :: arrived

    left = modulo(rank - 1, ranks)
    right = modulo(rank + 1, ranks)
    first = field(0.0_dp)
    second = field(half)
    edges = create_halo(MPI_COMM_WORLD, [first, second], sizes, [nx + 2, ny + 2], [1, 0], periodic=[.true., .false.])
    call check(all(halo_coordinates(edges) == [rank, 0]) .and. all(halo_ranks(edges) == [ranks, 1]), 'the first axis is cut')

    lease = acquire_buffer(first, 'host', ACCESS_WRITE)
    call begin_halo(edges, stat=status, errmsg=message)
    call check(status == STATUS_ACCESS_CONFLICT, 'a side is leased')
    call release_buffer(lease)
    call destroy_halo(edges)
    call destroy_unified_buffer(first)
    first = field(0.0_dp)
    edges = create_halo(MPI_COMM_WORLD, [first, second], sizes, [nx + 2, ny + 2], [1, 0], periodic=[.true., .false.])

    call begin_halo(edges)
    call begin_halo(edges, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'has not been finished') > 0, 'begun twice')
    arrived = poll_halo(edges)
    call finish_halo(edges)
    bytes = 8*(ny + 2)
    call check(moved(first) == 2*bytes .and. moved(second) == 2*bytes, 'two columns came from the device')
    call check(halo_neighbours(edges) == 2, 'there are two neighbours')
    call halo_neighbour(edges, 1, other, towards, sent)
    call check(other == left .and. all(towards == [-1, 0]) .and. sent == 2*bytes, 'both fields went in one message')
    call read_buffer(second, cells)
    call check(all(cells(1, 2:ny + 1) == cells(2, 2:ny + 1) - 100*rank + 100*left + nx - 1), 'the ghosts of the left')
    call check(all(cells(nx + 2, 2:ny + 1) == cells(nx + 1, 2:ny + 1) - 100*rank + 100*right - nx + 1), 'and of the right')
    call check(all(cells(2:nx + 1, 1) == -1), 'no ghosts are along the second axis')
    call destroy_halo(edges)

    edges = create_halo(MPI_COMM_WORLD, [first], sizes(:1), [nx + 2, ny + 2], [1, 1], ranks=[1, ranks], &
                        periodic=[.true., .true.], corners=.true.)
    call exchange_halo(edges)
    call read_buffer(first, cells)
    call check(cells(1, 1) == 100*left + nx + 10*ny, 'the ghost at a corner')
    call check(cells(nx + 2, 3) == 100*rank + 1 + 20, 'a process is its own neighbour')
    call destroy_halo(edges)
    call begin_halo(edges, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'destroyed') > 0, 'a halo that has ended')
    call destroy_unified_buffer(first)
    call destroy_unified_buffer(second)
  end subroutine exchanges

  subroutine refusals()
    type(unified_buffer) :: only
    type(halo) :: edges
    integer :: ghosts

    only = field(0.0_dp)
    ghosts = merge(2, 1, rank == 1)
    edges = create_halo(MPI_COMM_WORLD, [only], sizes(:1), [nx + 2, ny + 2], [0, ghosts], stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'rank 1: it has 2 ghosts along axis 2') == 1, 'ghosts')
    edges = create_halo(MPI_COMM_WORLD, [only], sizes(:1), [nx + 2, ny + 1], [0, 1], stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'field 1 has 336 bytes') > 0, 'another shape')
    edges = create_halo(MPI_COMM_WORLD, [only], sizes, [nx + 2, ny + 2], [0, 1], stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'for each field') > 0, 'too many sizes')
    edges = create_halo(MPI_COMM_WORLD, [only], sizes(:1), [nx + 2, ny + 2], [0, 3], stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'axis 2 has 7 elements') > 0, 'too many ghosts')
    edges = create_halo(MPI_COMM_WORLD, [only], sizes(:1), [nx + 2, ny + 2], [0, 1])
    if (rank == 0) then
      call exchange_halo(edges, timeout_ns=1000000_i64, stat=status, errmsg=message)
      call check(status == STATUS_TIMEOUT .and. index(message, 'from rank 1') > 0, 'a message that does not come')
      call MPI_Barrier(MPI_COMM_WORLD)
      call finish_halo(edges)
    else
      call MPI_Barrier(MPI_COMM_WORLD)
      call exchange_halo(edges)
    end if
    call destroy_halo(edges)
    call destroy_unified_buffer(only)
  end subroutine refusals

  subroutine messages()
    type(unified_buffer) :: whole, column, ghost
    real(dp) :: got(nx + 2)

    whole = field(0.0_dp)
    column = view_buffer(whole, 8_i64*(nx + 2), 8_i64*(nx + 2))
    ghost = view_buffer(whole, 0_i64, 8_i64*(nx + 2))
    call recv_buffer(ghost, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, timeout_ns=1000_i64, stat=status, errmsg=message)
    call check(status == STATUS_TIMEOUT, 'no message has come')
    call MPI_Barrier(MPI_COMM_WORLD)
    call send_buffer(column, modulo(rank + 1, ranks), 4, MPI_COMM_WORLD)
    call recv_buffer(ghost, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD)
    call read_buffer(ghost, got)
    call check(got(2) == 100*modulo(rank - 1, ranks) + 11 .and. moved(whole) == 8*(nx + 2), 'a column has come')
    call bcast_buffer(ghost, 1, MPI_COMM_WORLD)
    call read_buffer(ghost, got)
    call check(got(2) == 11, 'all have the same')
    call send_buffer(ghost, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
    if (rank == 0) ghost = whole
    call bcast_buffer(ghost, 1, MPI_COMM_WORLD, stat=status, errmsg=message)
    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, '48 to 336') > 0, 'broadcasts of unequal sizes')
  end subroutine messages

  !> Messages of several pieces: one that is refused waits whole for the next call.
  subroutine long_messages()
    integer(i64), parameter :: piece = 65536, long_enough = 60000000000_i64
    type(unified_buffer) :: half, one, longer
    integer(i8), allocatable :: got(:)

    allocate (got(piece + piece/2))
    half = create_unified_buffer(piece/2, BUFFER_READ_WRITE)
    one = create_unified_buffer(piece, BUFFER_READ_WRITE)
    longer = create_unified_buffer(piece + piece/2, BUFFER_READ_WRITE)
    if (rank == 0) then
      call fill_buffer(longer, 7_i8)
      call fill_buffer(half, 9_i8)
      call fill_buffer(one, 3_i8)
      call send_buffer(longer, 1, 5, MPI_COMM_WORLD)
      call send_buffer(half, 1, 5, MPI_COMM_WORLD)
      call send_buffer(one, 1, 6, MPI_COMM_WORLD)
    else if (rank == 1) then
      call recv_buffer(one, 0, 5, MPI_COMM_WORLD, long_enough, status, message)
      call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'it has 98304') > 0, 'a longer message is refused')
      call recv_buffer(half, 0, 5, MPI_COMM_WORLD, long_enough, status, message)
      call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'it has 98304') > 0, 'and waits whole')
      call recv_buffer(longer, 0, 7, MPI_COMM_WORLD, 20000000_i64, status, message)
      call check(status == STATUS_TIMEOUT, 'a long message does not come')
      call recv_buffer(longer, 0, 5, MPI_COMM_WORLD, long_enough)
      call read_buffer(longer, got)
      call check(all(got == 7), 'the longer message came whole')
      call recv_buffer(half, 0, 5, MPI_COMM_WORLD, long_enough)
      call read_buffer(half, got(:piece/2))
      call check(all(got(:piece/2) == 9), 'and the next one')
      call recv_buffer(longer, 0, 6, MPI_COMM_WORLD, long_enough, status, message)
      call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'it has 65536') > 0, 'a shorter message is refused')
      call recv_buffer(one, 0, 6, MPI_COMM_WORLD, long_enough)
      call read_buffer(one, got(:piece))
      call check(all(got(:piece) == 3), 'and came whole')
    end if
    call destroy_unified_buffer(half)
    call destroy_unified_buffer(one)
    call destroy_unified_buffer(longer)
  end subroutine long_messages

  !> What a process may not have is a status, and the program goes on.
  subroutine no_memory()
    integer(c_int), parameter :: address_space = 9  ! RLIMIT_AS of Linux
    type(unified_buffer) :: large
    integer(c_long) :: before(2), limit(2)
    integer(c_int) :: ignored
    integer :: sent, received
    character(500) :: sending
    interface
      integer(c_int) function getrlimit(what, limits) bind(C)
        import
        implicit none
        integer(c_int), intent(in), value :: what
        integer(c_long), intent(out) :: limits(2)
      end function getrlimit
      integer(c_int) function setrlimit(what, limits) bind(C)
        import
        implicit none
        integer(c_int), intent(in), value :: what
        integer(c_long), intent(in) :: limits(2)
      end function setrlimit
    end interface

    large = create_unified_buffer(2_i64**26, BUFFER_READ_WRITE)
    ignored = getrlimit(address_space, before)
    limit = [1_c_long, before(2)]
    ignored = setrlimit(address_space, limit)
    call send_buffer(large, modulo(rank + 1, ranks), 3, MPI_COMM_WORLD, sent, sending)
    call recv_buffer(large, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, 0_i64, received, message)
    ignored = setrlimit(address_space, before)
    call check(sent == STATUS_OUT_OF_MEMORY .and. index(sending, 'memory for a message') > 0, 'no memory to send')
    call check(received == STATUS_OUT_OF_MEMORY .and. index(message, 'memory for a message') > 0, 'nor to receive')
    call destroy_unified_buffer(large)
  end subroutine no_memory

  !> Handles of halos that have ended, or never were, are refused by all procedures.
  subroutine handles()
    type(halo) :: made, copy, another, none
    integer :: towards(5), other
    integer(i64) :: sent

    made = create_halo(MPI_COMM_WORLD, [field(0.0_dp)], sizes(:1), [nx + 2, ny + 2], [0, 1], periodic=[.false., .true.])
    towards = 7
    call halo_neighbour(made, 1, other, towards, sent, status)
    call check(status == STATUS_OK .and. all(towards == [0, -1, 0, 0, 0]), 'a direction is longer than the axes')
    call halo_neighbour(made, 1, other, towards(:1))
    call check(towards(1) == 0, 'or shorter')
    call halo_neighbour(made, 3, other, towards, sent, status, message)
    call check(status == STATUS_OUT_OF_RANGE .and. other == MPI_PROC_NULL .and. all(towards == 0), 'no such neighbour')
    copy = made
    call destroy_halo(made)
    another = create_halo(MPI_COMM_WORLD, [field(0.0_dp)], sizes(:1), [nx + 2, ny + 2], [0, 1])
    call refuses(made, 'was destroyed')
    call refuses(copy, 'was destroyed')
    call check(size(halo_ranks(another)) == 2, 'the one in its place is there')
    call refuses(none, 'was not created')
    none = create_halo(MPI_COMM_WORLD, [field(0.0_dp)], sizes(:1), [nx + 2, ny + 2], [0, 3], stat=status)
    call refuses(none, 'could not be created')
    call destroy_halo(another)
    last = create_halo(MPI_COMM_WORLD, [field(0.0_dp)], sizes(:1), [nx + 2, ny + 2], [0, 1])
  end subroutine handles

  subroutine refuses(of, why)
    type(halo), intent(in) :: of
    character(*), intent(in) :: why

    integer :: numbers(2), other, towards(2), axes
    logical :: arrived

    axes = size(halo_coordinates(of, status))
    call begin_halo(of, status, message)
    call check_refused(why, 'begin')
    call finish_halo(of, 0_i64, status, message)
    call check_refused(why, 'finish')
    call exchange_halo(of, 0_i64, status, message)
    call check_refused(why, 'exchange')
    arrived = poll_halo(of, status, message)
    call check_refused(why, 'poll')
    call check(.not. arrived, 'nothing has arrived')
    numbers(:axes) = halo_coordinates(of, status, message)
    call check_refused(why, 'coordinates')
    numbers(:axes) = halo_ranks(of, status, message)
    call check_refused(why, 'ranks')
    numbers(1) = halo_neighbours(of, status, message)
    call check_refused(why, 'neighbours')
    call check(numbers(1) == 0, 'it has no neighbours')
    call halo_neighbour(of, 1, other, towards, stat=status, errmsg=message)
    call check_refused(why, 'neighbour')
    call destroy_halo(of, status, message)
    call check_refused(why, 'destroy')
  end subroutine refuses

  subroutine check_refused(why, what)
    character(*), intent(in) :: why, what

    call check(status == STATUS_INVALID_ARGUMENT .and. index(message, 'a halo was used that ' // why) == 1, &
               why // ': ' // what)
    message = ''
  end subroutine check_refused

end program halo_test
