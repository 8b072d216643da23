// backends/cuda/staging.hpp: pageable memory to and from a device, by way of pinned memory of unibuf's own.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backends/cuda/context.hpp"
#include "backends/cuda/copy_list.hpp"

namespace unibuf::backends::cuda {

class copy_threads;

/// Pinned blocks. A transfer takes room in them: a whole block, or, with other small ones, a part of one. A block is
/// free again when all transfers that had room in it are done. Any thread; nothing waits under the lock.
class pinned_ring {
public:
    static constexpr std::size_t blocks = 4;
    static constexpr std::size_t block_bytes = std::size_t{4} << 20;

    /// Allocates the blocks: as many as the system pins.
    explicit pinned_ring(const context& in);

    /// Room for the bytes of one copy. It is given back when this goes, and used for others after the copy.
    class room {
    public:
        room(pinned_ring& of, std::size_t block, std::byte* begin) noexcept : of_(&of), block_(block), begin_(begin) {}
        room(room&& other) noexcept
            : of_(std::exchange(other.of_, nullptr)),
              block_(other.block_),
              begin_(other.begin_),
              copied_(std::move(other.copied_)) {}
        room& operator=(room&&) = delete;
        ~room() {
            if (of_) of_->give_back(block_, copied_);
        }

        std::byte* begin() const noexcept { return begin_; }
        void is_in_use_until(fence copied) noexcept { copied_ = std::move(copied); }
        const fence& copied() const noexcept { return copied_; }

    private:
        pinned_ring* of_;
        std::size_t block_;
        std::byte* begin_;
        fence copied_;
    };

    /// Takes room, at most a block of it. Returns nothing where there is none now.
    std::optional<room> take(std::size_t bytes);

private:
    struct block {
        std::byte* bytes = nullptr;
        std::size_t taken = 0;
        std::size_t users = 0;  // rooms that were not given back yet
        std::vector<fence> until{};

        bool is_free() noexcept;
    };

    void give_back(std::size_t which, const fence& until) noexcept;

    std::mutex mutex_;
    std::array<block, blocks> all_;
    std::size_t shared_ = 0;  // index of the block that small transfers share
};

/// Carries pageable memory: while one block is on its way, threads fill or empty the next. Costs two rings of pinned
/// memory. Transfers do not wait for each other: one that finds no room, as others hold it, does without.
class staging {
public:
    explicit staging(context& in);
    ~staging();
    staging(const staging&) = delete;
    staging& operator=(const staging&) = delete;

    // All need the context to be current, and may be called from any thread. `write` returns when all has been taken
    // from the host, with a fence after what is left. `read` returns when all is at the host. Where one finds no room
    // it waits for `stream`, if it is a long transfer or the driver has no room either, and for nothing else. Where one
    // throws, copies may be under way. A row of a plane fits in a block.
    fence write(std::span<const piece> pieces, stream_handle stream);
    fence write(const plane& rows, stream_handle stream);
    void read(std::span<const piece> pieces, stream_handle stream);
    void read(const plane& rows, stream_handle stream);

    /// Keeps the bytes, from which a copy was put on a stream, until that is done. Where it throws, it is done.
    void keep(std::vector<std::byte>&& source, const fence& until);

private:
    struct kept {
        fence until;
        std::vector<std::byte> source;
    };

    // A feed cuts what is to be carried into blocks.
    template <class Feed>
    fence write_all(Feed from, stream_handle stream);
    template <class Feed>
    fence write_without_room(Feed from, stream_handle stream);
    template <class Feed>
    void read_all(Feed to, stream_handle stream);
    template <class What>
    fence put(direction way, const What& what, bool pinned, std::size_t of, stream_handle stream);

    context& in_;
    pinned_ring to_device_;
    pinned_ring to_host_;
    std::unique_ptr<copy_threads> threads_;
    std::mutex kept_mutex_;
    std::vector<kept> kept_;
};

}  // namespace unibuf::backends::cuda
