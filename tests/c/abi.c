// tests/c/abi.c: what programs have compiled stays as it is, on machines whose pointers and sizes have 64 bits.
#include <stddef.h>
#include <unibuf/unibuf.h>

#define IS(what, value) _Static_assert((what) == (value), #what)
#define AT(type, member, value) IS(offsetof(type, member), value)

IS(UNIBUF_OK, 0);
IS(UNIBUF_NOT_ALLOCATED, 1);
IS(UNIBUF_OUT_OF_MEMORY, 2);
IS(UNIBUF_DEVICE_UNAVAILABLE, 3);
IS(UNIBUF_DEVICE_LOST, 4);
IS(UNIBUF_INVALID_ARGUMENT, 5);
IS(UNIBUF_OUT_OF_RANGE, 6);
IS(UNIBUF_ACCESS_CONFLICT, 7);
IS(UNIBUF_TRANSFER_FAILED, 8);
IS(UNIBUF_TIMEOUT, 9);
IS(UNIBUF_UNSUPPORTED, 10);

// The version is said in two ways.
#define TEXT(value) #value
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)
IS(sizeof(UNIBUF_VERSION), sizeof(VERSION(UNIBUF_VERSION_MAJOR, UNIBUF_VERSION_MINOR, UNIBUF_VERSION_PATCH)));

IS(UNIBUF_HOST, 0);
IS(UNIBUF_NO_SPACE, -1);
IS(UNIBUF_UNKNOWN, UINT64_MAX);
IS(UNIBUF_NO_LIMIT, UINT64_MAX);
IS(UNIBUF_REST, SIZE_MAX);
IS(UNIBUF_FOREVER, INT64_MAX);

IS(UNIBUF_HOST_READ_WRITE, 0);
IS(UNIBUF_HOST_READ_ONLY, 1);
IS(UNIBUF_HOST_WRITE_ONLY, 2);
IS(UNIBUF_HOST_CONSTANT, 3);
IS(UNIBUF_HINT_NONE, 0);
IS(UNIBUF_HINT_CPU_PREFERRED, 1);
IS(UNIBUF_HINT_GPU_PREFERRED, 2);
IS(UNIBUF_HINT_COHERENT, 3);
IS(UNIBUF_HINT_STREAMING, 4);
IS(UNIBUF_TRACKING_AUTOMATIC, 0);
IS(UNIBUF_TRACKING_OFF, 1);
IS(UNIBUF_READ, 1);
IS(UNIBUF_WRITE, 2);
IS(UNIBUF_READ_WRITE, 3);

IS(UNIBUF_REOPENS_AT_ONCE, 0);
IS(UNIBUF_REOPENS_WHEN_TOLD, 1);

IS(UNIBUF_UNINITIALIZED, 0);
IS(UNIBUF_HOST_ONLY, 1);
IS(UNIBUF_DEVICE_ONLY, 2);
IS(UNIBUF_SYNCHRONIZED, 3);
IS(UNIBUF_HOST_DIRTY, 4);
IS(UNIBUF_DEVICE_DIRTY, 5);
IS(UNIBUF_MIXED, 6);
IS(UNIBUF_CAUSE_READ, 0);
IS(UNIBUF_CAUSE_READ_WRITE, 1);
IS(UNIBUF_CAUSE_HOST_POINTER, 2);
IS(UNIBUF_CAUSE_DEVICE_HANDLE, 3);
IS(UNIBUF_CAUSE_SYNC, 4);
IS(UNIBUF_CAUSE_PREFETCH, 5);
IS(UNIBUF_CAUSE_COPY_TO, 6);
IS(UNIBUF_CAUSE_EVICTION, 7);

// Each enum is as wide as an int, which other languages take it for.
IS(sizeof(unibuf_status), 4);
IS(sizeof(unibuf_host_access), 4);
IS(sizeof(unibuf_memory_hint), 4);
IS(sizeof(unibuf_write_tracking), 4);
IS(sizeof(unibuf_access), 4);
IS(sizeof(unibuf_reopening), 4);
IS(sizeof(unibuf_buffer_state), 4);
IS(sizeof(unibuf_cause), 4);
IS(sizeof(unibuf_space), 4);
IS(sizeof(unibuf_queue), 8);

IS(sizeof(unibuf_device_property), 16);
AT(unibuf_device_property, value, 8);

IS(sizeof(unibuf_device_info), 56);
AT(unibuf_device_info, name, 0);
AT(unibuf_device_info, reason, 8);
AT(unibuf_device_info, description, 16);
AT(unibuf_device_info, memory_bytes, 24);
AT(unibuf_device_info, properties, 32);
AT(unibuf_device_info, property_count, 40);
AT(unibuf_device_info, available, 48);
AT(unibuf_device_info, own_memory, 49);
AT(unibuf_device_info, aliases_host, 50);
AT(unibuf_device_info, host_visible, 51);
AT(unibuf_device_info, asynchronous, 52);

