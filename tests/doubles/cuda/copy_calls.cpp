// tests/doubles/cuda/copy_calls.cpp: copies and fills.
#include <cstring>
#include <vector>

#include "doubles/cuda/settings.hpp"
#include "doubles/cuda/stop.hpp"
#include "doubles/cuda/streams.hpp"

using namespace cuda_double;

namespace {

/// Up to here the driver takes pageable memory at once; beyond, it waits for the stream first.
constexpr std::size_t taken_at_once = std::size_t{64} << 10;

/// One end of a copy.
struct place {
    std::byte* bytes = nullptr;
    region* of = nullptr;  // null for pageable memory
    device_pointer address = 0;
};

void write(const place& to, const std::byte* from, std::size_t bytes) {
    if (to.of) return to.of->write(to.bytes, from, bytes);
    std::memcpy(to.bytes, from, bytes);
}

/// Finds the end of a copy that the device touches by itself.
result find_for_device(const call& from, device_pointer address, std::size_t bytes, place& found) {
    addresses& memory = from.in().memory;
    region* const there = memory.find(address);
    if (there && there->freed) {
        stop("%s of %zu bytes at 0x%llx: that memory was freed", from.name(), bytes, address);
    }
    if (!there && chosen().reads_pageable && !memory.of_device(address)) {
        found = {reinterpret_cast<std::byte*>(address), nullptr, address};
        return success;
    }
    if (!there || bytes > there->end() - address) return invalid_value;
    found = {memory.bytes_of(address), there, address};
    return success;
}

/// Finds the end of a copy that was named as the host's.
result find_for_host(const call& from, const void* host, std::size_t bytes, place& found) {
    const auto address = reinterpret_cast<device_pointer>(host);
    if (from.in().memory.of_device(address)) stop("%s: %p is a device address, not one of the host", from.name(), host);
    if (from.in().memory.find(address)) return find_for_device(from, address, bytes, found);
    found = {reinterpret_cast<std::byte*>(address), nullptr, address};
    return success;
}

void add(std::vector<footprint>& to, const place& each, std::size_t bytes, bool writes) {
    if (each.of) to.push_back({each.of, each.address, bytes, writes});
}

result copy(call& from, const place& to, const place& source, std::size_t bytes, CUstream_st& on) {
    from.count_bytes(bytes);
    std::vector<footprint> touches;
    add(touches, source, bytes, false);
    add(touches, to, bytes, true);
    return submit(from, on, touches, [to, source, bytes] { write(to, source.bytes, bytes); });
}

/// Queues the write of a memset.
result set(call& from, device_pointer to, std::size_t count, const void* value, std::size_t size,
           stream_handle stream) {
    if (from.refused() != success) return from.refused();
    CUstream_st* const on = stream_behind(from, stream);
    if (!on) return invalid_handle;
    if (to % size != 0) return invalid_value;
    place target;
    if (const result status = find_for_device(from, to, count * size, target); status != success) return status;
    from.count_bytes(count * size);
    std::vector<std::byte> pattern(size);
    std::memcpy(pattern.data(), value, size);
    std::vector<footprint> touches;
    add(touches, target, count * size, true);
    return submit(from, *on, touches, [target, count, pattern] {
        std::vector<std::byte> all(count * pattern.size());
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(all.data() + i * pattern.size(), pattern.data(), pattern.size());
        }
        write(target, all.data(), all.size());
    });
}

result copy_on_device(call& from, device_pointer to, device_pointer source, std::size_t bytes, stream_handle stream) {
    if (from.refused() != success) return from.refused();
    CUstream_st* const on = stream_behind(from, stream);
    if (!on) return invalid_handle;
    if (bytes == 0) return success;
    if (to < source + bytes && source < to + bytes) stop("%s between places that overlap", from.name());
    place target;
    place begin;
    if (const result status = find_for_device(from, to, bytes, target); status != success) return status;
    if (const result status = find_for_device(from, source, bytes, begin); status != success) return status;
    return copy(from, target, begin, bytes, *on);
}

