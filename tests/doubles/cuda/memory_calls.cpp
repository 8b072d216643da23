// tests/doubles/cuda/memory_calls.cpp: allocations, pools, pinned memory.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "doubles/cuda/stop.hpp"
#include "doubles/cuda/streams.hpp"

using namespace cuda_double;

namespace {

device_pointer device_address_of(const void* host) { return reinterpret_cast<device_pointer>(host); }

/// The region that begins at `address` and that nobody has freed; null where there is none.
region* begun_at(const call& from, device_pointer address) {
    region* const found = from.in().memory.find(address);
    if (!found || found->begin != address) return nullptr;
    if (found->freed) stop("%s of memory that was freed, at 0x%llx", from.name(), address);
    return found;
}

/// The driver waits for the device before it takes memory away that is not of a pool.
result wait_for_device(call& from) {
    vector_clock when;
    const std::vector<queued> work = all_work(from.context(), when);
    return wait_for_all(from, work, when);
}

/// Waits for the device where the double is hostile: the documents allow a driver to stop the host in these calls.
result may_wait_for_device(call& from) { return from.in().hostile ? wait_for_device(from) : success; }

/// Faults all pages in for writing, as a driver does that pins them. Returns false where they may not be written.
bool populate(void* host, std::size_t bytes) {
    constexpr device_pointer page = 4096;
    const device_pointer begin = device_address_of(host) / page * page;
    const device_pointer end = (device_address_of(host) + bytes + page - 1) / page * page;
    return ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE) == 0;
}

/// Returns whether the page is of a file that has a name. What a process shares with a fork, or by a descriptor alone,
/// is none.
bool is_of_file(const void* host) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        device_pointer begin = 0;
        device_pointer end = 0;
        if (std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2) continue;
        if (device_address_of(host) < begin || device_address_of(host) >= end) continue;
        const std::size_t name = line.find('/');
        return name != std::string::npos && !line.substr(name).starts_with("/dev/") &&
               !line.substr(name).starts_with("/memfd:");
    }
    return false;
}

void give_back(driver& in, region& gone) {
    if (gone.pool) gone.pool->kept = std::min(gone.pool->kept + gone.bytes, gone.pool->kept_at_most);
    in.memory.free(gone);
}

}  // namespace

CUDA_DOUBLE_CALL cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    const call from("cuMemGetInfo", call::needs::context);
    if (from.refused() != success) return from.refused();
    addresses& memory = from.in().memory;
    *total = memory.most_on_device;
    *free = *total - std::min(*total, memory.device_bytes(from.context().device));
    return success;
}

CUDA_DOUBLE_CALL cuMemAlloc_v2(device_pointer* address, std::size_t bytes) {
    call from("cuMemAlloc", call::needs::safety);
    if (from.refused() != success) return from.refused();
    if (bytes == 0) return invalid_value;
    const region* const made = from.in().memory.allocate(bytes, from.context().device, nullptr);
    if (!made) return out_of_memory;
    from.count_bytes(bytes);
    *address = made->begin;
    return success;
}

CUDA_DOUBLE_CALL cuMemFree_v2(device_pointer address) {
    call from("cuMemFree", call::needs::safety);
    if (from.refused() != success) return from.refused();
    if (address == 0) return success;
    region* const gone = begun_at(from, address);
    if (!gone || gone->what != region::kind::device) return invalid_value;
    if (gone->pool) {
        check_idle(*gone, from.name(), from.in().host);
    } else if (const result status = wait_for_device(from); status != success) {
        return status;
    }
    give_back(from.in(), *gone);
    from.in().memory.vanish(gone->begin, gone->bytes);
    return success;
}

CUDA_DOUBLE_CALL cuMemPoolCreate(pool_handle* pool, const pool_properties* wanted) {
    const call from("cuMemPoolCreate", call::needs::driver);
    if (from.refused() != success) return from.refused();
    const pool_properties& as = *wanted;
    const bool clean = std::ranges::all_of(as.reserved, [](unsigned char each) { return each == 0; });
    if (as.allocation_type != allocation_pinned || as.location.type != location_device || as.handle_types != 0 ||
        as.security_attributes || !clean) {
        return invalid_value;
    }
    *pool = new CUmemPoolHandle_st{.device = as.location.id};
    return success;
}

CUDA_DOUBLE_CALL cuMemPoolSetAttribute(pool_handle pool, int which, void* value) {
    const call from("cuMemPoolSetAttribute", call::needs::driver);
    if (from.refused() != success) return from.refused();
    switch (which) {
        case pool_adds_dependencies:
            pool->adds_dependencies = *static_cast<const int*>(value) != 0;
            return success;
        case pool_release_threshold:
            pool->kept_at_most = *static_cast<const std::uint64_t*>(value);
            return success;
        default:
            return invalid_value;
    }
}

CUDA_DOUBLE_CALL cuMemPoolTrimTo(pool_handle pool, std::size_t bytes) {
    const call from("cuMemPoolTrimTo", call::needs::driver);
    if (from.refused() != success) return from.refused();
    pool->kept = std::min<std::uint64_t>(pool->kept, bytes);
    return success;
}

