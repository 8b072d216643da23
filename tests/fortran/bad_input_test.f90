!> bad_input_test: what is asked wrongly is refused with a reason, and the buffer stays as it was.
program bad_input_test
  use, intrinsic :: iso_c_binding, only: c_associated, c_intptr_t, c_ptr
  use checks
  use gpu_unified_buffers
  use kinds
  implicit none

  type(unified_buffer) :: buffer
  integer :: status
  character(500) :: message

  call set_gpu_device('debug:0')
  buffer = create_unified_buffer(16_i64, BUFFER_READ_WRITE)
  call write_buffer(buffer, [1, 2, 3, 4])
  call creation()
  call writing()
  call reading()
  call pointers()
  call ranges()
  call views()
  call modes()
  call devices()
  call destroyed()
  call failed()
  call names()
  call messages()
  call finish()

contains

  !> That a call was refused with this status, and a message that has `words`.
  subroutine refused(as, words, what)
    integer, intent(in) :: as
    character(*), intent(in) :: words, what

    call check(status == as .and. index(message, words) > 0, what // ' is refused: ' // trim(message))
  end subroutine refused

  subroutine unharmed(what)
    character(*), intent(in) :: what

    integer :: back(4)

    call read_buffer(buffer, back)
    call check(all(back == [1, 2, 3, 4]), 'and nothing is lost after ' // what)
  end subroutine unharmed

  subroutine creation()
    type(unified_buffer) :: made
    integer(i64), volatile :: elements

    made = create_unified_buffer(0_i64, BUFFER_READ_WRITE, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'a size of 0 bytes', 'zero size')
    call check(.not. buffer_is_valid(made), 'and makes no buffer')
    made = create_unified_buffer(-5_i64, BUFFER_READ_WRITE, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, '-5', 'a negative size')
    made = create_unified_buffer(huge(1_i64), BUFFER_READ_WRITE, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_MEMORY, '9223372036854775807', 'a size that no memory has')
    elements = huge(1_i64)
    made = create_unified_buffer(elements*2, BUFFER_READ_WRITE, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, '-2', 'a size that overflowed')
    made = create_unified_buffer(16_i64, 0, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'BUFFER_READ_ONLY', 'an access mode that is none')
    made = create_unified_buffer(16_i64, BUFFER_READ_WRITE, 5, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'MEMORY_STREAMING', 'a memory hint that is none')
    made = create_unified_buffer(16_i64, BUFFER_READ_WRITE, device='tpu:0', stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'tpu:0', 'a device of no kind')
    made = create_unified_buffer(16_i64, BUFFER_READ_WRITE, device='debug:9', stat=status, errmsg=message)
    call refused(STATUS_DEVICE_UNAVAILABLE, 'debug:0', 'a device that is not there')
    made = create_unified_buffer(huge(1_i64), BUFFER_READ_WRITE)
    call check(.not. buffer_is_valid(made) .and. index(unified_buffer_message(), 'no room') > 0, &
               'without stat a lack of memory is a buffer that is not valid')
  end subroutine creation

  subroutine writing()
    call write_buffer(buffer, [9, 9, 9, 9, 9], stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '5 elements of 4 bytes', 'writing past the end')
    call unharmed('that')
    call write_buffer(buffer, 9, 4_i64, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, 'from element 4', 'writing at the end')
    call write_buffer(buffer, 9, -1_i64, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '-1', 'a negative offset')
    call write_buffer(buffer, 9, huge(1_i64), stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '9223372036854775807', 'an offset that overflows')
    call write_buffer(buffer, [9._dp, 9._dp, 9._dp], stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '3 elements of 8 bytes', 'what is too much in another type')
    call unharmed('all of these')
  end subroutine writing

  subroutine reading()
    integer :: back(5)
    integer, allocatable :: none(:)
    logical, pointer :: nobody

    nullify (nobody)
    back = -7
    call read_buffer(buffer, back, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '5 elements', 'reading past the end')
    call check(all(back == -7), 'and leaves the array alone')
    call read_buffer(buffer, back(:1), -3_i64, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '-3', 'reading before the beginning')
    call write_buffer(buffer, nobody, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'not associated', 'writing from a pointer to nothing')
    call fill_buffer(buffer, [integer ::], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'a pattern without elements', 'a pattern of nothing')
    allocate (none(0))
    call write_buffer(buffer, none)
    call write_buffer(buffer, [integer ::])
    call read_buffer(buffer, back(2:1), stat=status)
    call check(status == STATUS_OK, 'arrays of no elements are allocated')
    call fill_buffer(buffer, [1, 2, 3], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, '12', 'a pattern that does not fit')
    call unharmed('that')
    call assumed_size(back)
  end subroutine reading

  subroutine assumed_size(array)
    integer, intent(in) :: array(*)

    call write_buffer(buffer, array(1:2), stat=status)
    call check(status == STATUS_OK, 'a section of an assumed-size array is taken')
    call write_buffer(buffer, [1, 2])
  end subroutine assumed_size

  subroutine pointers()
    type(c_ptr) :: address
    integer, pointer :: p(:), q(:, :), one
    integer, allocatable :: none(:)

    address = get_cpu_pointer(buffer, 3, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'elements of 3 bytes', 'an element size that does not divide the buffer')
    call check(.not. c_associated(address), 'and gives no pointer')
    address = get_cpu_pointer(buffer, 0, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'elements of 0 bytes', 'an element size of 0')
    address = get_cpu_pointer(buffer, -4, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, '-4', 'a negative element size')
    nullify (p, q, one)
    call get_pointer(buffer, p, [5], stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '5 elements', 'a pointer past the end')
    call check(.not. associated(p), 'and is not associated')
    call get_pointer(buffer, q, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'rank 2', 'a pointer of rank 2 without a shape')
    call get_pointer(buffer, q, [4], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'rank 2', 'a shape of another rank')
    call get_pointer(buffer, q, [-2, -2], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, '-2', 'a negative extent')
    call get_pointer(buffer, q, [huge(1_i64), 3_i64], stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, 'elements', 'a shape that overflows')
    call get_pointer(buffer, q, [huge(1_i64), huge(1_i64)], stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, 'or more', 'and one that no integer counts')
    call get_pointer(buffer, q, none, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'needs a shape', 'a shape that is not allocated')
    call get_pointer(buffer, q, [2.0, 2.0], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'integers', 'a shape of reals')
    call get_pointer(buffer, p, offset=5_i64, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, 'element 5', 'a pointer from behind the end')
    call get_pointer(buffer, p, offset=-huge(1_i64) - 1, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, 'element -9223372036854775808', 'or from far before it')
    call get_pointer(buffer, one, [integer ::])
    call check(associated(one), 'the shape of a scalar has no extents')
    call get_pointer(buffer, q, [huge(1_i64), 0_i64])
    call check(size(q) == 0, 'an array of no elements fits, whatever its extents')
  end subroutine pointers

  subroutine ranges()
    call sync_to_gpu(buffer, 8_i64, 16_i64, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '16 bytes', 'a range past the end')
    call sync_from_gpu(buffer, -1_i64, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '-1', 'a negative offset')
    call mark_host_dirty(buffer, size=-1_i64, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '-1', 'a negative size')
    call flush_buffer_range(buffer, 0_i64, 17, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '17', 'flushing past the end')
    call flush_buffer_range(buffer, 0_i64, 1.0, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'the size of a range', 'a size that is no integer')
    call flush_buffer_range(buffer, 0_i64, [4, 4], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'one integer', 'two sizes')
    call flush_buffer_range(buffer, 0_i64, [integer ::], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'one integer', 'and none')
    call unharmed('these')
  end subroutine ranges

  subroutine views()
    type(unified_buffer) :: view

    view = view_buffer(buffer, 8_i64, 9_i64, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '9 bytes', 'a view past the end')
    call check(.not. buffer_is_valid(view), 'and makes no view')
    view = view_buffer(buffer, -8_i64, 4_i64, stat=status, errmsg=message)
    call refused(STATUS_OUT_OF_RANGE, '-8', 'a view before the beginning')
  end subroutine views

  subroutine modes()
    type(unified_buffer) :: input, output
    integer :: x

    input = create_unified_buffer(4_i64, BUFFER_WRITE_ONLY)
    call read_buffer(input, x, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'write_only', 'reading what the host only writes')
    call destroy_unified_buffer(input)
    output = create_unified_buffer(4_i64, BUFFER_READ_ONLY)
    call write_buffer(output, 1, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'read_only', 'writing what the host only reads')
    call destroy_unified_buffer(output)
  end subroutine modes

  subroutine devices()
    call bind_buffer_to_shader(buffer, 0, stat=status, errmsg=message)
    call refused(STATUS_UNSUPPORTED, 'debug:0', 'a shader binding where there are no shaders')
    call set_gpu_device('debug:7', stat=status, errmsg=message)
    call refused(STATUS_DEVICE_UNAVAILABLE, 'debug:7', 'a GPU that is not there')
    call check(gpu_device() == 'debug:0', 'and the one before stays')
    call end_batch(stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'no batch', 'the end of no batch')
    call begin_batch()
    call begin_batch(stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'has a batch', 'a batch in a batch')
    call end_batch()
  end subroutine devices

  subroutine destroyed()
    type(unified_buffer) :: gone, never
    integer :: x(1)

    gone = create_unified_buffer(4_i64, BUFFER_READ_WRITE)
    call destroy_unified_buffer(gone)
    call destroy_unified_buffer(gone, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'destroyed', 'to destroy a buffer twice')
    call write_buffer(gone, [1], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'destroyed', 'writing after that')
    call read_buffer(gone, x, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'destroyed', 'reading after that')
    call sync_to_gpu(gone, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'destroyed', 'a sync after that')
    call check(.not. c_associated(get_cpu_pointer(gone, 4, stat=status, errmsg=message)), 'there is no pointer then')
    call refused(STATUS_INVALID_ARGUMENT, 'destroyed', 'a pointer after that')
    call write_buffer(never, [1], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'not created', 'a buffer that was never created')
  end subroutine destroyed

  !> What could not be created says why, and nothing else does.
  subroutine failed()
    type(unified_buffer) :: empty, far, never
    type(buffer_lease) :: lease

    empty = create_unified_buffer(0_i64, BUFFER_READ_WRITE, stat=status)
    far = view_buffer(buffer, 100_i64, 4_i64, stat=status)
    lease = acquire_buffer(buffer, 'nowhere', ACCESS_READ, stat=status)
    call write_buffer(far, [1], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'could not be created: buffer #', 'the use of what could not be created')
    call write_buffer(empty, [1], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'could not be created', 'the use of what could not be created before')
    call check(index(message, 'byte 100') == 0, 'which does not tell the failure of another')
    call write_buffer(never, [1], stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'was not created', 'a buffer that was never created')
    call check(index(message, 'byte 100') == 0, 'which tells no failure at all')
    call release_buffer(lease, stat=status, errmsg=message)
    call refused(STATUS_INVALID_ARGUMENT, 'could not be created: "nowhere"', 'to end a lease that was refused')
  end subroutine failed

  !> Messages name procedures of Fortran.
  subroutine names()
    type(unified_buffer) :: used
    integer, pointer, contiguous :: p(:) => null()
    integer(c_intptr_t) :: handle

    used = create_unified_buffer(16_i64, BUFFER_READ_WRITE, MEMORY_GPU_PREFERRED)
    call get_pointer(used, p)
    p = 1
    call sync_to_gpu(used)
    call discard_copy(used, 'host', stat=status, errmsg=message)
    call refused(STATUS_ACCESS_CONFLICT, 'release_cpu_pointer', 'to discard a copy that pointers lead to')
    call release_cpu_pointer(used)
    handle = get_gpu_handle(used)
    call check(handle /= 0, 'the GPU has a handle')
    call discard_content(used, stat=status, errmsg=message)
    call refused(STATUS_ACCESS_CONFLICT, 'release_gpu_handle', 'to discard what the GPU was shown')
    call destroy_unified_buffer(used)
  end subroutine names

  subroutine messages()
    character(10) :: short
    character(:), allocatable :: long

    long = repeat('x', 300)
    call write_buffer(buffer, 1, 100_i64, stat=status, errmsg=short)
    call check(short == '1 elements', 'a short errmsg has the beginning')
    call write_buffer(buffer, 1, 100_i64, stat=status, errmsg=long)
    call check(len_trim(long) < 300 .and. index(long, '16 bytes') > 0, 'a long one is filled with blanks')
    long = repeat('x', 300)
    call write_buffer(buffer, 1, 0_i64, stat=status, errmsg=long)
    call check(status == STATUS_OK .and. long == repeat('x', 300), 'a success leaves errmsg alone')
    call write_buffer(buffer, 1, 100_i64, stat=status)
    call check(status == STATUS_OUT_OF_RANGE, 'stat goes without errmsg')
    call check(index(unified_buffer_message(), 'element 100') > 0, 'and the message can be asked for')
  end subroutine messages

end program bad_input_test
