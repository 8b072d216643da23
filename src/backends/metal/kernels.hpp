// backends/metal/kernels.hpp: what Metal's copy engine does not do: bytes that are no whole words, rows, patterns.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "backends/metal/calls.hpp"
#include "backends/rectangle.hpp"

namespace unibuf::backends::metal {

/// Kernels of one device, compiled when the first is needed. Any thread may call these functions; an encoding has one.
class kernels {
public:
    explicit kernels(id device) noexcept : device_(device) {}

    /// Encodes a copy of a slab from `from`, where its end `there` is, to `to`.
    void copy(id commands, id from, id to, const slab& rows);

    /// Encodes a fill of `to` with the first `pattern` bytes of a buffer, again and again.
    void fill(id commands, id to, std::size_t offset, std::size_t bytes, id pattern, std::size_t pattern_bytes);

private:
    enum kind : std::size_t { copy_bytes, copy_words, copy_vectors, fill_bytes, fill_words, count };

    id pipeline(kind which);
    void compile();

    const id device_;
    std::mutex mutex_;
    std::array<owned, count> made_;
};

}  // namespace unibuf::backends::metal
