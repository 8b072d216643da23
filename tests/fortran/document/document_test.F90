!> The design document's use of its module: the same program on unibuf's module and on the one that the document writes.
program document_test
  use checks
  use gpu_compute_shaders
  use gpu_unified_buffers
  use iso_c_binding
  use kinds
  implicit none

  type(unified_buffer) :: input_buffer, output_buffer, both
  type(compute_shader) :: shader
  integer, parameter :: n = 1000
  integer(i64) :: size
  real(sp) :: cpu_input(n), cpu_output(n)
  real(sp), pointer :: direct(:)
  type(unified_buffer) :: used(2)  ! what the shader computes with, where the host does it
  logical :: has_gpu
  integer :: i, status
  character(500) :: message

  shader = create_compute_shader( &
           '#version 450' // new_line('a') // 'layout(local_size_x = 8) in;' // &
           'layout(std430, binding = 0) readonly buffer input_numbers { float from[]; };' // &
           'layout(std430, binding = 1) buffer output_numbers { float to[]; };' // &
           'void main() { to[gl_GlobalInvocationID.x] = 2.0*from[gl_GlobalInvocationID.x]; }', &
           stat=status, errmsg=message)
  has_gpu = status == 0
#ifdef DOCUMENTS_MODULE
  if (.not. has_gpu) call skip(trim(message))  ! its inside is OpenGL's
#endif
  if (.not. has_gpu) call use_copy_fallback()
  size = 4*n
  cpu_input = [(real(i, sp), i=1, n)]

  ! Create unified buffers once
  input_buffer = create_unified_buffer(size, BUFFER_WRITE_ONLY)
  output_buffer = create_unified_buffer(size, BUFFER_READ_ONLY)

  ! Direct write - no copy!
  call write_buffer(input_buffer, cpu_input)

  ! Execute
  call bind_buffer_to_shader(input_buffer, 0)
  call bind_buffer_to_shader(output_buffer, 1)
  used = [input_buffer, output_buffer]
  call gpu_compute()

  ! Direct read - no copy!
  call read_buffer(output_buffer, cpu_output)

  call check(all(cpu_output == 2*cpu_input), 'the zero-copy implementation')

  both = create_unified_buffer(size, BUFFER_READ_WRITE, MEMORY_COHERENT)
  call c_f_pointer(get_cpu_pointer(both, 4), direct, [n])
  direct = cpu_input
  call sync_to_gpu(both)
  call bind_buffer_to_shader(both, 0)
  used = [both, output_buffer]
  call gpu_compute()
  call read_buffer(output_buffer, cpu_output)
  call check(all(cpu_output == 2*cpu_input), 'a pointer, and sync_to_gpu')
  call bind_buffer_to_shader(both, 1)
  used = both
  call gpu_compute()
  call sync_from_gpu(both)
  call check(all(direct == 2*cpu_input), 'and sync_from_gpu')
  call write_buffer(both, [7.0_sp, 8.0_sp], 10_i64)
  call check(direct(11) == 7 .and. direct(12) == 8 .and. direct(13) == 26, 'an offset in elements')

  if (.not. buffer_is_valid(both)) call use_copy_fallback()
  call check(buffer_is_valid(both), 'a buffer is valid')
  call destroy_unified_buffer(both)
  call check(.not. buffer_is_valid(both), 'until it is destroyed')
  call destroy_unified_buffer(input_buffer)
  call destroy_unified_buffer(output_buffer)
#ifdef DOCUMENTS_MODULE
  call of_the_document()
#endif
  call finish()

contains

  subroutine gpu_compute()
    real(sp) :: numbers(n)

    if (has_gpu) then
      call dispatch_compute(shader, n/8)
    else
      call read_buffer(used(1), numbers)
      call write_buffer(used(2), 2*numbers)
    end if
  end subroutine gpu_compute

#ifdef DOCUMENTS_MODULE
  !> What it shows of the inside.
  subroutine of_the_document()
    type(unified_buffer) :: buffer, huge_one

    buffer = create_unified_buffer(size, BUFFER_READ_WRITE)
    call write_buffer_safe(buffer, cpu_input)
    call bind_buffer_to_shader(buffer, 1)
    call write_buffer_safe(buffer, 3*cpu_input)
    call read_buffer(buffer, cpu_output)
    call check(all(cpu_output == 3*cpu_input), 'automatic fencing')
    call check_creation(buffer)
    call check(.not. fell_back .and. .not. map_failed, 'nothing fails')
    huge_one = create_unified_buffer(huge(1_i64), BUFFER_READ_WRITE)
    call check_creation(huge_one)
    call check(fell_back .and. map_failed, 'error handling')
    call destroy_unified_buffer(buffer)
  end subroutine of_the_document
#endif

end program document_test
