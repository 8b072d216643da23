!> Questions about one buffer, and about all of them.
module gpu_buffer_queries
  use gpu_buffer_types, only: transfer_statistics, unified_buffer
  use kinds, only: i64
  use unibuf_reports, only: put_message, report
  implicit none
  private
  public :: buffer_is_valid, buffer_size, buffer_state, buffer_state_name, buffer_mapping, buffer_statistics
  public :: total_statistics, memory_held, peak_memory_held, reset_peak_memory
  public :: gpu_device, unified_buffer_message

  integer, parameter :: longest_text = 2048

  interface

    !> Gives the size of a buffer in bytes.
    function buffer_size(buffer, stat, errmsg) result(size) &
      bind(C, name='unibuf_fortran_size')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      integer(i64) :: size
    end function buffer_size

    !> Gives the state of a buffer: BUFFER_SYNCHRONIZED, and so on.
    function buffer_state(buffer, stat, errmsg) result(state) &
      bind(C, name='unibuf_fortran_state')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      integer :: state
    end function buffer_state

    !> Gives what was moved for a buffer so far.
    function buffer_statistics(buffer, stat, errmsg) result(figures) &
      bind(C, name='unibuf_fortran_statistics')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(transfer_statistics) :: figures
    end function buffer_statistics

    !> Gives what was moved for all buffers.
    function total_statistics() result(figures) &
      bind(C, name='unibuf_fortran_total_statistics')
      import
      implicit none
      type(transfer_statistics) :: figures
    end function total_statistics

    !> Gives the bytes of memory that all buffers hold, on the host and on devices; shared memory counts once.
    function memory_held() result(bytes) &
      bind(C, name='unibuf_fortran_memory_held')
      import
      implicit none
      integer(i64) :: bytes
    end function memory_held

    !> Gives the most bytes that all buffers held, since the program began or reset_peak_memory.
    function peak_memory_held() result(bytes) &
      bind(C, name='unibuf_fortran_peak_memory')
      import
      implicit none
      integer(i64) :: bytes
    end function peak_memory_held

    subroutine reset_peak_memory() bind(C, name='unibuf_fortran_reset_peak_memory')
      import
      implicit none
    end subroutine reset_peak_memory

    function is_valid(buffer) result(valid) &
      bind(C, name='unibuf_fortran_is_valid')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      integer :: valid
    end function is_valid

    subroutine put_state_name(state, text) bind(C, name='unibuf_fortran_state_name')
      import
      implicit none
      integer, intent(in) :: state
      character(*), intent(inout) :: text
    end subroutine put_state_name

    subroutine put_mapping(buffer, text, stat) bind(C, name='unibuf_fortran_mapping')
      import
      implicit none
      type(unified_buffer), intent(in) :: buffer
      character(*), intent(inout) :: text
      integer, intent(out) :: stat
    end subroutine put_mapping

    subroutine put_gpu_name(text, stat) bind(C, name='unibuf_fortran_gpu_name')
      import
      implicit none
      character(*), intent(inout) :: text
      integer, intent(out) :: stat
    end subroutine put_gpu_name

  end interface

contains

  !> Returns whether a buffer was created, and not destroyed yet.
  logical function buffer_is_valid(buffer)
    type(unified_buffer), intent(in) :: buffer

    buffer_is_valid = is_valid(buffer) /= 0
  end function buffer_is_valid

  !> Returns the name of a state: "SYNCHRONIZED", and so on.
  function buffer_state_name(state) result(name)
    integer, intent(in) :: state
    character(:), allocatable :: name

    character(longest_text) :: text

    call put_state_name(state, text)
    name = trim(text)
  end function buffer_state_name

  !> Returns whether host and GPU share the buffer's memory, why so, and how the host has it mapped: "shared: asked for:
  !> coherent; mapped to write, coherent".
  function buffer_mapping(buffer, stat, errmsg) result(mapping)
    type(unified_buffer), intent(in) :: buffer
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: mapping

    character(longest_text) :: text
    integer :: status

    text = ' '
    call put_mapping(buffer, text, status)
    call report(status, stat, errmsg)
    mapping = trim(text)
  end function buffer_mapping

  !> Returns the device that buffers are created for.
  function gpu_device(stat, errmsg) result(name)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: name

    character(longest_text) :: text
    integer :: status

    text = ' '
    call put_gpu_name(text, status)
    call report(status, stat, errmsg)
    name = trim(text)
  end function gpu_device

  !> Returns what the last failure on this thread was about.
  function unified_buffer_message() result(message)
    character(:), allocatable :: message

    character(longest_text) :: text

    call put_message(text)
    message = trim(text)
  end function unified_buffer_message

end module gpu_buffer_queries
