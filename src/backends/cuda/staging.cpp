// backends/cuda/staging.cpp
#include "backends/cuda/staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "backends/cuda/copy_threads.hpp"
#include "backends/host/sizes.hpp"
#include "backends/poll.hpp"

namespace unibuf::backends::cuda {
namespace {

// What a copy of so many bytes needs is kept in plain memory where there is no room: the copy stops nobody then.
constexpr std::size_t small = std::size_t{64} << 10;

/// A piece, or as much of it as fits, with its place in a block.
struct parcel {
    piece staged;
    std::byte* host;
};

/// Returns the copies of a block. Pieces that lie side by side in the block and on the device, as parts of an arena do,
/// are one copy.
std::vector<piece> staged(std::span<const parcel> packed) {
    std::vector<piece> pieces;
    for (const parcel& each : packed) {
        const bool continues = !pieces.empty() && pieces.back().allocation == each.staged.allocation &&
                               pieces.back().at + pieces.back().bytes == each.staged.at;
        if (continues) {
            pieces.back().bytes += each.staged.bytes;
        } else {
            pieces.push_back(each.staged);
        }
    }
    return pieces;
}

/// Cuts pieces into blocks.
class feed {
public:
    explicit feed(std::span<const piece> pieces) : left_(pieces), bytes_(bytes_of(pieces)), bytes_left_(bytes_) {}

    bool empty() const noexcept { return left_.empty(); }
    std::size_t bytes() const noexcept { return bytes_; }

    /// Returns the size of the next block.
    std::size_t next_bytes() const noexcept { return std::min(bytes_left_, pinned_ring::block_bytes); }

    std::vector<parcel> pack(std::byte* block) {
        std::vector<parcel> packed;
        std::size_t room = next_bytes();
        bytes_left_ -= room;
        while (room > 0) {
            const piece& next = left_.front();
            const std::size_t bytes = std::min(room, next.bytes - taken_);
            packed.push_back({{next.allocation, next.at + taken_, block, bytes}, next.host + taken_});
            block += bytes;
            room -= bytes;
            taken_ += bytes;
            if (taken_ < next.bytes) continue;
            left_ = left_.subspan(1);
            taken_ = 0;
        }
        return packed;
    }

    /// Returns what is left, for copies without a block.
    std::vector<piece> rest() const {
        std::vector<piece> pieces(left_.begin(), left_.end());
        if (pieces.empty()) return pieces;
        piece& first = pieces.front();
        first = {first.allocation, first.at + taken_, first.host + taken_, first.bytes - taken_};
        return pieces;
    }

private:
    static std::size_t bytes_of(std::span<const piece> pieces) noexcept {
        std::size_t sum = 0;
        for (const piece& each : pieces) sum += each.bytes;
        return sum;
    }

    std::span<const piece> left_;
    std::size_t bytes_;
    std::size_t bytes_left_;
    std::size_t taken_ = 0;  // bytes that were taken of the first piece
};

}  // namespace

pinned_ring::pinned_ring(const context& in) {
    const context::scope current(in);
    for (block& each : all_) {
        void* made = nullptr;
        if (api().cuMemHostAlloc(&made, block_bytes, host_alloc_portable) != success) return;
        each.bytes = static_cast<std::byte*>(made);  // it stays: a device lives as long as the process
    }
}

bool pinned_ring::block::is_free() noexcept {
    while (!until.empty() && is_over(until.back())) until.pop_back();
    return bytes && users == 0 && until.empty();
}

std::optional<pinned_ring::room> pinned_ring::take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (bytes > small) {
        // The shared block is the last choice: small transfers fill it up.
        for (std::size_t i = 1; i <= blocks; ++i) {
            const std::size_t which = (shared_ + i) % blocks;
            block& each = all_[which];
            if (!each.is_free()) continue;
            each.taken = block_bytes;
            ++each.users;
            return room(*this, which, each.bytes);
        }
        return std::nullopt;
    }
    for (std::size_t i = 0; i < blocks; ++i) {
        const std::size_t which = (shared_ + i) % blocks;
        block& each = all_[which];
        if (each.is_free()) each.taken = 0;
        if (!each.bytes || block_bytes - each.taken < bytes) continue;
        shared_ = which;
        ++each.users;
        const std::size_t begin = each.taken;
        each.taken = std::min(block_bytes, (begin + bytes + cache_line - 1) / cache_line * cache_line);
        return room(*this, which, each.bytes + begin);
    }
    return std::nullopt;
}

