// unibuf/unibuf.h: the C API. One buffer, with copies on the host and on devices; bytes move when somebody needs them.
//
//  1. A function that can fail returns a unibuf_status: UNIBUF_OK, or what went wrong. unibuf_message() then says what
//     was asked, of which buffer, and what is allowed. What it would have written through a pointer is left alone, and
//     the buffer is as before, or better: newest content is never lost. A function without a status cannot fail.
//  2. Handles are opaque, and belong to whoever got them. Each ends once, by the function that its type names; that one
//     takes NULL too, and does nothing. Everywhere else NULL is UNIBUF_INVALID_ARGUMENT, but where a function says what
//     it means.
//  3. Options may be NULL, which means the defaults. A struct of them starts as its UNIBUF_..._INIT.
//  4. Offsets and sizes are bytes. UNIBUF_REST as a size means up to the end of the handle, also where the caller's
//     memory is filled or read.
//  5. A string that is given belongs to unibuf, ends with a NUL and lives as long as the process, or as it says.
//  6. Any thread may call any function, and different buffers never contend. But a handle ends, and a unibuf_lease is
//     used, while no other thread uses it.
//  7. No exception leaves a function. Where the host has no memory for bookkeeping, it is UNIBUF_OUT_OF_MEMORY.
//  8. Numbers in enums stay as they are. Structs change with the major version only, and before 1.0 with the minor one.
//
// A function costs what the C++ function of its name costs, and a call. The documents explain the words ("Concepts")
// and show each verb ("C guide").
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The version of this header. Structs change with the major version, and before 1.0 with the minor one.
#define UNIBUF_VERSION_MAJOR 0
#define UNIBUF_VERSION_MINOR 1
#define UNIBUF_VERSION_PATCH 0
#define UNIBUF_VERSION "0.1.0"

#if defined(_WIN32)
#define UNIBUF_C_API
#else
#define UNIBUF_C_API __attribute__((visibility("default")))
#endif

// An enum may come in with any value of an int, also where the library is C++: a value that the enum does not name is
// refused.
#ifdef __cplusplus
#define UNIBUF_C_ENUM(name) enum name : int
#else
#define UNIBUF_C_ENUM(name) enum name
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- Errors ---------------------------------------------------------------------------------------------------------

typedef UNIBUF_C_ENUM(unibuf_status){
    UNIBUF_OK = 0,
    UNIBUF_NOT_ALLOCATED = 1,       // marked or synchronized before any copy existed
    UNIBUF_OUT_OF_MEMORY = 2,       // the space has no room, or the host none for bookkeeping
    UNIBUF_DEVICE_UNAVAILABLE = 3,  // the space is known, but cannot be used here; the message says why
    UNIBUF_DEVICE_LOST = 4,         // the device failed for good
    UNIBUF_INVALID_ARGUMENT = 5,    // nonsense in a call
    UNIBUF_OUT_OF_RANGE = 6,        // an offset or a size outside the buffer
    UNIBUF_ACCESS_CONFLICT = 7,     // leases that exclude each other, or the last current copy at stake
    UNIBUF_TRANSFER_FAILED = 8,     // bytes could not be moved; what was current still is
    UNIBUF_TIMEOUT = 9,             // the time that the caller gave has passed
    UNIBUF_UNSUPPORTED = 10         // nobody can do this here
} unibuf_status;

/// Returns what the last failure on this thread was about; "" before the first. The text lives until the next failure
/// on this thread.
UNIBUF_C_API const char* unibuf_message(void);

/// Returns the version of the library that is loaded: "0.1.0". UNIBUF_VERSION is that of the header.
UNIBUF_C_API const char* unibuf_version(void);

/// Returns "out_of_memory", and so on; "unknown" for a number that is no status.
UNIBUF_C_API const char* unibuf_status_name(unibuf_status status);

// ---- Spaces ---------------------------------------------------------------------------------------------------------

/// A space is where a copy can live: a small number, good as long as the process.
typedef int32_t unibuf_space;
#define UNIBUF_HOST 0
#define UNIBUF_NO_SPACE (-1)

/// Finds a space by its name: "host", "cuda:0", "opengl:0", "opencl:0", "debug:0". May load the driver behind it
/// (hundreds of milliseconds, once). UNIBUF_DEVICE_UNAVAILABLE where it is not there; the message has the reason.
UNIBUF_C_API unibuf_status unibuf_find_space(const char* name, unibuf_space* where);

/// Returns the name of a space; NULL for a number that is none.
UNIBUF_C_API const char* unibuf_space_name(unibuf_space where);

/// Writes the space that unibuf_device and the like mean when they are called: the one that was set, else the first
/// CUDA device, else the host.
UNIBUF_C_API unibuf_status unibuf_default_device(unibuf_space* where);
UNIBUF_C_API unibuf_status unibuf_set_default_device(unibuf_space where);

/// A list of every space there is and of every kind that is missing or lacks devices. Ends by unibuf_devices_destroy.
typedef struct unibuf_devices unibuf_devices;

typedef struct unibuf_device_property {
    const char* name;
    const char* value;
} unibuf_device_property;

