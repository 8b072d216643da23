!> Finds the edges in a photograph with a GPU: in the way of today, which copies, and by unified buffers.
!>
!> conv2d_fortran PICTURE [WIDTH HEIGHT [FRAMES]]
!>
!> In the table, "copied" is what the program copies for one frame, between its arrays and buffers; "moved" what
!> unibuf moves between memories; "held" what both hold at once, on the host and the GPU; "management" what unibuf's
!> calls for one frame take while the GPU has nothing to do.
program conv2d
  use, intrinsic :: iso_fortran_env, only: error_unit
  use conv2d_current, only: current
  use conv2d_edges, only: find_edges, tolerance
  use conv2d_gpus, only: gpu
  use conv2d_in_place, only: in_place
  use conv2d_measuring, only: measure, measurement
  use conv2d_opencl, only: opencl_gpu
  use conv2d_opengl, only: opengl_gpu
  use conv2d_picture, only: load_picture, take_pixels
  use conv2d_table, only: print_gain, print_head, print_row, print_skipped
  use conv2d_zero_copy, only: zero_copy
  use gpu_unified_buffers, only: BUFFER_READ_WRITE, STATUS_DEVICE_UNAVAILABLE, STATUS_OK, create_unified_buffer, &
                                 destroy_unified_buffer, unified_buffer
  use kinds, only: i64, sp
  implicit none

  real(sp), allocatable :: expected(:, :)
  real(sp) :: largest_error = -1, largest_difference = 0  ! -1 and 0 while there is no result
  integer :: width = 0, height = 0, frames = 20
  type(opengl_gpu) :: opengl
  type(opencl_gpu) :: opencl

  call read_arguments()
  call print_head()
  opengl%name = 'opengl:0'
  call compare_ways(opengl)
  opencl%name = 'opencl:0'
  call compare_ways(opencl)
  if (largest_error >= 0) print '(/, a, es7.1, a, es7.1, a)', 'largest error ', largest_error, &
    ' against a plain loop, ', largest_difference, ' between ways'

contains

  subroutine read_arguments()
    character(4096) :: path

    if (all(command_argument_count() /= [1, 3, 4])) call refuse_arguments()
    call get_command_argument(1, path)
    if (command_argument_count() >= 3) then
      width = number_of(2, 4)
      height = number_of(3, 1)
    end if
    if (command_argument_count() == 4) frames = number_of(4, 1)
    call load_picture(trim(path), width, height)

    allocate (expected(width, height))
    block
      real(sp), allocatable :: picture(:, :)

      allocate (picture(width, height))
      call take_pixels(width*height, picture)
      call find_edges(picture, expected)
    end block
    print '(a, 3(a, i0), a)', trim(path(index(path, '/', back=.true.) + 1:)), ', ', width, 'x', height, &
      ', edges: median of ', frames, ' frames'
  end subroutine read_arguments

  integer function number_of(argument, least) result(value)
    integer, intent(in) :: argument, least

    character(16) :: text
    integer :: status

    call get_command_argument(argument, text, status=status)
    if (status == 0) read (text, '(i16)', iostat=status) value
    if (status /= 0) call refuse_arguments()
    if (value < least .or. value > 16384) call refuse_arguments()
  end function number_of

  subroutine refuse_arguments()
    write (error_unit, '(a)') 'conv2d_fortran: usage: conv2d_fortran PICTURE [WIDTH HEIGHT [FRAMES]], '// &
      'at least 4 pixels wide, numbers up to 16384'
    stop 2, quiet=.true.
  end subroutine refuse_arguments

  subroutine compare_ways(on)
    class(gpu), intent(inout) :: on

    real(sp), allocatable :: today(:, :), result(:, :)
    type(measurement) :: of_today, cost
    type(current) :: by_copying
    type(zero_copy) :: by_writing
    type(in_place) :: by_pointers

    if (.not. is_there(on)) return
    allocate (today(width, height), result(width, height))
    call on%open(width, height)

    of_today = measure(by_copying, on, frames, today)
    call check(on, today, today)
    call print_row(on%name, 'current', of_today, of_today)

    cost = measure(by_writing, on, frames, result)
    call check(on, result, today)
    call print_row(on%name, 'write and read', cost, of_today)

    cost = measure(by_pointers, on, frames, result)
    call check(on, result, today)
    call print_row(on%name, 'in place', cost, of_today)
    call print_gain(on%name, of_today, cost)
    call on%close()
  end subroutine compare_ways

  !> Returns whether the device is there, and says why not where it is missing.
  logical function is_there(on)
    class(gpu), intent(in) :: on

    type(unified_buffer) :: probe
    character(500) :: reason
    integer :: status

    probe = create_unified_buffer(1_i64, BUFFER_READ_WRITE, device=on%name, stat=status, errmsg=reason)
    is_there = status == STATUS_OK
    if (is_there) then
      call destroy_unified_buffer(probe)
    else if (status == STATUS_DEVICE_UNAVAILABLE) then
      call print_skipped(on%name, reason)
    else
      error stop trim(reason)
    end if
  end function is_there

  !> Stops the program where a pixel is off, also by not being a number.
  subroutine check(on, result, today)
    class(gpu), intent(in) :: on
    real(sp), intent(in) :: result(:, :), today(:, :)

    largest_error = max(largest_error, maxval(abs(result - expected)))
    largest_difference = max(largest_difference, maxval(abs(result - today)))
    if (.not. all(abs(result - expected) <= tolerance)) error stop 'conv2d_fortran: wrong pixels by '//on%name
  end subroutine check

end program conv2d