CUDA_DOUBLE_CALL cuMemAllocFromPoolAsync(device_pointer* address, std::size_t bytes, pool_handle pool,
                                         stream_handle stream) {
    call from("cuMemAllocFromPoolAsync", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const on = stream_behind(from, stream);
    if (!on) return invalid_handle;
    if (bytes == 0) return invalid_value;
    if (on->capture != capture_none) stop("cuMemAllocFromPoolAsync in a capture becomes a part of the graph");
    addresses& memory = from.in().memory;
    region* made = memory.allocate(bytes, pool->device, pool);
    std::vector<queued> after;
    vector_clock after_when;
    if (!made && from.in().hostile && pool->adds_dependencies) {
        std::erase_if(pool->frees, &operation::done);
        const std::size_t room = memory.most_on_device;
        memory.most_on_device = std::numeric_limits<std::size_t>::max();
        if (!pool->frees.empty()) made = memory.allocate(bytes, pool->device, pool);
        memory.most_on_device = room;
        after = pool->frees;
        for (const queued& each : after) after_when.join(each->when);
    }
    if (!made) return out_of_memory;
    pool->kept -= std::min<std::uint64_t>(pool->kept, bytes);
    from.count_bytes(bytes);
    *address = made->begin;
    return submit(from, *on, {{made, made->begin, made->bytes, true}}, {}, after, after_when);
}

CUDA_DOUBLE_CALL cuMemFreeAsync(device_pointer address, stream_handle stream) {
    call from("cuMemFreeAsync", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const on = stream_behind(from, stream);
    if (!on) return invalid_handle;
    region* const gone = begun_at(from, address);
    if (!gone || gone->what != region::kind::device) return invalid_value;
    if (on->capture != capture_none) stop("cuMemFreeAsync in a capture becomes a part of the graph");
    driver& in = from.in();
    const bool later = in.hostile && gone->pool;
    const auto run = [&in, later, gone] {
        in.memory.vanish(gone->begin, gone->bytes);
        if (!later) return;
        const std::scoped_lock lock(in.mutex);
        in.memory.count_out(*gone);
    };
    const result status = submit(from, *on, {{gone, gone->begin, gone->bytes, true}}, run);
    if (status != success) return status;
    give_back(in, *gone);
    if (!later) return success;
    in.memory.count_in(*gone);
    gone->pool->frees.push_back(on->last);
    return success;
}

CUDA_DOUBLE_CALL cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags) {
    call from("cuMemHostAlloc", call::needs::safety);
    if (from.refused() != success) return from.refused();
    if (bytes == 0 || flags > (host_alloc_portable | host_alloc_device_map | host_alloc_write_combined)) {
        return invalid_value;
    }
    if (const result status = may_wait_for_device(from); status != success) return status;
    const region* const made = from.in().memory.allocate_pinned(bytes, from.in().hostile);
    if (!made) return out_of_memory;
    from.count_bytes(bytes);
    *host = reinterpret_cast<void*>(made->begin);
    return success;
}

CUDA_DOUBLE_CALL cuMemFreeHost(void* host) {
    call from("cuMemFreeHost", call::needs::safety);
    if (from.refused() != success) return from.refused();
    region* const gone = begun_at(from, device_address_of(host));
    if (!gone || gone->what != region::kind::pinned) return invalid_value;
    if (const result status = wait_for_device(from); status != success) return status;
    from.in().memory.free(*gone);
    from.in().memory.vanish(gone->begin, gone->bytes);
    return success;
}

CUDA_DOUBLE_CALL cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned flags) {
    call from("cuMemHostRegister", call::needs::safety);
    if (from.refused() != success) return from.refused();
    if (!host || bytes == 0 || flags > (host_register_portable | host_register_device_map)) return invalid_value;
    if (bytes > std::numeric_limits<std::size_t>::max() / 2) return invalid_value;
    if (from.in().memory.of_device(device_address_of(host))) stop("cuMemHostRegister of a device address");
    if (from.in().memory.overlaps_pinned(host, bytes)) return host_memory_already_registered;
    if (from.in().hostile && (is_of_file(host) || !populate(host, bytes))) return invalid_value;
    if (const result status = may_wait_for_device(from); status != success) return status;
    if (!from.in().memory.add_registered(host, bytes, from.in().hostile)) return out_of_memory;
    from.count_bytes(bytes);
    return success;
}

CUDA_DOUBLE_CALL cuMemHostUnregister(void* host) {
    call from("cuMemHostUnregister", call::needs::safety);
    if (from.refused() != success) return from.refused();
    region* const gone = from.in().memory.find(device_address_of(host));
    if (!gone || gone->begin != device_address_of(host) || gone->what != region::kind::registered) {
        stop("cuMemHostUnregister of %p, which is not the begin of registered memory", host);
    }
    check_idle(*gone, from.name(), from.in().host);
    if (const result status = may_wait_for_device(from); status != success) return status;
    from.in().memory.remove(*gone);
    return success;
}

CUDA_DOUBLE_CALL cuMemHostGetDevicePointer_v2(device_pointer* address, void* host, unsigned flags) {
    const call from("cuMemHostGetDevicePointer", call::needs::context);
    if (from.refused() != success) return from.refused();
    const region* const found = from.in().memory.find(device_address_of(host));
    if (!found || found->what == region::kind::device || flags != 0) return invalid_value;
    if (found->freed) stop("cuMemHostGetDevicePointer of memory that was freed, at %p", host);
    *address = device_address_of(host);
    return success;
}

CUDA_DOUBLE_CALL cuPointerGetAttribute(void* value, int which, device_pointer address) {
    const call from("cuPointerGetAttribute", call::needs::driver);
    if (from.refused() != success) return from.refused();
    const region* const found = from.in().memory.find(address);
    if (!found || found->freed) return invalid_value;
    switch (which) {
        case attribute_memory_type:
            *static_cast<unsigned*>(value) =
                found->what == region::kind::device ? memory_type_device : memory_type_host;
            return success;
        case attribute_device_ordinal:
            *static_cast<int*>(value) = found->device;
            return success;
        default:
            return invalid_value;
    }
}
