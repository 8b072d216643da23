!> Buffers between machines, by the program's own MPI. Compile this, unibuf_mpi_calls.f90 and unibuf_mpi_native.c with it:
!> nothing else in unibuf knows MPI.
!>
!> What is sent is packed under a short lease, and what has come is unpacked under one: just these bytes move, and no
!> lease is held while a message is under way. Every call of MPI is made on the caller's thread. `stat` and `errmsg` are
!> those of gpu_unified_buffers: what MPI refuses is STATUS_TRANSFER_FAILED, where its error handler returns.
module unibuf_mpi
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_loc, c_null_char, c_null_ptr, c_ptr
  use gpu_unified_buffers, only: buffer_size, read_buffer, STATUS_INVALID_ARGUMENT, STATUS_OK, &
                                 STATUS_OUT_OF_MEMORY, unified_buffer, write_buffer
  use kinds, only: i64, i8
  use mpi_f08, only: MPI_Comm, MPI_Comm_rank, MPI_PROC_NULL
  use unibuf_mpi_calls
  implicit none
  private
  public :: halo, create_halo, destroy_halo, begin_halo, poll_halo, finish_halo, exchange_halo
  public :: halo_coordinates, halo_ranks, halo_neighbours, halo_neighbour
  public :: send_buffer, recv_buffer, bcast_buffer

  !> The ghosts of one or several fields, which are the cells of neighbours. Copies stand for the same halo, which ends
  !> when one of them is destroyed; the other copies are refused then.
  type :: halo
    private
    type(c_ptr) :: slot = c_null_ptr
    integer(i64) :: generation = 0
    integer :: axes = 0
    type(unified_buffer), allocatable :: fields(:)
  end type halo

  integer(i64), parameter :: forever = huge(0_i64)

