!> The types and constants of gpu_unified_buffers.
module gpu_buffer_types
  use, intrinsic :: iso_c_binding, only: c_ptr, c_null_ptr
  use kinds, only: i64
  implicit none
  public
  private :: c_ptr, c_null_ptr, i64

  !> The access modes say what the host does with a buffer.
  enum, bind(C)
    enumerator :: BUFFER_READ_ONLY = 1   !< the GPU's output
    enumerator :: BUFFER_WRITE_ONLY = 2  !< the GPU's input
    enumerator :: BUFFER_READ_WRITE = 3
    enumerator :: BUFFER_CONSTANT = 4    !< memory of create_buffer_over that nobody writes, neither the CPU nor the GPU
  end enum

  !> The memory hints say who should have the memory.
  enum, bind(C)
    enumerator :: MEMORY_CPU_PREFERRED = 1  !< shared, near the host
    enumerator :: MEMORY_GPU_PREFERRED = 2  !< mirrored: a copy of its own on either side
    enumerator :: MEMORY_COHERENT = 3       !< shared, each side sees what the other writes
    enumerator :: MEMORY_STREAMING = 4      !< shared, write-combined where the platform has it
  end enum

  !> The states say which side of a buffer is newest: buffer_state gives them.
  enum, bind(C)
    enumerator :: BUFFER_UNINITIALIZED = 0  !< no copy exists
    enumerator :: BUFFER_HOST_ONLY = 1      !< only the host has a copy, and nothing was written to it
    enumerator :: BUFFER_DEVICE_ONLY = 2    !< only the GPU has a copy, and nothing was written to it
    enumerator :: BUFFER_SYNCHRONIZED = 3   !< host and GPU are current everywhere
    enumerator :: BUFFER_HOST_DIRTY = 4     !< the host was written, and the GPU lacks some of it
    enumerator :: BUFFER_DEVICE_DIRTY = 5   !< the GPU was written, and the host lacks some of it
    enumerator :: BUFFER_MIXED = 6          !< each side has bytes that the other lacks
  end enum

  !> The accesses say what a lease may do with its bytes.
  enum, bind(C)
    enumerator :: ACCESS_READ = 1
    enumerator :: ACCESS_WRITE = 2  !< discards the old contents, so nothing is fetched
    enumerator :: ACCESS_READ_WRITE = 3
  end enum

  !> The values of `stat`.
  enum, bind(C)
    enumerator :: STATUS_OK = 0
    enumerator :: STATUS_NOT_ALLOCATED = 1       !< marked or synchronized before any copy existed
    enumerator :: STATUS_OUT_OF_MEMORY = 2       !< the device or the host has no room
    enumerator :: STATUS_DEVICE_UNAVAILABLE = 3  !< the device is known, but cannot be used here
    enumerator :: STATUS_DEVICE_LOST = 4         !< the device failed for good
    enumerator :: STATUS_INVALID_ARGUMENT = 5    !< nonsense in a call
    enumerator :: STATUS_OUT_OF_RANGE = 6        !< outside the buffer
    enumerator :: STATUS_ACCESS_CONFLICT = 7     !< leases that exclude each other
    enumerator :: STATUS_TRANSFER_FAILED = 8     !< bytes could not be moved; what was current still is
    enumerator :: STATUS_TIMEOUT = 9
    enumerator :: STATUS_UNSUPPORTED = 10
  end enum

  !> One array of bytes, for the host and a GPU. This type is a handle: copies of it stand for the same buffer, which
  !> lives until one of them is destroyed. Using another one then is an error.
  type, bind(C) :: unified_buffer
    private
    type(c_ptr) :: slot = c_null_ptr
    integer(i64) :: generation = 0
  end type unified_buffer

  !> The right to touch a range of a buffer at one memory, from acquire_buffer to release_buffer.
  type, bind(C) :: buffer_lease
    private
    type(c_ptr) :: slot = c_null_ptr
    integer(i64) :: generation = 0
  end type buffer_lease

  !> Buffers that are used again, with the memory that they have.
  type, bind(C) :: buffer_pool
    private
    type(c_ptr) :: slot = c_null_ptr
    integer(i64) :: generation = 0
  end type buffer_pool

  type, bind(C) :: pool_statistics
    integer(i64) :: hits = 0        !< acquisitions that were given a buffer that was there
    integer(i64) :: misses = 0      !< acquisitions for which a buffer was made
    integer(i64) :: held = 0        !< buffers that are there to be acquired
    integer(i64) :: held_bytes = 0
    integer(i64) :: peak_bytes = 0  !< the most that all buffers of the pool had at one time
  end type pool_statistics

  type, bind(C) :: transfer_statistics
    integer(i64) :: transfers = 0
    integer(i64) :: bytes_moved = 0
    integer(i64) :: publications = 0  !< shared memory made visible: no byte moved
    integer(i64) :: fence_waits = 0   !< times that the host stopped for a device
    integer(i64) :: evictions = 0     !< copies that made room for others
  end type transfer_statistics

end module gpu_buffer_types