result to_device(call& from, device_pointer to, const void* host, std::size_t bytes, CUstream_st& on) {
    if (bytes == 0) return success;
    place target;
    place source;
    if (const result status = find_for_device(from, to, bytes, target); status != success) return status;
    if (const result status = find_for_host(from, host, bytes, source); status != success) return status;
    if (source.of) return copy(from, target, source, bytes, on);

    if (bytes > taken_at_once) {
        const queued before = on.last;
        from.wait_for(before);
    }
    if (from.in().hostile) return copy(from, target, source, bytes, on);
    const std::vector<std::byte> taken(source.bytes, source.bytes + bytes);
    from.count_bytes(bytes);
    std::vector<footprint> touches;
    add(touches, target, bytes, true);
    return submit(from, on, touches, [target, taken] { write(target, taken.data(), taken.size()); });
}

result to_host(call& from, void* host, device_pointer from_device, std::size_t bytes, CUstream_st& on) {
    if (bytes == 0) return success;
    place target;
    place source;
    if (const result status = find_for_host(from, host, bytes, target); status != success) return status;
    if (const result status = find_for_device(from, from_device, bytes, source); status != success) return status;
    if (const result status = copy(from, target, source, bytes, on); status != success || target.of) return status;
    if (on.capture != capture_none || from.in().hostile) return success;
    const vector_clock when = on.when;
    return wait_for_all(from, {on.last}, when);
}

}  // namespace

