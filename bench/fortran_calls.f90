!> The calls that bench/fortran.cpp times, as a Fortran program would write them.
module fortran_calls
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_float, c_int, c_int64_t, c_intptr_t, c_ptr
  use gpu_unified_buffers
  implicit none
  private

  character(*), parameter :: devices(0:3) = [character(8) :: 'host', 'debug:0', 'opengl:0', 'opencl:0']

  type(unified_buffer) :: buffer, twin
  real(c_float), allocatable :: source(:)
  real(c_float), pointer, contiguous :: plain(:)  ! into the twin's memory, which is the buffer's kind: pages of it cost the same
  type(c_ptr), public, bind(C, name='bench_fortran_pointer') :: pointer

contains

  !> Makes a buffer of `count` elements for the device `devices(device)`. Returns a status, which is not 0 where that
  !> device is not there.
  integer(c_int) function make(count, device) bind(C, name='bench_fortran_make')
    integer(c_int64_t), intent(in), value :: count
    integer(c_int), intent(in), value :: device

    integer :: status

    buffer = create_unified_buffer(4*count, BUFFER_READ_WRITE, device=devices(device), stat=status)
    make = status
    if (status /= STATUS_OK) return
    twin = create_unified_buffer(4*count, BUFFER_READ_WRITE, device=devices(device))
    call c_f_pointer(get_cpu_pointer(twin, 4), plain, [count])
    allocate (source(count))
    source = 1
    plain = 0
  end function make

  subroutine destroy() bind(C, name='bench_fortran_destroy')
    call destroy_unified_buffer(buffer)
    call destroy_unified_buffer(twin)
    deallocate (source)
  end subroutine destroy

  subroutine create_and_destroy(bytes, device) bind(C, name='bench_fortran_create_and_destroy')
    integer(c_int64_t), intent(in), value :: bytes
    integer(c_int), intent(in), value :: device

    type(unified_buffer) :: made

    made = create_unified_buffer(bytes, BUFFER_READ_WRITE, device=devices(device))
    call destroy_unified_buffer(made)
  end subroutine create_and_destroy

  !> Shows the device's copy to the program: from here on unibuf asks the device at each access of the host.
  subroutine show() bind(C, name='bench_fortran_show')
    integer(c_intptr_t) :: handle

    handle = get_gpu_handle(buffer)
  end subroutine show

  subroutine write_one() bind(C, name='bench_fortran_write_one')
    call write_buffer(buffer, source(1:1))
    call sync_to_gpu(buffer)
  end subroutine write_one

  subroutine sync_from() bind(C, name='bench_fortran_sync_from')
    call sync_from_gpu(buffer)
  end subroutine sync_from

  subroutine bind_to_shader() bind(C, name='bench_fortran_bind')
    call bind_buffer_to_shader(buffer, 0)
  end subroutine bind_to_shader

  subroutine get() bind(C, name='bench_fortran_get_cpu_pointer')
    pointer = get_cpu_pointer(buffer, 4)
  end subroutine get

  subroutine write() bind(C, name='bench_fortran_write_buffer')
    call write_buffer(buffer, source)
  end subroutine write

  subroutine assign() bind(C, name='bench_fortran_assign')
    call copy(plain, source)
  end subroutine assign

  subroutine copy(to, from)
    real(c_float), contiguous, intent(out) :: to(:)
    real(c_float), contiguous, intent(in) :: from(:)

    to = from
  end subroutine copy

  subroutine sync() bind(C, name='bench_fortran_sync')
    call sync_to_gpu(buffer)
    call sync_from_gpu(buffer)
  end subroutine sync

  subroutine mark_and_sync() bind(C, name='bench_fortran_mark_and_sync')
    call mark_host_dirty(buffer)
    call sync_to_gpu(buffer)
  end subroutine mark_and_sync

end module fortran_calls