contains

  !> Sends the newest content of a buffer or a view, wherever it is, as one message of MPI. Waits as MPI_Send does.
  subroutine send_buffer(buffer, to, tag, comm, stat, errmsg)
    type(unified_buffer), intent(in) :: buffer
    integer, intent(in) :: to, tag
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    integer(i8), allocatable, target :: bytes(:)
    character(text_size) :: text
    integer :: status

    status = messages_may_call(text)
    if (status == STATUS_OK .and. to /= MPI_PROC_NULL) then
      call make_room(buffer, bytes, status, text)
      if (status == STATUS_OK) call copy(buffer, bytes, 0_i64, .true., status, text)
      if (status == STATUS_OK) then
        status = messages_send_bytes(comm%MPI_VAL, to, tag, c_loc(bytes), size(bytes, kind=i64), text)
      end if
    end if
    call tell(status, text, stat, errmsg)
  end subroutine send_buffer

  !> Receives what send_buffer has sent, and writes just these bytes. `from` and `tag` may be MPI_ANY_SOURCE and
  !> MPI_ANY_TAG. STATUS_TIMEOUT where no message has come in time, STATUS_INVALID_ARGUMENT for one of another size: both
  !> leave the buffer as it was, and the message, when it comes, whole to the next call. Threads that receive the same get
  !> messages of their size alone.
  subroutine recv_buffer(buffer, from, tag, comm, timeout_ns, stat, errmsg)
    type(unified_buffer), intent(in) :: buffer
    integer, intent(in) :: from, tag
    type(MPI_Comm), intent(in) :: comm
    integer(i64), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    integer(i8), allocatable, target :: bytes(:)
    character(text_size) :: text
    integer :: status

    status = messages_may_call(text)
    if (status == STATUS_OK .and. from /= MPI_PROC_NULL) then
      call make_room(buffer, bytes, status, text)
      if (status == STATUS_OK) then
        status = messages_receive_bytes(comm%MPI_VAL, from, tag, time_of(timeout_ns), c_loc(bytes), &
                                        size(bytes, kind=i64), text)
      end if
      if (status == STATUS_OK) call copy(buffer, bytes, 0_i64, .false., status, text)
    end if
    call tell(status, text, stat, errmsg)
  end subroutine recv_buffer

  !> Gives all processes of `comm` what `root` has in a buffer or a view. All call it, with parts of the same size; where
  !> the sizes differ, or the content cannot be read at `root`, it fails at all.
  subroutine bcast_buffer(buffer, root, comm, stat, errmsg)
    type(unified_buffer), intent(in) :: buffer
    integer, intent(in) :: root
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    integer(i8), allocatable, target :: bytes(:)
    character(text_size) :: text
    integer :: status, rank

    status = messages_may_call(text)
    if (status == STATUS_OK) then
      call MPI_Comm_rank(comm, rank)
      call make_room(buffer, bytes, status, text)
      if (status == STATUS_OK .and. rank == root) call copy(buffer, bytes, 0_i64, .true., status, text)
      status = messages_broadcast_bytes(comm%MPI_VAL, root, status, c_loc(bytes), size(bytes, kind=i64), text)
      if (status == STATUS_OK .and. rank /= root) call copy(buffer, bytes, 0_i64, .false., status, text)
    end if
    call tell(status, text, stat, errmsg)
  end subroutine bcast_buffer

  !> Allocates memory for a message of a buffer's size; also where that fails there is some.
  subroutine make_room(buffer, bytes, status, text)
    type(unified_buffer), intent(in) :: buffer
    integer(i8), allocatable, intent(out) :: bytes(:)
    integer, intent(out) :: status
    character(text_size), intent(inout) :: text

    integer(i64) :: bytes_in_buffer
    integer :: failure

    bytes_in_buffer = buffer_size(buffer, status, text)
    if (status == STATUS_OK) then
      allocate (bytes(bytes_in_buffer), stat=failure)
      if (failure == 0) return
      status = STATUS_OUT_OF_MEMORY
      write (text, '(a, i0, a)') 'memory for a message of ', bytes_in_buffer, ' bytes was asked for'
    end if
    allocate (bytes(0))
  end subroutine make_room

  !> Makes a halo of fields that are arrays of this shape, in which ghosts are counted: the first and the last `ghosts`
  !> elements along each axis. Axes without ghosts are not cut. `element_sizes` are bytes, one for each field.
  !>
  !> Up to three axes are cut among the processes of `comm`, by its own Cartesian topology where it has one, else by one
  !> that MPI makes, with the ranks in their order: `ranks` says how many there are along each axis, and 0 lets MPI
  !> choose. Where there is no neighbour, ghosts are left alone; along axes that are `periodic` there always is one.
  !> `corners` exchanges ghosts at edges and corners too. What goes to a neighbour is one message, of all fields.
  !>
  !> All processes make a halo, exchange and end it in the same order. Where shapes, ghosts or elements do not fit, all
  !> get STATUS_INVALID_ARGUMENT. The buffers have to live as long as the halo.
  function create_halo(comm, fields, element_sizes, shape, ghosts, periodic, ranks, corners, stat, errmsg) result(made)
    type(MPI_Comm), intent(in) :: comm
    type(unified_buffer), intent(in) :: fields(:)
    integer, intent(in) :: element_sizes(:), shape(:), ghosts(:)
    logical, intent(in), optional :: periodic(:)
    integer, intent(in), optional :: ranks(:)
    logical, intent(in), optional :: corners
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(halo) :: made

    character(text_size) :: text
    integer(c_int) :: wrap(size(shape)), along(size(shape)), around
    integer :: status, field
    integer(i64) :: bytes

    wrap = 0
    along = 0
    around = 0
    text = c_null_char
    status = STATUS_OK
    if (size(ghosts) /= size(shape) .or. size(element_sizes) /= size(fields)) status = STATUS_INVALID_ARGUMENT
    if (present(periodic)) then
      if (size(periodic) /= size(shape)) status = STATUS_INVALID_ARGUMENT
      if (status == STATUS_OK) wrap = merge(1, 0, periodic)
    end if
    if (present(ranks)) then
      if (size(ranks) /= size(shape)) status = STATUS_INVALID_ARGUMENT
      if (status == STATUS_OK) along = ranks
    end if
    if (present(corners)) around = merge(1, 0, corners)
    if (status == STATUS_OK) then
      if (any(shape < 0) .or. any(ghosts < 0) .or. any(element_sizes < 0)) status = STATUS_INVALID_ARGUMENT
    end if
    if (status /= STATUS_OK) then
      text = 'shape, ghosts, periodic and ranks have a number for each axis, and element_sizes for each field'
    else
      do field = 1, size(fields)
        bytes = buffer_size(fields(field), status, text)
        if (status /= STATUS_OK) exit
        if (bytes == product(int(shape, i64))*element_sizes(field)) cycle
        status = STATUS_INVALID_ARGUMENT
        write (text, '(a, i0, a, i0, a)') 'field ', field, ' has ', bytes, ' bytes, which are not those of its shape'
        exit
      end do
    end if
    made%axes = size(shape)
    made%fields = fields
    text(text_size:) = c_null_char
    status = messages_open(comm%MPI_VAL, size(shape), int(shape, i64), ghosts, wrap, along, around, size(fields), &
                           int(element_sizes, i64), status, text, made%slot, made%generation)
    call tell(status, text, stat, errmsg)
  end function create_halo

  !> Ends a halo and all copies of its handle, before MPI_Finalize; after that it leaves MPI alone.
  subroutine destroy_halo(of, stat, errmsg)
    type(halo), intent(in) :: of
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    character(text_size) :: text
    integer :: status

    status = messages_close(of%slot, of%generation, text)
    call tell(status, text, stat, errmsg)
  end subroutine destroy_halo

  !> Starts to send the cells at the sides, as they are now. The inside may be computed, and everything may be leased,
  !> until finish_halo. Where a side is leased, this fails as a lease does, and nothing has begun.
  subroutine begin_halo(of, stat, errmsg)
    type(halo), intent(in) :: of
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    character(text_size) :: text
    integer :: status

    call begin_messages(of, status, text)
    call tell(status, text, stat, errmsg)
  end subroutine begin_halo

  !> Lets MPI work, which it does in calls alone, and returns whether all messages have come and gone.
  function poll_halo(of, stat, errmsg) result(arrived)
    type(halo), intent(in) :: of
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    logical :: arrived

    character(text_size) :: text
    type(c_ptr) :: messages
    integer :: status
    integer(c_int) :: all

    all = 0
    status = messages_find(of%slot, of%generation, text, messages)
    if (status == STATUS_OK) then
      status = messages_poll(messages, all)
      call messages_text(messages, text)
    end if
    arrived = all /= 0
    call tell(status, text, stat, errmsg)
  end function poll_halo

  !> Waits for what the neighbours have sent, and writes the ghosts. STATUS_TIMEOUT where a message has not come or gone
  !> in time; what a lease fails with where a ghost is leased. In both cases nothing is lost, and it may be called again.
  subroutine finish_halo(of, timeout_ns, stat, errmsg)
    type(halo), intent(in) :: of
    integer(i64), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    character(text_size) :: text
    integer :: status

    call finish_messages(of, time_of(timeout_ns), status, text)
    call tell(status, text, stat, errmsg)
  end subroutine finish_halo

  subroutine exchange_halo(of, timeout_ns, stat, errmsg)
    type(halo), intent(in) :: of
    integer(i64), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    character(text_size) :: text
    integer :: status

    call begin_messages(of, status, text)
    if (status == STATUS_OK) call finish_messages(of, time_of(timeout_ns), status, text)
    call tell(status, text, stat, errmsg)
  end subroutine exchange_halo

  !> The place of this process along each axis, from 0.
  function halo_coordinates(of, stat, errmsg) result(coordinates)
    type(halo), intent(in) :: of
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: coordinates(of%axes), ranks(of%axes)

    call find_place(of, coordinates, ranks, stat, errmsg)
  end function halo_coordinates

  !> How many processes there are along each axis.
  function halo_ranks(of, stat, errmsg) result(ranks)
    type(halo), intent(in) :: of
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: coordinates(of%axes), ranks(of%axes)

    call find_place(of, coordinates, ranks, stat, errmsg)
  end function halo_ranks

  subroutine find_place(of, coordinates, ranks, stat, errmsg)
    type(halo), intent(in) :: of
    integer, intent(out) :: coordinates(:), ranks(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    character(text_size) :: text
    type(c_ptr) :: messages
    integer :: status

    coordinates = 0
    ranks = 0
    status = messages_find(of%slot, of%generation, text, messages)
    if (status == STATUS_OK) call messages_place(messages, coordinates, ranks)
    call tell(status, text, stat, errmsg)
  end subroutine find_place

  !> How many neighbours there are.
  function halo_neighbours(of, stat, errmsg) result(count)
    type(halo), intent(in) :: of
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: count

    character(text_size) :: text
    type(c_ptr) :: messages
    integer :: status

    count = 0
    status = messages_find(of%slot, of%generation, text, messages)
    if (status == STATUS_OK) count = messages_neighbours(messages)
    call tell(status, text, stat, errmsg)
  end function halo_neighbours

  !> Tells of the neighbour `index`, from 1: its rank, where it lies (-1, 0 or 1 along each axis; 0 in what `direction`
  !> has beyond the axes), and how many bytes have gone there until now. As many have come from there.
  subroutine halo_neighbour(of, index, rank, direction, bytes_sent, stat, errmsg)
    type(halo), intent(in) :: of
    integer, intent(in) :: index
    integer, intent(out) :: rank
    integer, intent(out), optional :: direction(:)
    integer(i64), intent(out), optional :: bytes_sent
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    character(text_size) :: text
    type(c_ptr) :: messages
    integer :: towards(of%axes), status, axes
    integer(i64) :: bytes

    towards = 0
    bytes = 0
    rank = MPI_PROC_NULL
    status = messages_find(of%slot, of%generation, text, messages)
    if (status == STATUS_OK) then
      text = 'a neighbour was asked for that the halo does not have'
      status = messages_neighbour(messages, index, rank, towards, bytes)
    end if
    if (present(direction)) then
      axes = min(size(direction), of%axes)
      direction = 0
      direction(:axes) = towards(:axes)
    end if
    if (present(bytes_sent)) bytes_sent = bytes
    call tell(status, text, stat, errmsg)
  end subroutine halo_neighbour

  subroutine begin_messages(of, status, text)
    type(halo), intent(in) :: of
    integer, intent(out) :: status
    character(text_size), intent(inout) :: text

    type(c_ptr) :: messages

    status = messages_find(of%slot, of%generation, text, messages)
    if (status /= STATUS_OK) return
    status = messages_may_begin(messages)
    if (status == STATUS_OK) then
      call copy_boxes(of, messages, .true., status, text)
      if (status /= STATUS_OK) return
      status = messages_start(messages)
    end if
    call messages_text(messages, text)
  end subroutine begin_messages

  subroutine finish_messages(of, timeout_ns, status, text)
    type(halo), intent(in) :: of
    integer(i64), intent(in) :: timeout_ns
    integer, intent(out) :: status
    character(text_size), intent(inout) :: text

    type(c_ptr) :: messages

    status = messages_find(of%slot, of%generation, text, messages)
    if (status /= STATUS_OK) return
    status = messages_wait(messages, timeout_ns)
    call messages_text(messages, text)
    if (status == STATUS_OK) call copy_boxes(of, messages, .false., status, text)
    if (status == STATUS_OK) call messages_finished(messages)
  end subroutine finish_messages

  !> Packs what goes, or unpacks what came.
  subroutine copy_boxes(of, messages, goes, status, text)
    type(halo), intent(in) :: of
    type(c_ptr), intent(in) :: messages
    logical, intent(in) :: goes
    integer, intent(out) :: status
    character(text_size), intent(inout) :: text

    integer(i8), pointer, contiguous :: bytes(:)
    integer(i64) :: at(3), size_of_box
    integer(c_int) :: field, axes
    integer(c_int), dimension(8) :: shape, lower, upper
    type(c_ptr) :: address

    at = 0
    status = STATUS_OK
    do while (status == STATUS_OK)
      size_of_box = messages_next_box(messages, merge(1, 0, goes), at, field, axes, shape, lower, upper, address)
      if (size_of_box == 0) exit
      call c_f_pointer(address, bytes, [size_of_box])
      if (goes) then
        call read_buffer(of%fields(field), bytes, shape(:axes), lower(:axes), upper(:axes), status, text)
      else
        call write_buffer(of%fields(field), bytes, shape(:axes), lower(:axes), upper(:axes), status, text)
      end if
    end do
  end subroutine copy_boxes

  !> Copies between a buffer, from the byte `offset` on, and bytes of a message.
  subroutine copy(buffer, bytes, offset, goes, status, text)
    type(unified_buffer), intent(in) :: buffer
    integer(i8), intent(inout) :: bytes(:)
    integer(i64), intent(in) :: offset
    logical, intent(in) :: goes
    integer, intent(out) :: status
    character(text_size), intent(inout) :: text

    if (goes) then
      call read_buffer(buffer, bytes, offset, status, text)
    else
      call write_buffer(buffer, bytes, offset, status, text)
    end if
  end subroutine copy

  integer(i64) function time_of(timeout_ns)
    integer(i64), intent(in), optional :: timeout_ns

    time_of = forever
    if (present(timeout_ns)) time_of = timeout_ns
  end function time_of

  !> Tells of `status` by `stat` and `errmsg`; without `stat` a failure stops the program. The text may be of C.
  subroutine tell(status, text, stat, errmsg)
    integer, intent(in) :: status
    character(*), intent(in) :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    integer :: length

    if (present(stat)) stat = status
    if (status == STATUS_OK) return
    length = index(text, c_null_char) - 1
    if (length < 0) length = len(text)
    length = len_trim(text(:length))
    if (.not. present(stat)) error stop text(:length)
    if (present(errmsg)) errmsg = text(:length)
  end subroutine tell

end module unibuf_mpi