/// Tells what a space is, or why it is missing. The strings live as long as the list.
typedef struct unibuf_device_info {
    const char* name;         // "opencl:0"; of a kind that is missing, or lacks devices, the kind: "opencl"
    const char* reason;       // why it is not available; "" where it is
    const char* description;  // name that its driver gives it
    uint64_t memory_bytes;    // 0 where its driver does not say
    const unibuf_device_property* properties;  // what else its driver says
    size_t property_count;
    bool available;
    bool own_memory;    // memory of its own, apart from the host's
    bool aliases_host;  // can use the host's memory in place
    bool host_visible;  // can give memory that the host addresses too
    bool asynchronous;  // queues work; fences tell when it is done
} unibuf_device_info;

/// Makes a list of all devices. Loads all drivers at the first call.
UNIBUF_C_API unibuf_status unibuf_devices_list(unibuf_devices** devices);
UNIBUF_C_API size_t unibuf_devices_count(const unibuf_devices* devices);  // 0 for NULL
UNIBUF_C_API unibuf_status unibuf_devices_get(const unibuf_devices* devices, size_t index, unibuf_device_info* info);
UNIBUF_C_API void unibuf_devices_destroy(unibuf_devices* devices);

#define UNIBUF_UNKNOWN UINT64_MAX
#define UNIBUF_NO_LIMIT UINT64_MAX

/// The memory of a space, in bytes: what its driver says of all programs, and what this program's buffers have of it.
typedef struct unibuf_memory {
    uint64_t total;   // 0 where the driver does not say
    uint64_t free;    // UNIBUF_UNKNOWN where the driver does not say
    uint64_t held;    // what all buffers hold; shared placement counts at the space that allocated it
    uint64_t peak;    // the most that was held, since the process began or unibuf_reset_peak_memory
    uint64_t limit;   // UNIBUF_NO_LIMIT unless one was set
    uint64_t pooled;  // the part of `held` that buffers in pools have
    uint64_t pinned;  // at the host, what is kept pinned; elsewhere 0
} unibuf_memory;

UNIBUF_C_API unibuf_status unibuf_memory_of(unibuf_space where, unibuf_memory* memory);

/// Writes what all spaces together hold, and the most that they held.
UNIBUF_C_API void unibuf_memory_held(uint64_t* held, uint64_t* peak);
UNIBUF_C_API void unibuf_reset_peak_memory(void);

/// Sets the most bytes that buffers may hold in a space from now on. Where that is reached, copies make room that are
/// current elsewhere, then those that were used least recently, after they have been written back.
UNIBUF_C_API unibuf_status unibuf_limit_memory(unibuf_space where, uint64_t bytes);

/// Gives back to the system what unibuf keeps of a space for later.
UNIBUF_C_API unibuf_status unibuf_trim_memory(unibuf_space where);

/// Sets how long calls wait, on all threads, that name no timeout, or UNIBUF_FOREVER: for accesses of other threads
/// that exclude them, and for work that is queued. After that they return UNIBUF_TIMEOUT, and no content has changed.
/// It is UNIBUF_FOREVER at first.
UNIBUF_C_API unibuf_status unibuf_set_default_timeout(int64_t timeout_ns);

// ---- Buffers --------------------------------------------------------------------------------------------------------

/// A logical array of bytes, or a part of one. Ends by unibuf_destroy, or goes to unibuf_pool_release.
typedef struct unibuf_buffer unibuf_buffer;

/// A queue of device work that is the caller's: a cl_command_queue, a CUDA stream, an OpenGL context. Made by
/// unibuf_opencl_queue, unibuf_cuda_queue and unibuf_opengl_queue: a pointer that they have never returned is refused.
/// NULL names none.
typedef void* unibuf_queue;

typedef UNIBUF_C_ENUM(unibuf_host_access){
    UNIBUF_HOST_READ_WRITE = 0,
    UNIBUF_HOST_READ_ONLY = 1,   // the device's output
    UNIBUF_HOST_WRITE_ONLY = 2,  // the device's input
    UNIBUF_HOST_CONSTANT = 3     // memory of unibuf_create_over that nobody writes, neither the host nor a device
} unibuf_host_access;

typedef UNIBUF_C_ENUM(unibuf_memory_hint){
    UNIBUF_HINT_NONE = 0,           // shared where the device has no memory of its own, else mirrored
    UNIBUF_HINT_CPU_PREFERRED = 1,  // shared
    UNIBUF_HINT_GPU_PREFERRED = 2,  // mirrored
    UNIBUF_HINT_COHERENT = 3,       // shared
    UNIBUF_HINT_STREAMING = 4       // shared, write-combined where the platform has it
} unibuf_memory_hint;

typedef UNIBUF_C_ENUM(unibuf_write_tracking){
    UNIBUF_TRACKING_AUTOMATIC = 0,  // what the program writes through pointers of unibuf_host is found
    UNIBUF_TRACKING_OFF = 1         // the host counts as written as long as pointers are out
} unibuf_write_tracking;

typedef struct unibuf_options {
    unibuf_host_access access;
    unibuf_memory_hint hint;
    unibuf_write_tracking tracking;
    unibuf_space device;  // the device that the buffer is for; UNIBUF_NO_SPACE means the default device
    bool pinned;          // keeps the host's copy page-locked, for CUDA
    bool uninitialized;   // leaves bytes that nobody has written as they are, instead of zero
} unibuf_options;