void pinned_ring::give_back(std::size_t which, const fence& until) noexcept {
    const std::scoped_lock lock(mutex_);
    block& used = all_[which];
    try {
        if (until.native()) used.until.push_back(until);
    } catch (const std::bad_alloc&) {
        return;  // the block is never free again
    }
    --used.users;
}

staging::staging(context& in) : in_(in), to_device_(in), to_host_(in), threads_(std::make_unique<copy_threads>()) {}

staging::~staging() = default;

/// Puts copies of the pieces on the stream, as a part of a transfer of so many bytes, and returns a fence after them.
fence staging::put(direction way, std::span<const piece> pieces, bool pinned, std::size_t of, stream_handle stream) {
    return in_.queued(stream, [&] {
        const result status = enqueue(way, pieces, pinned, stream);
        if (status == success) return;
        const char* const what = way == direction::to_device ? "write" : "read";
        in_.check(status, fmt::format("a {} of {} bytes of pageable memory", what, of));
    });
}

void staging::write(std::span<const piece> pieces, stream_handle stream) {
    std::deque<fence> under_way;
    for (feed from(pieces); !from.empty();) {
        std::optional<pinned_ring::room> room = to_device_.take(from.next_bytes());
        if (!room && under_way.empty()) return write_without_room(from.rest(), stream);
        if (!room) {
            under_way.front().wait();
            under_way.pop_front();
            continue;
        }
        const std::vector<parcel> packed = from.pack(room->begin());
        for (const parcel& each : packed)
            threads_->copy(direction::to_device, each.staged.host, each.host, each.staged.bytes);
        const fence copied = put(direction::to_device, staged(packed), true, from.bytes(), stream);
        room->is_in_use_until(copied);
        under_way.push_back(copied);
    }
}

/// A short write does not wait for the stream, as it copies the bytes once more.
void staging::write_without_room(std::span<const piece> pieces, stream_handle stream) {
    feed from(pieces);
    if (from.bytes() > small) {
        put(direction::to_device, pieces, false, from.bytes(), stream).wait();
        return;
    }
    std::vector<std::byte> source(from.bytes());
    const std::vector<parcel> packed = from.pack(source.data());
    for (const parcel& each : packed)
        threads_->copy(direction::to_device, each.staged.host, each.host, each.staged.bytes);
    keep(std::move(source), put(direction::to_device, staged(packed), false, from.bytes(), stream));
}

void staging::read(std::span<const piece> pieces, stream_handle stream) {
    struct arriving {
        pinned_ring::room in;
        std::vector<parcel> packed;
    };
    std::deque<arriving> under_way;
    const auto take_oldest = [&] {
        const auto& [in, packed] = under_way.front();
        in.copied().wait();
        for (const parcel& each : packed)
            threads_->copy(direction::to_host, each.host, each.staged.host, each.staged.bytes);
        under_way.pop_front();
    };
    feed to(pieces);
    while (!to.empty()) {
        std::optional<pinned_ring::room> room = to_host_.take(to.next_bytes());
        if (!room && under_way.empty()) break;
        if (!room) {
            take_oldest();
            continue;
        }
        std::vector<parcel> packed = to.pack(room->begin());
        room->is_in_use_until(put(direction::to_host, staged(packed), true, to.bytes(), stream));
        under_way.push_back({*std::move(room), std::move(packed)});
    }
    while (!under_way.empty()) take_oldest();
    if (to.empty()) return;
    put(direction::to_host, to.rest(), false, to.bytes(), stream).wait();
}

void staging::keep(std::vector<std::byte>&& source, const fence& until) {
    const std::scoped_lock lock(kept_mutex_);
    std::erase_if(kept_, [](const kept& each) { return is_over(each.until); });
    try {
        kept_.push_back({until, {}});
    } catch (const std::bad_alloc&) {
        until.wait();
        throw;
    }
    kept_.back().source = std::move(source);
}

}  // namespace unibuf::backends::cuda