IS(sizeof(unibuf_memory), 56);
AT(unibuf_memory, total, 0);
AT(unibuf_memory, free, 8);
AT(unibuf_memory, held, 16);
AT(unibuf_memory, peak, 24);
AT(unibuf_memory, limit, 32);
AT(unibuf_memory, pooled, 40);
AT(unibuf_memory, pinned, 48);

IS(sizeof(unibuf_shared_name), 64);
IS(sizeof(unibuf_options), 20);
AT(unibuf_options, access, 0);
AT(unibuf_options, hint, 4);
AT(unibuf_options, tracking, 8);
AT(unibuf_options, device, 12);
AT(unibuf_options, pinned, 16);
AT(unibuf_options, uninitialized, 17);

IS(sizeof(unibuf_access_options), 32);
AT(unibuf_access_options, offset, 0);
AT(unibuf_access_options, size, 8);
AT(unibuf_access_options, timeout_ns, 16);
AT(unibuf_access_options, queue, 24);

IS(sizeof(unibuf_native), 32);
AT(unibuf_native, where, 0);
AT(unibuf_native, handle, 8);
AT(unibuf_native, offset, 16);
AT(unibuf_native, size, 24);

IS(sizeof(unibuf_lease), 104);
AT(unibuf_lease, data, 0);
AT(unibuf_lease, native, 8);
AT(unibuf_lease, reserved, 40);

IS(sizeof(unibuf_wanted_lease), 24);
AT(unibuf_wanted_lease, buffer, 0);
AT(unibuf_wanted_lease, where, 8);
AT(unibuf_wanted_lease, access, 12);
AT(unibuf_wanted_lease, options, 16);

IS(sizeof(unibuf_standing_options), 64);
AT(unibuf_standing_options, offset, 0);
AT(unibuf_standing_options, size, 8);
AT(unibuf_standing_options, timeout_ns, 16);
AT(unibuf_standing_options, queue, 24);
AT(unibuf_standing_options, reopens, 32);
AT(unibuf_standing_options, pause, 40);
AT(unibuf_standing_options, resume, 48);
AT(unibuf_standing_options, context, 56);

IS(sizeof(unibuf_holder), 24);
AT(unibuf_holder, let_go, 0);
AT(unibuf_holder, ended, 8);
AT(unibuf_holder, context, 16);

IS(sizeof(unibuf_work), 24);
AT(unibuf_work, wait, 0);
AT(unibuf_work, ended, 8);
AT(unibuf_work, context, 16);

IS(sizeof(unibuf_placement), 24);
AT(unibuf_placement, shared, 0);
AT(unibuf_placement, pinned, 1);
AT(unibuf_placement, reason, 8);
AT(unibuf_placement, mapping, 16);

IS(sizeof(unibuf_transfer_count), 32);
AT(unibuf_transfer_count, from, 0);
AT(unibuf_transfer_count, to, 4);
AT(unibuf_transfer_count, cause, 8);
AT(unibuf_transfer_count, transfers, 16);
AT(unibuf_transfer_count, bytes, 24);

IS(sizeof(unibuf_statistics), 40);
AT(unibuf_statistics, transfers, 0);
AT(unibuf_statistics, bytes_moved, 8);
AT(unibuf_statistics, publications, 16);
AT(unibuf_statistics, fence_waits, 24);
AT(unibuf_statistics, evictions, 32);

IS(sizeof(unibuf_transfer), 56);
AT(unibuf_transfer, buffer, 0);
AT(unibuf_transfer, from, 8);
AT(unibuf_transfer, to, 12);
AT(unibuf_transfer, offset, 16);
AT(unibuf_transfer, size, 24);
AT(unibuf_transfer, cause, 32);
AT(unibuf_transfer, begin_ns, 40);
AT(unibuf_transfer, end_ns, 48);

IS(sizeof(unibuf_pool_statistics), 40);
AT(unibuf_pool_statistics, hits, 0);
AT(unibuf_pool_statistics, misses, 8);
AT(unibuf_pool_statistics, held, 16);
AT(unibuf_pool_statistics, held_bytes, 24);
AT(unibuf_pool_statistics, peak_bytes, 32);

// These options start as their INIT says, which has the defaults of C++.
static const unibuf_options options = UNIBUF_OPTIONS_INIT;
static const unibuf_access_options access_options = UNIBUF_ACCESS_INIT;
static const unibuf_standing_options standing_options = UNIBUF_STANDING_INIT;
static const unibuf_lease lease = UNIBUF_LEASE_INIT;
extern const void* unibuf_abi_begins[];
const void* unibuf_abi_begins[] = {&options, &access_options, &standing_options, &lease};