#define UNIBUF_OPTIONS_INIT \
    {UNIBUF_HOST_READ_WRITE, UNIBUF_HINT_NONE, UNIBUF_TRACKING_AUTOMATIC, UNIBUF_NO_SPACE, false, false}

#define UNIBUF_REST SIZE_MAX
#define UNIBUF_FOREVER INT64_MAX

/// The part of a buffer that an access is about, how long it may wait, and the queue that its work is on. A size of 0
/// where the handle has bytes from the offset on is UNIBUF_INVALID_ARGUMENT: a struct that starts as {0} has it.
typedef struct unibuf_access_options {
    size_t offset;
    size_t size;
    int64_t timeout_ns;
    unibuf_queue queue;
} unibuf_access_options;

#define UNIBUF_ACCESS_INIT {0, UNIBUF_REST, UNIBUF_FOREVER, NULL}

/// Makes a buffer. Allocates no copy.
UNIBUF_C_API unibuf_status unibuf_create(size_t bytes, const unibuf_options* options, unibuf_buffer** buffer);

/// Makes a buffer whose host copy is memory of the program's own, with the content that it has. When the copy goes,
/// `on_free(context)` is called, unless it is NULL; it must not call unibuf. Where unibuf_create_over fails, it is not
/// called. Where some of the bytes are those of such a buffer already, or may not be written: UNIBUF_INVALID_ARGUMENT.
///
/// With UNIBUF_HOST_CONSTANT the memory is for reading, as weights in a mapped file are, and unibuf never writes it.
/// What would write any byte of the buffer, at any space, is UNIBUF_INVALID_ARGUMENT, but a mark of the host, which
/// says that somebody else has written the memory: nobody looks for that.
UNIBUF_C_API unibuf_status unibuf_create_over(void* memory, size_t bytes, void (*on_free)(void* context), void* context,
                                              const unibuf_options* options, unibuf_buffer** buffer);

/// Makes another handle, which stands for a part of the buffer. Overlapping views are coherent with each other; the
/// buffer lives as long as one handle does.
UNIBUF_C_API unibuf_status unibuf_view(unibuf_buffer* buffer, size_t offset, size_t size, unibuf_buffer** view);

/// Makes another handle, which stands for a rectangle: the buffer is seen as a row-major array of `axes` axes, at most
/// 7, of elements of `element_size` bytes, and the rectangle has the indices begin[i] <= index < end[i] along axis i.
/// Only its bytes move, and exclude others; it costs what a range costs, however many rows it has. Leases, pointers and
/// native memory reach from its first byte to its last, and its rows are as far apart as those of the array: what lies
/// between is others'. unibuf_size is the number of its own bytes, which unibuf_copy_from and unibuf_copy_to take and
/// give without gaps; a fill repeats within each row. Functions that take an offset and a size take all of it only,
/// else they fail with UNIBUF_UNSUPPORTED. While pointers of unibuf_host are out, a rectangle of more than 64 rows
/// counts as written. UNIBUF_OUT_OF_RANGE for indices outside, UNIBUF_INVALID_ARGUMENT where the extents are not those
/// of the handle, an axis has no index, or the handle begins within a row; UNIBUF_UNSUPPORTED for a handle to a
/// rectangle.
UNIBUF_C_API unibuf_status unibuf_view_rect(unibuf_buffer* buffer, size_t element_size, size_t axes,
                                            const size_t* extents, const size_t* begin, const size_t* end,
                                            unibuf_buffer** view);

/// Ends a handle. The end of the last handle waits for queued work, then frees the copies. Leases keep the copies until
/// they end.
UNIBUF_C_API void unibuf_destroy(unibuf_buffer* buffer);

UNIBUF_C_API size_t unibuf_size(const unibuf_buffer* buffer);  // size of what the handle stands for; 0 for NULL
UNIBUF_C_API uint64_t unibuf_id(const unibuf_buffer* buffer);  // number of the buffer, never used twice in a process

/// A name by which processes of one user on one machine find a buffer; ends with a NUL.
typedef struct unibuf_shared_name {
    char text[64];
} unibuf_shared_name;

/// Moves the host's copy into memory that other processes can have, and names it for unibuf_attach; the content is
/// copied there once. A buffer that is shared already just gets its name again, which is good as long as this process
/// has the buffer. Waits for all leases. UNIBUF_ACCESS_CONFLICT while pointers, device handles or unibuf_held are out,
/// UNIBUF_INVALID_ARGUMENT for a handle of a part. Linux only.
UNIBUF_C_API unibuf_status unibuf_share(unibuf_buffer* buffer, unibuf_shared_name* name);

