!> own_queue_test: the program's own OpenCL context and queue, in the place of unibuf's.
program own_queue_test
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_intptr_t
  use checks
  use gpu_buffer_control
  use gpu_buffer_queries
  use gpu_unified_buffers
  use kinds
  implicit none

  interface
    !> Makes a context of one device and an in-order queue; returns 0 where there are none.
    integer(c_int) function make_queue(context, device, queue) bind(C, name='test_make_queue')
      import :: c_int, c_intptr_t
      integer(c_intptr_t), intent(out) :: context, device, queue
    end function make_queue

    integer(c_intptr_t) function context_of(memory) bind(C, name='test_context_of')
      import :: c_intptr_t
      integer(c_intptr_t), intent(in), value :: memory
    end function context_of

    integer(c_int) function users_of_queue(queue) bind(C, name='test_users_of_queue')
      import :: c_int, c_intptr_t
      integer(c_intptr_t), intent(in), value :: queue
    end function users_of_queue

    !> Fills a cl_mem on the queue, and does not wait.
    subroutine fill(queue, memory, number, bytes) bind(C, name='test_fill')
      import :: c_int, c_int64_t, c_intptr_t
      integer(c_intptr_t), intent(in), value :: queue, memory
      integer(c_int), intent(in), value :: number
      integer(c_int64_t), intent(in), value :: bytes
    end subroutine fill

    subroutine finish_queue(queue) bind(C, name='test_finish')
      import :: c_intptr_t
      integer(c_intptr_t), intent(in), value :: queue
    end subroutine finish_queue
  end interface

  integer(c_intptr_t) :: context, device, queue
  integer :: status
  character(500) :: message

  if (make_queue(context, device, queue) == 0) call skip('no OpenCL context can be made')

  call use_opencl_queue(context, device, queue)
  call check(index(gpu_device(), 'opencl:') == 1 .and. gpu_device() /= 'opencl:0', 'the context is a device of its own')
  call check(any(device_names() == gpu_device()), 'which is listed')
  call check(users_of_queue(queue) > 1, 'and keeps the queue')
  call goes_there_and_back(MEMORY_GPU_PREFERRED, .true.)
  call goes_there_and_back(MEMORY_CPU_PREFERRED, .true.)

  call use_opencl_queue(context, device)
  call goes_there_and_back(MEMORY_GPU_PREFERRED, .false.)
  call use_opencl_queue(context, device, 0_c_intptr_t)
  call goes_there_and_back(MEMORY_GPU_PREFERRED, .false.)

  call use_opencl_queue(context, 0_c_intptr_t, queue, stat=status, errmsg=message)
  call check(status /= STATUS_OK, 'a device of 0 is none: ' // trim(message))
  call finish()

contains

  !> Works on the program's own queue, and finds there what the host wrote, and here what the queue wrote.
  subroutine goes_there_and_back(hint, is_known)
    integer, intent(in) :: hint
    logical, intent(in) :: is_known  ! whether unibuf knows the queue, and waits for it

    integer, parameter :: count = 4096
    type(unified_buffer) :: buffer
    integer(c_intptr_t) :: memory
    integer :: numbers(count), back(count), i

    numbers = [(i, i=1, count)]
    buffer = create_unified_buffer(4_i64*count, BUFFER_READ_WRITE, hint)
    call write_buffer(buffer, numbers)
    memory = get_gpu_handle(buffer)
    call check(context_of(memory) == context, 'the memory is of the program''s context')
    call fill(queue, memory, 7, 400_c_int64_t)
    if (.not. is_known) call finish_queue(queue)
    call sync_from_gpu(buffer)
    call read_buffer(buffer, back)
    call check(all(back(:100) == 7) .and. all(back(101:) == numbers(101:)), 'what its queue wrote is at the host')
    call destroy_unified_buffer(buffer)
  end subroutine goes_there_and_back

end program own_queue_test
