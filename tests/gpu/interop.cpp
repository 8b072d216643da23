// tests/gpu/interop.cpp: unibuf for tests/gpu/interop.py, by ctypes: a buffer of floats, leased on streams of others.
//
// Functions that can fail answer whether they worked; interop_error says why not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "unibuf/cuda.hpp"
#include "unibuf/unibuf.hpp"

#define INTEROP extern "C" __attribute__((visibility("default")))

namespace {

using unibuf::unified_buffer;

constexpr const char* device = "cuda:0";

struct array {
    array(std::size_t count, const unibuf::buffer_options& options) : buffer({count}, options) {}

    unified_buffer<float> buffer;
    std::optional<unibuf::lease<float>> to_write;
    std::optional<unibuf::lease<const float>> to_read;
};

std::string& last_error() {
    static std::string text;
    return text;
}

template <class Work>
bool tried(const Work& work) {
    try {
        work();
        return true;
    } catch (const std::exception& failed) {
        last_error() = failed.what();
        return false;
    }
}

}  // namespace

INTEROP const char* interop_error() { return last_error().c_str(); }

INTEROP array* interop_create(std::size_t count, bool pinned) {
    array* made = nullptr;
    tried([&] {
        unibuf::buffer_options options;
        options.hint = unibuf::memory_hint::gpu_preferred;
        options.device = unibuf::space(device);
        options.pinned = pinned;
        made = new array(count, options);
    });
    return made;
}

INTEROP void interop_destroy(array* of) { delete of; }

INTEROP bool interop_fill(array* of, float value) {
    return tried([&] { std::ranges::fill(of->buffer.write(unibuf::host).span(), value); });
}

/// A lease on a stream (0: the legacy default stream), until interop_end.
INTEROP bool interop_begin(array* of, std::uintptr_t stream, bool writes, std::uintptr_t* address) {
    return tried([&] {
        const unibuf::access_options on{.on = unibuf::cuda::queue_of(reinterpret_cast<CUstream_st*>(stream))};
        if (writes) {
            of->to_write.emplace(of->buffer.read_write(device, on));
            *address = reinterpret_cast<std::uintptr_t>(unibuf::cuda::pointer(*of->to_write));
        } else {
            of->to_read.emplace(of->buffer.read(device, on));
            *address = reinterpret_cast<std::uintptr_t>(unibuf::cuda::pointer(*of->to_read));
        }
    });
}

INTEROP bool interop_end(array* of) {
    return tried([&] {
        of->to_write.reset();
        of->to_read.reset();
    });
}

/// What the host reads.
INTEROP bool interop_read(const array* of, float* to, std::size_t count) {
    return tried([&] {
        const auto lease = of->buffer.read(unibuf::host, {.count = count});
        std::ranges::copy(lease, to);
    });
}

INTEROP std::uint64_t interop_bytes_moved(const array* of) { return of->buffer.statistics().bytes_moved(); }