/// Gives the buffer that another process, or this one, shares under that name, as an array of bytes. Where this process
/// has a buffer of it already, this is another handle of that one; else it is a new buffer with these options.
/// UNIBUF_INVALID_ARGUMENT where the process that gave the name has ended, or has dropped the buffer.
///
/// Each process has device copies of its own. Device accesses find what other processes have written at the host. While
/// one process has newer content on a device, accesses by the others are UNIBUF_ACCESS_CONFLICT. When that process has
/// ended with it, their accesses are UNIBUF_TRANSFER_FAILED, until unibuf_mark_host_dirty of the whole buffer says that
/// the host's bytes stand.
UNIBUF_C_API unibuf_status unibuf_attach(const char* name, const unibuf_options* options, unibuf_buffer** buffer);

// ---- Leases ---------------------------------------------------------------------------------------------------------

typedef UNIBUF_C_ENUM(unibuf_access){UNIBUF_READ = 1,
                                     UNIBUF_WRITE = 2,  // discards the old contents, so nothing is fetched
                                     UNIBUF_READ_WRITE = 3} unibuf_access;

/// The name that the API of a space has for a copy. The headers unibuf/cuda.h, opencl.h and opengl.h give it its type.
typedef struct unibuf_native {
    unibuf_space where;
    uintptr_t handle;  // a cl_mem, a buffer name, a CUdeviceptr, an address
    size_t offset;     // where the first byte lies that was asked for
    size_t size;
} unibuf_native;

/// The right to touch a range in one space under one access, until unibuf_release. The struct lies with the caller, and
/// is not to be copied. A lease that is set to UNIBUF_LEASE_INIT holds nothing.
typedef struct unibuf_lease {
    void* data;  // the first byte, where the host can address it; else NULL
    unibuf_native native;
    uint64_t reserved[8];
} unibuf_lease;

#define UNIBUF_LEASE_INIT {NULL, {0, 0, 0, 0}, {0}}

/// Takes a lease. Makes a copy at `where` if there is none, and makes it current. Waits for accesses of other threads
/// that exclude this one, at most the timeout; UNIBUF_ACCESS_CONFLICT where the same thread excludes it. The memory of
/// a UNIBUF_READ lease is for reading. What `lease` was before does not matter; where this fails it holds nothing.
UNIBUF_C_API unibuf_status unibuf_acquire(unibuf_buffer* buffer, unibuf_space where, unibuf_access access,
                                          const unibuf_access_options* options, unibuf_lease* lease);

typedef struct unibuf_wanted_lease {
    unibuf_buffer* buffer;
    unibuf_space where;
    unibuf_access access;
    const unibuf_access_options* options;
} unibuf_wanted_lease;

/// Takes `count` leases, or none. Threads that take their leases by this call never wait for each other in a circle.
UNIBUF_C_API unibuf_status unibuf_acquire_together(const unibuf_wanted_lease* wanted, size_t count,
                                                   unibuf_lease* leases);

/// Ends a lease, on any thread. After the end of a lease at a device, later accesses wait for what was queued there.
/// Does nothing with a lease that holds nothing, or with NULL.
UNIBUF_C_API void unibuf_release(unibuf_lease* lease);

/// The completion of queued device work. Ends by unibuf_fence_destroy.
typedef struct unibuf_fence unibuf_fence;

/// Ends a lease at a device with work that goes on until `done`, an event of the program's own: unibuf_fence_create
/// makes one of anything that can be waited for. Later accesses wait for `done` alone, and not for what is queued at
/// the device. UNIBUF_INVALID_ARGUMENT where the lease holds nothing or is at the host. Where this fails, the lease
/// stays held. The fence may be destroyed at once.
UNIBUF_C_API unibuf_status unibuf_release_after(unibuf_lease* lease, const unibuf_fence* done);

// ---- Raw access: a lease taken and ended in one step ----------------------------------------------------------------

/// Gives a pointer that may be written through at any time, until unibuf_release_host or the
/// end of the buffer. What was written is found by the next access elsewhere, and only the pages that it touched move.
/// Where the host only reads the buffer, the pointer is for reading; UNIBUF_INVALID_ARGUMENT where its content is
/// constant.
UNIBUF_C_API unibuf_status unibuf_host(unibuf_buffer* buffer, void** pointer);

/// Gives a pointer for reading only, which is good as long as one of unibuf_host, and costs nothing later.
UNIBUF_C_API unibuf_status unibuf_host_to_read(unibuf_buffer* buffer, const void** pointer);

/// Says that pointers from unibuf_host are not used any more.
UNIBUF_C_API unibuf_status unibuf_release_host(unibuf_buffer* buffer);

/// Gives the default device's copy, for reading, or for writing that unibuf_mark_device_dirty tells of.
UNIBUF_C_API unibuf_status unibuf_device(unibuf_buffer* buffer, unibuf_native* native);
UNIBUF_C_API unibuf_status unibuf_release_device(unibuf_buffer* buffer);

/// Writes the address of the first byte, where the handles of the space are addresses: at the host, at debug and CUDA
/// devices. Elsewhere it is UNIBUF_UNSUPPORTED.
UNIBUF_C_API unibuf_status unibuf_native_address(const unibuf_native* native, void** address);

/// A copy that is held in place until unibuf_let_go. It may be used as what unibuf_host and unibuf_device give. A
/// unibuf_held is no lease, and excludes nobody; it keeps the buffer's memory, also where the buffer is gone.
typedef struct unibuf_held unibuf_held;

