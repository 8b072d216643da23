// backends/cuda/staging.hpp: pageable memory to and from a device, by way of pinned memory of unibuf's own.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>

#include "backends/cuda/context.hpp"
#include "backends/cuda/copy_list.hpp"

namespace unibuf::backends::cuda {

class copy_threads;

/// A ring of pinned blocks: while one is on its way, threads fill or empty the next. One transfer at a time. Costs
/// `blocks * block_bytes` of pinned memory from the first transfer on.
class staging {
public:
    static constexpr std::size_t blocks = 4;
    static constexpr std::size_t block_bytes = std::size_t{4} << 20;

    /// Transfers of so many bytes and more are faster by the ring than by the driver, which copies pageable memory with
    /// one thread.
    static constexpr std::size_t worthwhile = std::size_t{1} << 20;

    /// Transfers of so many bytes and more are beyond what the driver takes at once: it may stop the host until a
    /// stream has come so far.
    static constexpr std::size_t needed = (std::size_t{64} << 10) + 1;

    explicit staging(context& in);
    ~staging();
    staging(const staging&) = delete;
    staging& operator=(const staging&) = delete;

    // The functions from here on need the context to be current.

    /// Returns whether the ring can be used: false where the system pins no more memory, which the driver can do
    /// without.
    bool ready();

    // Both need a ring that is ready. Small pieces share a block. `write` returns when all has been taken from the
    // host; what is left is in stream order. `read` returns when all is at the host.
    void write(std::span<const piece> pieces, stream_handle stream);
    void read(std::span<const piece> pieces, stream_handle stream);

private:
    struct block {
        std::byte* bytes = nullptr;
        fence in_use;
    };

    block& next_free();

    context& in_;
    std::mutex mutex_;
    std::array<block, blocks> ring_;
    std::size_t next_ = 0;
    std::unique_ptr<copy_threads> threads_;
};

}  // namespace unibuf::backends::cuda
