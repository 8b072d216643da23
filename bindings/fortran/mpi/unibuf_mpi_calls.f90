!> The functions of unibuf_mpi_native.c, for the module unibuf_mpi alone.
module unibuf_mpi_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_ptr
  implicit none
  private :: c_char, c_int, c_int64_t, c_ptr

  integer, parameter :: text_size = 512

  interface
    integer(c_int) function messages_open(comm, axes, extents, ghosts, periodic, ranks, corners, fields, element_sizes, &
                                          fault, text, slot, generation) bind(C, name='unibuf_mpi_open')
      import
      implicit none
      integer(c_int), intent(in), value :: comm, axes, corners, fields, fault
      integer(c_int64_t), intent(in) :: extents(*), element_sizes(*)
      integer(c_int), intent(in) :: ghosts(*), periodic(*), ranks(*)
      character(kind=c_char), intent(inout) :: text(*)
      type(c_ptr), intent(out) :: slot
      integer(c_int64_t), intent(out) :: generation
    end function messages_open

    integer(c_int) function messages_find(slot, generation, text, messages) bind(C, name='unibuf_mpi_find')
      import
      implicit none
      type(c_ptr), intent(in), value :: slot
      integer(c_int64_t), intent(in), value :: generation
      character(kind=c_char), intent(inout) :: text(*)
      type(c_ptr), intent(out) :: messages
    end function messages_find

    integer(c_int) function messages_close(slot, generation, text) bind(C, name='unibuf_mpi_close')
      import
      implicit none
      type(c_ptr), intent(in), value :: slot
      integer(c_int64_t), intent(in), value :: generation
      character(kind=c_char), intent(inout) :: text(*)
    end function messages_close

    integer(c_int) function messages_may_begin(messages) bind(C, name='unibuf_mpi_may_begin')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
    end function messages_may_begin

    integer(c_int) function messages_start(messages) bind(C, name='unibuf_mpi_start')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
    end function messages_start

    integer(c_int) function messages_poll(messages, arrived) bind(C, name='unibuf_mpi_poll')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
      integer(c_int), intent(out) :: arrived
    end function messages_poll

    integer(c_int) function messages_wait(messages, timeout_ns) bind(C, name='unibuf_mpi_wait')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
      integer(c_int64_t), intent(in), value :: timeout_ns
    end function messages_wait

    subroutine messages_finished(messages) bind(C, name='unibuf_mpi_finished')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
    end subroutine messages_finished

    subroutine messages_text(messages, text) bind(C, name='unibuf_mpi_text')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
      character(kind=c_char), intent(inout) :: text(*)
    end subroutine messages_text

    integer(c_int64_t) function messages_next_box(messages, goes, at, field, axes, shape, lower, upper, bytes) &
      bind(C, name='unibuf_mpi_next_box')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
      integer(c_int), intent(in), value :: goes
      integer(c_int64_t), intent(inout) :: at(3)
      integer(c_int), intent(out) :: field, axes
      integer(c_int), intent(inout) :: shape(*), lower(*), upper(*)
      type(c_ptr), intent(out) :: bytes
    end function messages_next_box

    integer(c_int) function messages_neighbour(messages, index, rank, direction, bytes) bind(C, name='unibuf_mpi_neighbour')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
      integer(c_int), intent(in), value :: index
      integer(c_int), intent(out) :: rank
      integer(c_int), intent(inout) :: direction(*)
      integer(c_int64_t), intent(out) :: bytes
    end function messages_neighbour

    integer(c_int) function messages_neighbours(messages) bind(C, name='unibuf_mpi_neighbours')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
    end function messages_neighbours

    subroutine messages_place(messages, coordinates, ranks) bind(C, name='unibuf_mpi_place')
      import
      implicit none
      type(c_ptr), intent(in), value :: messages
      integer(c_int), intent(inout) :: coordinates(*), ranks(*)
    end subroutine messages_place

    integer(c_int) function messages_may_call(text) bind(C, name='unibuf_mpi_may_call')
      import
      implicit none
      character(kind=c_char), intent(inout) :: text(*)
    end function messages_may_call

    integer(c_int) function messages_send_bytes(comm, to, tag, bytes, size, text) bind(C, name='unibuf_mpi_send_bytes')
      import
      implicit none
      integer(c_int), intent(in), value :: comm, to, tag
      type(c_ptr), intent(in), value :: bytes
      integer(c_int64_t), intent(in), value :: size
      character(kind=c_char), intent(inout) :: text(*)
    end function messages_send_bytes

    integer(c_int) function messages_receive_bytes(comm, from, tag, timeout_ns, bytes, size, text) &
      bind(C, name='unibuf_mpi_receive_bytes')
      import
      implicit none
      integer(c_int), intent(in), value :: comm, from, tag
      integer(c_int64_t), intent(in), value :: timeout_ns
      type(c_ptr), intent(in), value :: bytes
      integer(c_int64_t), intent(in), value :: size
      character(kind=c_char), intent(inout) :: text(*)
    end function messages_receive_bytes

    integer(c_int) function messages_broadcast_bytes(comm, root, fault, bytes, size, text) &
      bind(C, name='unibuf_mpi_broadcast_bytes')
      import
      implicit none
      integer(c_int), intent(in), value :: comm, root, fault
      type(c_ptr), intent(in), value :: bytes
      integer(c_int64_t), intent(in), value :: size
      character(kind=c_char), intent(inout) :: text(*)
    end function messages_broadcast_bytes
  end interface

end module unibuf_mpi_calls
