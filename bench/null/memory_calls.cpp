// bench/null/memory_calls.cpp: the null driver's memory. Copies move nothing: nobody can look at what a device has.
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>

#include "call.hpp"

using namespace bench::null;

namespace {

constexpr std::size_t total = std::size_t{64} << 30;

// Addresses of a device are those that no processor takes: whoever touches them at the host ends there. None is given
// twice, which is enough for what a benchmark allocates.
constinit std::atomic<device_pointer> next_address = device_pointer{1} << 52;

result allocate(device_pointer* address, std::size_t bytes) noexcept {
    constexpr std::size_t unit = 512;
    if (bytes == 0) return invalid_value;
    *address = next_address.fetch_add((bytes + unit - 1) / unit * unit, std::memory_order_relaxed);
    return success;
}

/// The host's memory that is pinned. It is never destroyed: buffers may go when static objects do.
struct pinned_memory {
    std::mutex mutex;
    std::map<std::uintptr_t, std::size_t> bytes;  // by the first address
};

pinned_memory& pinned() {
    static pinned_memory& once = *new pinned_memory;
    return once;
}

void pin(const void* host, std::size_t bytes) {
    const std::scoped_lock guard(pinned().mutex);
    pinned().bytes[reinterpret_cast<std::uintptr_t>(host)] = bytes;
}

result unpin(const void* host) {
    const std::scoped_lock guard(pinned().mutex);
    return pinned().bytes.erase(reinterpret_cast<std::uintptr_t>(host)) == 1 ? success : invalid_value;
}

bool is_pinned(device_pointer address) {
    const std::scoped_lock guard(pinned().mutex);
    const auto after = pinned().bytes.upper_bound(static_cast<std::uintptr_t>(address));
    if (after == pinned().bytes.begin()) return false;
    const auto& [begin, bytes] = *std::prev(after);
    return address - begin < bytes;
}

}  // namespace

UNIBUF_NULL_CALL_AS(cuDeviceTotalMem_v2, cuDeviceTotalMem, 0, (std::size_t* bytes, device_ordinal)) {
    *bytes = total;
    return calls::cuDeviceTotalMem_v2.done();
}

UNIBUF_NULL_CALL_AS(cuMemGetInfo_v2, cuMemGetInfo, 0, (std::size_t* free, std::size_t* all)) {
    *free = total;
    *all = total;
    return calls::cuMemGetInfo_v2.done();
}

UNIBUF_NULL_CALL_AS(cuMemAlloc_v2, cuMemAlloc, 0, (device_pointer * address, std::size_t bytes)) {
    calls::cuMemAlloc_v2.done();
    return allocate(address, bytes);
}

UNIBUF_NULL_CALL_AS(cuMemFree_v2, cuMemFree, 0, (device_pointer)) { return calls::cuMemFree_v2.done(); }

UNIBUF_NULL_CALL(cuMemHostAlloc, (void** host, std::size_t bytes, unsigned)) {
    constexpr std::size_t page = 4096;
    calls::cuMemHostAlloc.done();
    *host = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (!*host) return out_of_memory;
    pin(*host, bytes);
    return success;
}

UNIBUF_NULL_CALL(cuMemFreeHost, (void* host)) {
    calls::cuMemFreeHost.done();
    const result status = unpin(host);
    if (status == success) std::free(host);
    return status;
}

UNIBUF_NULL_CALL_AS(cuMemHostRegister_v2, cuMemHostRegister, 0, (void* host, std::size_t bytes, unsigned)) {
    pin(host, bytes);
    return calls::cuMemHostRegister_v2.done();
}

UNIBUF_NULL_CALL(cuMemHostUnregister, (void* host)) {
    calls::cuMemHostUnregister.done();
    return unpin(host);
}

UNIBUF_NULL_CALL_AS(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer, 0,
                    (device_pointer * address, void* host, unsigned)) {
    *address = reinterpret_cast<std::uintptr_t>(host);
    return calls::cuMemHostGetDevicePointer_v2.done();
}

/// It is asked for the type of the host's memory alone, which it has where it is pinned.
UNIBUF_NULL_CALL(cuPointerGetAttribute, (void* value, int, device_pointer address)) {
    calls::cuPointerGetAttribute.done();
    if (!is_pinned(address)) return invalid_value;
    *static_cast<unsigned*>(value) = memory_of_host;
    return success;
}

UNIBUF_NULL_CALL(cuMemPoolCreate, (pool_handle * pool, const pool_properties*)) {
    *pool = reinterpret_cast<pool_handle>(std::uintptr_t{0x2000});
    return calls::cuMemPoolCreate.done();
}

UNIBUF_NULL_CALL(cuMemPoolSetAttribute, (pool_handle, int, void*)) { return calls::cuMemPoolSetAttribute.done(); }

UNIBUF_NULL_CALL(cuMemPoolSetAccess, (pool_handle, const access_of*, std::size_t)) {
    return calls::cuMemPoolSetAccess.done();
}

UNIBUF_NULL_CALL(cuMemPoolTrimTo, (pool_handle, std::size_t)) { return calls::cuMemPoolTrimTo.done(); }

UNIBUF_NULL_CALL(cuMemAllocFromPoolAsync, (device_pointer * address, std::size_t bytes, pool_handle, stream_handle)) {
    calls::cuMemAllocFromPoolAsync.done();
    return allocate(address, bytes);
}

UNIBUF_NULL_CALL(cuMemFreeAsync, (device_pointer, stream_handle)) { return calls::cuMemFreeAsync.done(); }

UNIBUF_NULL_CALL_AS(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, 0,
                    (device_pointer, const void*, std::size_t bytes, stream_handle)) {
    return calls::cuMemcpyHtoDAsync_v2.moved(bytes);
}

UNIBUF_NULL_CALL_AS(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, 0,
                    (void*, device_pointer, std::size_t bytes, stream_handle)) {
    return calls::cuMemcpyDtoHAsync_v2.moved(bytes);
}

UNIBUF_NULL_CALL_AS(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, 0,
                    (device_pointer, device_pointer, std::size_t bytes, stream_handle)) {
    return calls::cuMemcpyDtoDAsync_v2.moved(bytes);
}

UNIBUF_NULL_CALL(cuMemcpyPeerAsync,
                 (device_pointer, context_handle, device_pointer, context_handle, std::size_t bytes, stream_handle)) {
    return calls::cuMemcpyPeerAsync.moved(bytes);
}

UNIBUF_NULL_CALL_AS(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, 0, (const rectangle* what, stream_handle)) {
    return calls::cuMemcpy2DAsync_v2.moved(what->width * what->height);
}

UNIBUF_NULL_CALL_AS(cuMemcpyBatchAsync, cuMemcpyBatchAsync, 12080,
                    (device_pointer*, device_pointer*, const std::size_t* sizes, std::size_t count, copy_attributes*,
                     std::size_t*, std::size_t, std::size_t*, stream_handle)) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += sizes[i];
    return calls::cuMemcpyBatchAsync.moved(bytes);
}

UNIBUF_NULL_CALL(cuMemsetD8Async, (device_pointer, unsigned char, std::size_t, stream_handle)) {
    return calls::cuMemsetD8Async.done();
}

UNIBUF_NULL_CALL(cuMemsetD16Async, (device_pointer, unsigned short, std::size_t, stream_handle)) {
    return calls::cuMemsetD16Async.done();
}

UNIBUF_NULL_CALL(cuMemsetD32Async, (device_pointer, unsigned, std::size_t, stream_handle)) {
    return calls::cuMemsetD32Async.done();
}