UNIBUF_C_API unibuf_status unibuf_hold(unibuf_buffer* buffer, unibuf_space where, size_t offset, size_t size,
                                       unibuf_held** held);

/// Gives the host's memory to what no page table shows, and holds it until unibuf_let_go: reads with O_DIRECT, libaio,
/// io_uring with registered buffers, process_vm_writev, MPI between processes of a machine, RDMA. Such stores are found
/// by nobody, so the bytes count as written all the time; let go of them after the I/O has ended. Accesses elsewhere
/// move them each time, and may see half of it; what would write them elsewhere is UNIBUF_ACCESS_CONFLICT. UNIBUF_WRITE
/// discards the old content, so that nothing is fetched; UNIBUF_READ_WRITE keeps it.
UNIBUF_C_API unibuf_status unibuf_hold_for_io(unibuf_buffer* buffer, unibuf_access what, size_t offset, size_t size,
                                              unibuf_held** held);

/// Puts an upload of these bytes into the CUDA graph that the stream `options->queue` is capturing: each launch copies
/// what the host's memory holds by then. Nothing moves now. unibuf does not hear of launches, so the program orders
/// them: a launch reads the host's copy, and writes the one at `where`, which is held until unibuf_let_go: call that
/// when the work of the last launch is done. Until then a write of these bytes elsewhere than at the host is
/// UNIBUF_ACCESS_CONFLICT.
///
/// UNIBUF_UNSUPPORTED where the host's copy is not pinned, or does not have the newest of the bytes, and where `where`
/// is not of CUDA; UNIBUF_INVALID_ARGUMENT where no stream is named that is being captured. Where it fails, drop the
/// graph.
UNIBUF_C_API unibuf_status unibuf_capture_upload(unibuf_buffer* buffer, unibuf_space where,
                                                 const unibuf_access_options* options, unibuf_held** held);

UNIBUF_C_API unibuf_status unibuf_held_native(const unibuf_held* held, unibuf_native* native);
UNIBUF_C_API void* unibuf_held_data(const unibuf_held* held);  // NULL where the host cannot address it

/// The holder of what unibuf_hold gave, which is asked to let go of it where that is in the way: of an eviction where
/// memory is short, of discard, discard_content and share, and of a release to a pool; at the host also of accesses
/// elsewhere, which would have to look for what was written.
///
/// `let_go` calls unibuf_let_go, or refuses by leaving it: then the copy counts as used just now. It is called with no
/// lock of unibuf held, on the thread that is in need; several threads may call it at once, also while another thread
/// lets go. It may take locks of the program, as long as no thread that holds one of them calls unibuf and waits there.
/// It may let go of nothing else. Inside it, an access to the buffer for which the memory is needed is
/// UNIBUF_ACCESS_CONFLICT.
///
/// `ended`, or NULL, is called once: when unibuf_let_go has been called and all calls of `let_go` have returned, or
/// another holder has been named. Until then `context` has to live.
typedef struct unibuf_holder {
    void (*let_go)(void* context);
    void (*ended)(void* context);
    void* context;
} unibuf_holder;

/// Names the holder, who is asked from now on; a new one takes the place of the one before. Where this fails, `ended`
/// is not called.
UNIBUF_C_API unibuf_status unibuf_held_by(unibuf_held* held, const unibuf_holder* holder);

UNIBUF_C_API void unibuf_let_go(unibuf_held* held);

// ---- Standing holds -------------------------------------------------------------------------------------------------

/// The right of one device to read, or to read and write, a range at any time, and to tell nobody: for a buffer that is
/// bound to a shader, a raw handle that is kept, or a graph. Ends by unibuf_standing_hold_release. It keeps the buffer,
/// and its copy where it is. One hold is used by one thread at a time.
typedef struct unibuf_standing_hold unibuf_standing_hold;

/// Says when bytes that an access elsewhere has taken from a standing hold are given back to it.
typedef UNIBUF_C_ENUM(unibuf_reopening){
    UNIBUF_REOPENS_AT_ONCE = 0,   // as soon as nobody elsewhere holds them
    UNIBUF_REOPENS_WHEN_TOLD = 1  // when unibuf_standing_hold_resume is called
} unibuf_reopening;

/// The part of a buffer that a standing hold is about, and how its device becomes quiet. A device that queues its work
/// is quiet when all is done that was submitted until then: to the queue, or, where it is NULL, to the whole device.
///
/// Where other threads work there, `pause` stops them, and `resume` lets them go on; either may be NULL. Both are
/// called with no lock held, on the thread whose access takes the bytes or gives them back, and must not use those
/// bytes by unibuf. What `pause` returns is the status of that access: with any but UNIBUF_OK it fails, and nothing has
/// moved. A call that is under way on another thread when the hold ends goes on, so `context` has to live until that
/// call has returned, too.
typedef struct unibuf_standing_options {
    size_t offset;
    size_t size;
    int64_t timeout_ns;  // how long unibuf_bind may wait
    unibuf_queue queue;
    unibuf_reopening reopens;
    unibuf_status (*pause)(void* context);
    void (*resume)(void* context);
    void* context;
} unibuf_standing_options;

