program consumer
  use gpu_unified_buffers
  use kinds, only: i64
  use mpi_f08
  use unibuf_mpi
  implicit none

  type(unified_buffer) :: buffer
  integer :: rank, got(4)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  buffer = create_unified_buffer(16_i64, BUFFER_READ_WRITE)
  call fill_buffer(buffer, rank)
  if (rank == 0) call recv_buffer(buffer, 1, 5, MPI_COMM_WORLD)
  if (rank == 1) call send_buffer(buffer, 0, 5, MPI_COMM_WORLD)
  call read_buffer(buffer, got)
  if (any(got /= 1)) error stop 'the message has not come'
  call destroy_unified_buffer(buffer)
  call MPI_Finalize()
end program consumer
