// backends/metal/staging.hpp: memory that host and GPU share, by way of which bytes go to and from private memory.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>

#include "backends/metal/calls.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends::metal {

/// Keeps some blocks for the next transfers. Nobody waits for one: where none is free, another is made. Any thread.
class staging {
public:
    static constexpr std::size_t block_bytes = std::size_t{4} << 20;

    explicit staging(id device) noexcept : device_(device) {}

    struct block {
        owned buffer;
        std::byte* bytes = nullptr;
        std::size_t size = 0;
    };

    /// Returns a block of at least so many bytes, which hold anything. Throws error(out_of_memory).
    block take(std::size_t bytes);

    /// Takes a block back, which work uses until then.
    void give_back(block used, fence until);

    /// Gives back what no work uses. Returns whether there was any.
    bool clear();

private:
    struct kept {
        block what;
        fence until;
    };

    const id device_;
    std::mutex mutex_;
    std::list<kept> kept_;
    std::size_t bytes_ = 0;
};

}  // namespace unibuf::backends::metal