#define UNIBUF_STANDING_INIT {0, UNIBUF_REST, UNIBUF_FOREVER, NULL, UNIBUF_REOPENS_AT_ONCE, NULL, NULL, NULL}

/// Binds a range to a device, for UNIBUF_READ or UNIBUF_READ_WRITE. Waits as unibuf_acquire does. While its bytes are
/// open, the device has the newest content. An access elsewhere waits until the device is quiet, takes just the bytes
/// that it asks for, and gives them back when it ends. UNIBUF_ACCESS_CONFLICT where a standing hold at another space is
/// in the way.
UNIBUF_C_API unibuf_status unibuf_bind(unibuf_buffer* buffer, unibuf_space where, unibuf_access access,
                                       const unibuf_standing_options* options, unibuf_standing_hold** hold);

/// Writes what the API of the space calls the copy; it is good until the hold ends.
UNIBUF_C_API unibuf_status unibuf_standing_hold_native(const unibuf_standing_hold* hold, unibuf_native* native);

/// Gives the device all bytes that were taken from it, with the newest content. Bytes that are leased elsewhere go to
/// it when their leases end.
UNIBUF_C_API unibuf_status unibuf_standing_hold_resume(unibuf_standing_hold* hold);

/// Waits until the device is quiet, and takes all bytes from it until unibuf_standing_hold_resume.
UNIBUF_C_API unibuf_status unibuf_standing_hold_pause(unibuf_standing_hold* hold);

/// Ends the hold, and waits for nothing. Later accesses wait for the work that the device was given until now.
UNIBUF_C_API void unibuf_standing_hold_release(unibuf_standing_hold* hold);

// ---- What moves -----------------------------------------------------------------------------------------------------

/// These make the host, or the default device, current. UNIBUF_NOT_ALLOCATED where no copy exists at all.
UNIBUF_C_API unibuf_status unibuf_sync_to_host(unibuf_buffer* buffer, size_t offset, size_t size);
UNIBUF_C_API unibuf_status unibuf_sync_to_device(unibuf_buffer* buffer, size_t offset, size_t size);

/// These say that the bytes at the host, at the default device or at `where` stand, and drop newer ones elsewhere.
/// UNIBUF_NOT_ALLOCATED where there is no such copy. The queue among the options is the one of the work that wrote the
/// bytes.
UNIBUF_C_API unibuf_status unibuf_mark_host_dirty(unibuf_buffer* buffer, size_t offset, size_t size);
UNIBUF_C_API unibuf_status unibuf_mark_device_dirty(unibuf_buffer* buffer, size_t offset, size_t size);
UNIBUF_C_API unibuf_status unibuf_mark_dirty(unibuf_buffer* buffer, unibuf_space where,
                                             const unibuf_access_options* options);

/// Starts to make `where` current, and returns; accesses there wait for it.
UNIBUF_C_API unibuf_status unibuf_prefetch(unibuf_buffer* buffer, unibuf_space where,
                                           const unibuf_access_options* options);

/// Drops the copy at `where`. UNIBUF_ACCESS_CONFLICT, naming the range, where nobody else is current.
UNIBUF_C_API unibuf_status unibuf_discard(unibuf_buffer* buffer, unibuf_space where);

/// Drops the content. The buffer reads as zero from then on.
UNIBUF_C_API unibuf_status unibuf_discard_content(unibuf_buffer* buffer);

/// Repeats a pattern over all bytes of the handle; the size of the pattern divides that of the handle. A device whose
/// copy is current does it, else the host.
UNIBUF_C_API unibuf_status unibuf_fill(unibuf_buffer* buffer, const void* pattern, size_t pattern_size);

/// Does so at a space, where the newest content is then: for what a device uses first. Fails as leases there do.
UNIBUF_C_API unibuf_status unibuf_fill_at(unibuf_buffer* buffer, const void* pattern, size_t pattern_size,
                                          unibuf_space where);

/// These copy bytes at the host into the handle's range or out of it, all or none. UNIBUF_OUT_OF_RANGE where they do
/// not fit.
UNIBUF_C_API unibuf_status unibuf_copy_from(unibuf_buffer* buffer, const void* data, size_t size, size_t offset);
UNIBUF_C_API unibuf_status unibuf_copy_to(unibuf_buffer* buffer, void* data, size_t size, size_t offset);

/// These copy between the program's memory and the copy at a space, by its driver, past the host's copy: it is neither
/// made nor made current, so bytes that are copied out twice move twice. They are for data that the host passes on, as
/// messages and files are. They return when the bytes are there, and fail as leases at that space do.
UNIBUF_C_API unibuf_status unibuf_copy_from_at(unibuf_buffer* buffer, const void* data, size_t size, size_t offset,
                                               unibuf_space where);
UNIBUF_C_API unibuf_status unibuf_copy_to_at(unibuf_buffer* buffer, void* data, size_t size, size_t offset,
                                             unibuf_space where);

/// Writes a space where all bytes of the handle are current: the host if it is one, else a device; the host, too, where
/// no space has all of them.
UNIBUF_C_API unibuf_status unibuf_current_at(unibuf_buffer* buffer, unibuf_space* where);

// ---- What became of it ----------------------------------------------------------------------------------------------