CUDA_DOUBLE_CALL cuMemcpyHtoDAsync_v2(device_pointer to, const void* host, std::size_t bytes, stream_handle stream) {
    call from("cuMemcpyHtoDAsync", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const on = stream_behind(from, stream);
    return on ? to_device(from, to, host, bytes, *on) : invalid_handle;
}

CUDA_DOUBLE_CALL cuMemcpyDtoHAsync_v2(void* host, device_pointer from_device, std::size_t bytes, stream_handle stream) {
    call from("cuMemcpyDtoHAsync", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const on = stream_behind(from, stream);
    return on ? to_host(from, host, from_device, bytes, *on) : invalid_handle;
}

CUDA_DOUBLE_CALL cuMemcpy2DAsync_v2(const rectangle* what, stream_handle stream) {
    call from("cuMemcpy2DAsync", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const on = stream_behind(from, stream);
    if (!on) return invalid_handle;
    const auto& [source, target, width, height] = *what;
    const bool up = source.memory == memory_of_host && target.memory == memory_of_device;
    const bool down = source.memory == memory_of_device && target.memory == memory_of_host;
    const bool across = source.memory == memory_of_device && target.memory == memory_of_device;
    if (!up && !down && !across) return invalid_value;
    for (const rectangle::end* end : {&source, &target}) {
        constexpr std::size_t most_pitch = 0x7fffffff;
        if (end->pitch < width || end->pitch > most_pitch || end->column != 0 || end->row != 0) return invalid_value;
    }
    if (across) {
        for (std::size_t row = 0; row < height; ++row) {
            const result status = copy_on_device(from, target.device + row * target.pitch,
                                                 source.device + row * source.pitch, width, stream);
            if (status != success) return status;
        }
        return success;
    }
    if (width != 0 && height != 0) {
        // All rows at the host are of one registration, or pageable.
        const auto first = reinterpret_cast<device_pointer>(up ? source.host : target.host);
        const device_pointer last = first + (height - 1) * (up ? source.pitch : target.pitch) + width - 1;
        if (from.in().memory.find(first) != from.in().memory.find(last)) return invalid_value;
    }
    for (std::size_t row = 0; row < height; ++row) {
        const auto* const host = static_cast<const std::byte*>(up ? source.host : target.host);
        const device_pointer at = up ? target.device : source.device;
        const std::size_t host_offset = row * (up ? source.pitch : target.pitch);
        const std::size_t device_offset = row * (up ? target.pitch : source.pitch);
        const result status =
            up ? to_device(from, at + device_offset, host + host_offset, width, *on)
               : to_host(from, const_cast<std::byte*>(host) + host_offset, at + device_offset, width, *on);
        if (status != success) return status;
    }
    return success;
}

CUDA_DOUBLE_CALL cuMemcpyDtoDAsync_v2(device_pointer to, device_pointer source, std::size_t bytes,
                                      stream_handle stream) {
    call from("cuMemcpyDtoDAsync", call::needs::context);
    return copy_on_device(from, to, source, bytes, stream);
}

CUDA_DOUBLE_CALL cuMemcpyPeerAsync(device_pointer to, context_handle, device_pointer source, context_handle,
                                   std::size_t bytes, stream_handle stream) {
    call from("cuMemcpyPeerAsync", call::needs::context);
    if (from.refused() != success) return from.refused();
    const region* const there = from.in().memory.find(source);
    const CUctx_st& here = from.context();
    const bool open = there && (!there->pool || there->pool->open_to.contains(here.device));
    if (open && here.peers.contains(there->device)) ++from.in().counts["peer copies without a detour"].calls;
    return copy_on_device(from, to, source, bytes, stream);
}

CUDA_DOUBLE_CALL cuMemsetD8Async(device_pointer to, unsigned char value, std::size_t count, stream_handle stream) {
    call from("cuMemsetD8Async", call::needs::context);
    return set(from, to, count, &value, sizeof value, stream);
}

CUDA_DOUBLE_CALL cuMemsetD16Async(device_pointer to, unsigned short value, std::size_t count, stream_handle stream) {
    call from("cuMemsetD16Async", call::needs::context);
    return set(from, to, count, &value, sizeof value, stream);
}

CUDA_DOUBLE_CALL cuMemsetD32Async(device_pointer to, unsigned value, std::size_t count, stream_handle stream) {
    call from("cuMemsetD32Async", call::needs::context);
    return set(from, to, count, &value, sizeof value, stream);
}

namespace {

/// Returns whether each copy has attributes: the first ones begin with copy 0, and each kind behind the one before.
bool are_complete(const copy_attributes* all, const std::size_t* begins, std::size_t kinds, std::size_t count) {
    if (!all || !begins || kinds == 0 || kinds > count || begins[0] != 0) return false;
    for (std::size_t i = 0; i < kinds; ++i) {
        constexpr int last_order = 3;  // CU_MEMCPY_SRC_ACCESS_ORDER_ANY
        const bool in_order = i == 0 || (begins[i - 1] < begins[i] && begins[i] < count);
        const int order = all[i].source_access_order;
        if (!in_order || order < source_in_stream_order || order > last_order || all[i].flags > 1) return false;
    }
    return true;
}

result batch(call& from, const device_pointer* to, const device_pointer* source, const std::size_t* sizes,
             std::size_t count, stream_handle stream, bool complete) {
    if (from.refused() != success) return from.refused();
    if (!stream || stream == legacy_stream || count == 0 || !complete) return invalid_value;
    const auto set = from.in().attributes.find(can_use_registered_addresses);
    const bool takes_registered = set == from.in().attributes.end() || set->second != 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (to[i] == 0 || source[i] == 0 || sizes[i] == 0) return invalid_value;
        for (const device_pointer each : {to[i], source[i]}) {
            const region* const found = from.in().memory.find(each);
            if (!takes_registered && found && found->what == region::kind::registered) {
                stop("a batch takes 0x%llx, the host's address of registered memory, which is none of the device",
                     each);
            }
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t which = from.in().hostile ? count - 1 - i : i;
        const result status = copy_on_device(from, to[which], source[which], sizes[which], stream);
        if (status != success) return status;
    }
    return success;
}

}  // namespace

// The form of 12.8, and below it that of 13.0.
CUDA_DOUBLE_CALL cuMemcpyBatchAsync(device_pointer* to, device_pointer* source, std::size_t* sizes, std::size_t count,
                                    copy_attributes* attributes, std::size_t* begins, std::size_t kinds,
                                    std::size_t* failed, stream_handle stream) {
    call from("cuMemcpyBatchAsync", call::needs::context);
    if (failed) *failed = static_cast<std::size_t>(-1);
    return batch(from, to, source, sizes, count, stream, are_complete(attributes, begins, kinds, count));
}

CUDA_DOUBLE_CALL cuMemcpyBatchAsync_v2(device_pointer* to, device_pointer* source, std::size_t* sizes,
                                       std::size_t count, copy_attributes* attributes, std::size_t* begins,
                                       std::size_t kinds, stream_handle stream) {
    call from("cuMemcpyBatchAsync", call::needs::context);
    return batch(from, to, source, sizes, count, stream, are_complete(attributes, begins, kinds, count));
}
