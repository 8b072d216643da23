// backends/metal/calls.hpp: the methods of Metal that this backend calls, as <Metal/Metal.h> declares them.
#pragma once

#include <cstdint>

#include "backends/metal/objc.hpp"

namespace unibuf::backends::metal {

using ns_uinteger = unsigned long;

/// This is an NSRange.
struct range {
    ns_uinteger location;
    ns_uinteger length;
};

/// This is an MTLSize.
struct size {
    ns_uinteger width;
    ns_uinteger height;
    ns_uinteger depth;
};

// These are MTLResourceOptions.
inline constexpr ns_uinteger storage_shared = 0;
inline constexpr ns_uinteger storage_private = 2u << 4;

// These are an MTLCommandBufferStatus.
inline constexpr ns_uinteger status_completed = 4;
inline constexpr ns_uinteger status_error = 5;

// These are an MTLCommandBufferError: the process may use the GPU no more, may not now, and the GPU is gone.
inline constexpr long error_access_revoked = 4;
inline constexpr long error_not_permitted = 7;
inline constexpr long error_device_removed = 11;

// A blit takes whole words of this size, at multiples of it.
inline constexpr std::size_t blit_word = 4;

// NSArray
inline ns_uinteger count_of(id array) { return send<"count", ns_uinteger()>(array); }
inline id object_at(id array, ns_uinteger index) { return send<"objectAtIndex:", id(ns_uinteger)>(array, index); }

// MTLDevice
inline id name_of(id device) { return send<"name", id()>(device); }
inline bool has_unified_memory(id device) { return send<"hasUnifiedMemory", signed char()>(device) != 0; }
inline bool is_low_power(id device) { return send<"isLowPower", signed char()>(device) != 0; }
inline std::uint64_t registry_id_of(id device) { return send<"registryID", std::uint64_t()>(device); }
inline std::uint64_t working_set_of(id device) { return send<"recommendedMaxWorkingSetSize", std::uint64_t()>(device); }
inline ns_uinteger longest_buffer_of(id device) { return send<"maxBufferLength", ns_uinteger()>(device); }
inline ns_uinteger allocated_by(id device) { return send<"currentAllocatedSize", ns_uinteger()>(device); }
inline owned new_queue(id device, ns_uinteger most_uncompleted) {
    return owned(send<"newCommandQueueWithMaxCommandBufferCount:", id(ns_uinteger)>(device, most_uncompleted));
}
inline owned new_event(id device) { return owned(send<"newEvent", id()>(device)); }
inline owned new_buffer(id device, ns_uinteger bytes, ns_uinteger options) {
    return owned(send<"newBufferWithLength:options:", id(ns_uinteger, ns_uinteger)>(device, bytes, options));
}
inline owned new_buffer_of(id device, void* memory, ns_uinteger bytes) {
    return owned(send<"newBufferWithBytesNoCopy:length:options:deallocator:", id(void*, ns_uinteger, ns_uinteger, id)>(
        device, memory, bytes, storage_shared, nullptr));
}
inline owned new_library(id device, id source, id* error) {
    return owned(send<"newLibraryWithSource:options:error:", id(id, id, id*)>(device, source, nullptr, error));
}
inline owned new_pipeline(id device, id function, id* error) {
    return owned(send<"newComputePipelineStateWithFunction:error:", id(id, id*)>(device, function, error));
}

/// Returns whether both are the same GPU: tools put objects of their own before devices.
inline bool is_same_device(id one, id other) { return one == other || registry_id_of(one) == registry_id_of(other); }

// MTLLibrary
inline owned new_function(id library, id name) { return owned(send<"newFunctionWithName:", id(id)>(library, name)); }

// MTLBuffer
inline ns_uinteger length_of(id buffer) { return send<"length", ns_uinteger()>(buffer); }
inline void* contents_of(id buffer) { return send<"contents", void*()>(buffer); }

// MTLCommandQueue
inline id device_of_queue(id queue) { return send<"device", id()>(queue); }
inline id command_buffer_on(id queue) { return send<"commandBuffer", id()>(queue); }

// MTLCommandBuffer
inline id blit_encoder(id commands) { return send<"blitCommandEncoder", id()>(commands); }
inline id compute_encoder(id commands) { return send<"computeCommandEncoder", id()>(commands); }
inline void encode_signal(id commands, id event, std::uint64_t value) {
    send<"encodeSignalEvent:value:", void(id, std::uint64_t)>(commands, event, value);
}
inline void encode_wait(id commands, id event, std::uint64_t value) {
    send<"encodeWaitForEvent:value:", void(id, std::uint64_t)>(commands, event, value);
}
inline void commit(id commands) { send<"commit", void()>(commands); }
inline void wait_until_completed(id commands) { send<"waitUntilCompleted", void()>(commands); }
inline ns_uinteger status_of(id commands) { return send<"status", ns_uinteger()>(commands); }
inline id error_of(id commands) { return send<"error", id()>(commands); }
inline long code_of(id error) { return send<"code", long()>(error); }

// MTLCommandEncoder
inline void end_encoding(id encoder) { send<"endEncoding", void()>(encoder); }

// MTLBlitCommandEncoder
inline void copy(id encoder, id from, ns_uinteger from_offset, id to, ns_uinteger to_offset, ns_uinteger bytes) {
    send<"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",
         void(id, ns_uinteger, id, ns_uinteger, ns_uinteger)>(encoder, from, from_offset, to, to_offset, bytes);
}
inline void fill(id encoder, id buffer, range where, std::uint8_t value) {
    send<"fillBuffer:range:value:", void(id, range, std::uint8_t)>(encoder, buffer, where, value);
}

// MTLComputeCommandEncoder
inline void set_pipeline(id encoder, id pipeline) { send<"setComputePipelineState:", void(id)>(encoder, pipeline); }
inline void set_buffer(id encoder, id buffer, ns_uinteger offset, ns_uinteger index) {
    send<"setBuffer:offset:atIndex:", void(id, ns_uinteger, ns_uinteger)>(encoder, buffer, offset, index);
}
inline void set_bytes(id encoder, const void* bytes, ns_uinteger count, ns_uinteger index) {
    send<"setBytes:length:atIndex:", void(const void*, ns_uinteger, ns_uinteger)>(encoder, bytes, count, index);
}
inline void dispatch(id encoder, size groups, size threads) {
    send<"dispatchThreadgroups:threadsPerThreadgroup:", void(size, size)>(encoder, groups, threads);
}

}  // namespace unibuf::backends::metal