typedef UNIBUF_C_ENUM(unibuf_buffer_state){
    UNIBUF_UNINITIALIZED = 0,  // no copy exists
    UNIBUF_HOST_ONLY = 1,      // only a host copy exists, nothing written to it since it was allocated or last in step
    UNIBUF_DEVICE_ONLY = 2,    // only device copies exist, nothing written to them since allocated or last in step
    UNIBUF_SYNCHRONIZED = 3,   // the host and at least one device copy are current everywhere
    UNIBUF_HOST_DIRTY = 4,     // the host was written and no device copy has all of it yet
    UNIBUF_DEVICE_DIRTY = 5,   // a device was written and the host lacks some of it
    UNIBUF_MIXED = 6           // each side holds bytes that the other does not
} unibuf_buffer_state;

/// Writes the state of the whole buffer, of which the handle may be a part.
UNIBUF_C_API unibuf_status unibuf_state(const unibuf_buffer* buffer, unibuf_buffer_state* state);
UNIBUF_C_API const char* unibuf_state_name(unibuf_buffer_state state);  // "HOST_DIRTY"; "unknown" for none of them

/// Tells how a space has its copy of a buffer, and why. The strings live until this thread asks again.
typedef struct unibuf_placement {
    bool shared;  // the device and the host use one memory: nothing is copied; else each has its own
    bool pinned;
    const char* reason;
    const char* mapping;  // how the host has memory of a device mapped; "" where it has not
} unibuf_placement;

/// Writes how `where` has its copy. UNIBUF_NOT_ALLOCATED where there is no copy.
UNIBUF_C_API unibuf_status unibuf_placement_at(const unibuf_buffer* buffer, unibuf_space where,
                                               unibuf_placement* placement);

typedef UNIBUF_C_ENUM(unibuf_cause){UNIBUF_CAUSE_READ = 0,         UNIBUF_CAUSE_READ_WRITE = 1,
                                    UNIBUF_CAUSE_HOST_POINTER = 2, UNIBUF_CAUSE_DEVICE_HANDLE = 3,
                                    UNIBUF_CAUSE_SYNC = 4,         UNIBUF_CAUSE_PREFETCH = 5,
                                    UNIBUF_CAUSE_COPY_TO = 6,      UNIBUF_CAUSE_EVICTION = 7} unibuf_cause;

UNIBUF_C_API const char* unibuf_cause_name(unibuf_cause cause);  // "host_pointer"; "unknown" for none of them

/// The transfers of one kind so far.
typedef struct unibuf_transfer_count {
    unibuf_space from;
    unibuf_space to;
    unibuf_cause cause;
    uint64_t transfers;
    uint64_t bytes;
} unibuf_transfer_count;

typedef struct unibuf_statistics {
    uint64_t transfers;
    uint64_t bytes_moved;
    uint64_t publications;  // shared memory made visible: no byte moved
    uint64_t fence_waits;   // times that the host stopped for a device
    uint64_t evictions;     // copies that were dropped because others needed their memory
} unibuf_statistics;

/// Writes the figures of one buffer, or, for NULL, of all since the process began or unibuf_reset_statistics.
UNIBUF_C_API unibuf_status unibuf_statistics_of(const unibuf_buffer* buffer, unibuf_statistics* statistics);

/// Writes the transfers of each kind: up to `capacity` kinds, and to `count` how many there are.
UNIBUF_C_API unibuf_status unibuf_transfers_of(const unibuf_buffer* buffer, unibuf_transfer_count* counts,
                                               size_t capacity, size_t* count);
UNIBUF_C_API unibuf_status unibuf_reset_statistics(void);

/// One transfer, as an observer sees it. Times are those of CLOCK_MONOTONIC.
typedef struct unibuf_transfer {
    uint64_t buffer;  // unibuf_id
    unibuf_space from;
    unibuf_space to;
    size_t offset;
    size_t size;
    unibuf_cause cause;
    int64_t begin_ns;  // when it was asked of the backend
    int64_t end_ns;    // when the call returned; queued work may still go on
} unibuf_transfer;

/// Sets the one observer, or none with NULL. It sees every transfer after it was made, on the thread that made it, and
/// must not touch the buffer. It may be called for a moment after another has been set.
UNIBUF_C_API unibuf_status unibuf_set_transfer_observer(void (*observer)(void* context, const unibuf_transfer* made),
                                                        void* context);

// ---- Fences ---------------------------------------------------------------------------------------------------------

/// Makes a fence of all work that was submitted until now to that queue, or, where it is NULL, to the whole space.
UNIBUF_C_API unibuf_status unibuf_record_fence(unibuf_space where, unibuf_queue queue, unibuf_fence** fence);

/// Work of the program's own, which can be waited for.
///
/// `wait` waits at most so many nanoseconds, and without end for UNIBUF_FOREVER. It returns UNIBUF_OK when the work is
/// done, UNIBUF_TIMEOUT when it is not, and else what went wrong, which is then the status of the access that waits.
/// All but UNIBUF_TIMEOUT is final: asked again, `wait` returns the same. `ended`, or NULL, is called once, when nobody
/// will wait any more. Any thread may call either, and several may wait at once. Locks of unibuf may be held meanwhile,
/// so neither may call unibuf.
typedef struct unibuf_work {
    unibuf_status (*wait)(void* context, int64_t timeout_ns);
    void (*ended)(void* context);
    void* context;
} unibuf_work;

/// Makes a fence of work of the program's own. Where this fails, `ended` is not called.
UNIBUF_C_API unibuf_status unibuf_fence_create(const unibuf_work* work, unibuf_fence** fence);

/// Waits until that work is done. UNIBUF_TIMEOUT where it is not done in time, and the fence stays usable;
/// UNIBUF_DEVICE_LOST or UNIBUF_TRANSFER_FAILED where the work failed. Several threads may wait at once.
UNIBUF_C_API unibuf_status unibuf_fence_wait(const unibuf_fence* fence, int64_t timeout_ns);
UNIBUF_C_API void unibuf_fence_destroy(unibuf_fence* fence);  // waits for nothing

// ---- Pools ----------------------------------------------------------------------------------------------------------

/// Keeps released buffers, with their copies, for those who acquire one of the same size and options. Ends by
/// unibuf_pool_destroy; buffers that are in use go on, as plain ones.
typedef struct unibuf_pool unibuf_pool;

typedef struct unibuf_pool_statistics {
    uint64_t hits;    // acquisitions that were given a buffer that was there
    uint64_t misses;  // acquisitions for which a buffer was made
    uint64_t held;    // buffers that are there to be acquired
    uint64_t held_bytes;
    uint64_t peak_bytes;  // the most that all buffers of the pool, held or in use, had at one time
} unibuf_pool_statistics;

UNIBUF_C_API unibuf_status unibuf_pool_create(unibuf_pool** pool);
UNIBUF_C_API void unibuf_pool_destroy(unibuf_pool* pool);

/// Returns the pool that the process shares. It never ends, and unibuf_pool_destroy leaves it alone.
UNIBUF_C_API unibuf_pool* unibuf_pool_shared(void);

/// Gives a buffer of the pool, or makes one. It reads as zero, unless `uninitialized` asks for the bytes as they are.
UNIBUF_C_API unibuf_status unibuf_pool_acquire(unibuf_pool* pool, size_t bytes, const unibuf_options* options,
                                               unibuf_buffer** buffer);

/// Puts a buffer back into the pool, and ends the handle. UNIBUF_ACCESS_CONFLICT while it is leased,
/// UNIBUF_INVALID_ARGUMENT where it is a view or not of this pool; after an error the handle is still the caller's.
/// NULL does nothing.
UNIBUF_C_API unibuf_status unibuf_pool_release(unibuf_pool* pool, unibuf_buffer* buffer);

/// Makes `count` buffers that can be acquired without allocating, with copies at the host and at `where`.
UNIBUF_C_API unibuf_status unibuf_pool_reserve(unibuf_pool* pool, size_t count, size_t bytes, unibuf_space where,
                                               const unibuf_options* options);
UNIBUF_C_API unibuf_status unibuf_pool_trim(unibuf_pool* pool, uint64_t bytes);  // frees until at most so many are held
UNIBUF_C_API unibuf_status unibuf_pool_limit(unibuf_pool* pool, uint64_t bytes);  // holds at most so many from now on
UNIBUF_C_API unibuf_status unibuf_pool_statistics_of(const unibuf_pool* pool, unibuf_pool_statistics* statistics);

// ---- Batches --------------------------------------------------------------------------------------------------------

/// Collects small writes and syncs of many buffers, and makes one space current in few transfers. A batch is used by
/// one thread at a time; its buffers live until it was submitted. Ends by unibuf_batch_destroy, which submits what is
/// left.
typedef struct unibuf_batch unibuf_batch;

UNIBUF_C_API unibuf_status unibuf_batch_create(unibuf_space to, unibuf_batch** batch);
UNIBUF_C_API unibuf_status unibuf_batch_write(unibuf_batch* batch, unibuf_buffer* buffer, const void* data, size_t size,
                                              size_t offset);
UNIBUF_C_API unibuf_status unibuf_batch_sync(unibuf_batch* batch, const unibuf_buffer* buffer);
UNIBUF_C_API unibuf_status unibuf_batch_submit(unibuf_batch* batch);
UNIBUF_C_API void unibuf_batch_destroy(unibuf_batch* batch);

// ---- Names ----------------------------------------------------------------------------------------------------------

/// Gives a buffer a name by which other parts of the program find it, in whatever language, as an array of bytes. With
/// `keep` the name keeps the buffer. UNIBUF_INVALID_ARGUMENT where the name is taken, or empty.
UNIBUF_C_API unibuf_status unibuf_register(const char* name, unibuf_buffer* buffer, bool keep);

/// Finds a buffer by its name. Gives a handle of the caller's own, or NULL where no buffer has the name.
UNIBUF_C_API unibuf_status unibuf_find(const char* name, unibuf_buffer** buffer);

/// Takes a name away, and writes whether it was there. `existed` may be NULL.
UNIBUF_C_API unibuf_status unibuf_unregister(const char* name, bool* existed);

#ifdef __cplusplus
}
#endif

#include "unibuf_trace.h"
