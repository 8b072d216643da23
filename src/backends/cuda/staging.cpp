// backends/cuda/staging.cpp: pageable memory to and from a device, by way of pinned memory of unibuf's own.
#include "backends/cuda/staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "backends/cuda/copy_threads.hpp"
#include "backends/cuda/past_cache.hpp"
#include "backends/host/sizes.hpp"
#include "backends/poll.hpp"
#include "backends/rectangle.hpp"

namespace unibuf::backends::cuda {
namespace {

// What a copy of so many bytes needs is kept in plain memory where there is no room: the copy stops nobody then.
constexpr std::size_t small = std::size_t{64} << 10;

/// A piece, or as much of it as fits, with its place in a block.
struct parcel {
    piece staged;
    std::byte* host;
};

/// Pieces in a block, one behind the other.
class parcels {
public:
    void add(const piece& staged, std::byte* host) {
        all_.push_back({staged, host});
        bytes_ += staged.bytes;
    }

    /// Copies between the host's memory and the block.
    void carry(direction way, copy_threads& threads) const {
        if (bytes_ == 0) return;
        const std::byte* const block = all_.front().staged.host;
        threads.split(bytes_, [&](std::size_t begin, std::size_t end) {
            const auto offset = [&](const parcel& of) { return static_cast<std::size_t>(of.staged.host - block); };
            auto each = std::ranges::upper_bound(all_, begin, {}, offset) - 1;
            for (; each != all_.end() && offset(*each) < end; ++each) {
                const std::size_t at = offset(*each);
                const std::size_t skipped = begin > at ? begin - at : 0;
                const std::size_t bytes = std::min(end - at, each->staged.bytes) - skipped;
                copy_bytes(way, each->staged.host + skipped, each->host + skipped, bytes);
            }
        });
    }

    /// Returns the copies of the block. Pieces that lie side by side there and on the device, as parts of an arena do,
    /// are one copy.
    std::vector<piece> staged() const {
        std::vector<piece> pieces;
        for (const parcel& each : all_) {
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

private:
    static void copy_bytes(direction way, std::byte* block, std::byte* host, std::size_t bytes) noexcept {
        if (way == direction::to_device) return copy_past_cache(block, host, bytes);
        std::memcpy(host, block, bytes);
    }

    std::vector<parcel> all_;
    std::size_t bytes_ = 0;
};

class feed_of_pieces {
public:
    explicit feed_of_pieces(std::span<const piece> pieces)
        : left_(pieces), bytes_(bytes_of(pieces)), bytes_left_(bytes_) {}

    bool empty() const noexcept { return left_.empty(); }
    std::size_t bytes() const noexcept { return bytes_; }

    /// Returns the size of the next block.
    std::size_t next_bytes() const noexcept { return std::min(bytes_left_, pinned_ring::block_bytes); }

    parcels next(std::byte* block) {
        parcels packed;
        std::size_t room = next_bytes();
        bytes_left_ -= room;
        while (room > 0) {
            const piece& next = left_.front();
            const std::size_t bytes = std::min(room, next.bytes - taken_);
            packed.add({next.allocation, next.at + taken_, block, bytes}, next.host + taken_);
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
    std::span<const piece> left_;
    std::size_t bytes_;
    std::size_t bytes_left_;
    std::size_t taken_ = 0;  // bytes that were taken of the first piece
};

/// Rows in a block, one behind the other.
class packed_rows {
public:
    packed_rows(const plane& rows, std::byte* block) noexcept : rows_(rows), block_(block) {}

    void carry(direction way, copy_threads& threads) const {
        const std::size_t size = rows_.row.bytes;
        threads.split(rows_.bytes(), [&](std::size_t begin, std::size_t end) {
            const std::size_t first = (begin + size - 1) / size;
            const std::size_t last = (end + size - 1) / size;
            if (first == last) return;
            rectangle_copy rows{.row_bytes = size, .axes = 1, .counts = {last - first}};
            std::byte* const host = rows_.row.host + first * rows_.host_pitch;
            std::byte* const block = block_ + first * size;
            rows.here.pitches = {way == direction::to_device ? size : rows_.host_pitch};
            rows.there.pitches = {way == direction::to_device ? rows_.host_pitch : size};
            way == direction::to_device ? copy_rows(rows, block, host) : copy_rows(rows, host, block);
        });
    }

    plane staged() const noexcept {
        plane result = rows_;
        result.row.host = block_;
        result.host_pitch = rows_.row.bytes;
        return result;
    }

private:
    plane rows_;
    std::byte* block_;
};

class feed_of_rows {
public:
    explicit feed_of_rows(const plane& rows) noexcept : left_(rows), bytes_(rows.bytes()) {}

    bool empty() const noexcept { return left_.rows == 0; }
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t next_bytes() const noexcept { return next_rows() * left_.row.bytes; }

    packed_rows next(std::byte* block) noexcept {
        plane taken = left_;
        taken.rows = next_rows();
        left_.rows -= taken.rows;
        left_.row.at += taken.rows * left_.device_pitch;
        left_.row.host += taken.rows * left_.host_pitch;
        return {taken, block};
    }

    const plane& rest() const noexcept { return left_; }

private:
    std::size_t next_rows() const noexcept { return std::min(left_.rows, pinned_ring::block_bytes / left_.row.bytes); }

    plane left_;
    std::size_t bytes_;
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

/// Puts copies on the stream, as a part of a transfer of so many bytes, and returns a fence after them.
template <class What>
fence staging::put(direction way, const What& what, bool pinned, std::size_t of, stream_handle stream) {
    return in_.queued(stream, [&] {
        const result status = enqueue(way, what, pinned, stream);
        if (status == success) return;
        const char* const done = way == direction::to_device ? "write" : "read";
        in_.check(status, fmt::format("a {} of {} bytes of pageable memory", done, of));
    });
}

template <class Feed>
fence staging::write_all(Feed from, stream_handle stream) {
    std::deque<fence> under_way;
    while (!from.empty()) {
        std::optional<pinned_ring::room> room = to_device_.take(from.next_bytes());
        if (!room && under_way.empty()) return write_without_room(from, stream);
        if (!room) {
            under_way.front().wait();
            under_way.pop_front();
            continue;
        }
        const auto packed = from.next(room->begin());
        packed.carry(direction::to_device, *threads_);
        const fence copied = put(direction::to_device, packed.staged(), true, from.bytes(), stream);
        room->is_in_use_until(copied);
        under_way.push_back(copied);
    }
    return under_way.back();
}

/// A short write does not wait for the stream, as it copies the bytes once more.
template <class Feed>
fence staging::write_without_room(Feed from, stream_handle stream) {
    if (from.next_bytes() > small) {
        put(direction::to_device, from.rest(), false, from.bytes(), stream).wait();
        return {};
    }
    std::vector<std::byte> source(from.next_bytes());
    const auto packed = from.next(source.data());
    packed.carry(direction::to_device, *threads_);
    fence copied = put(direction::to_device, packed.staged(), false, from.bytes(), stream);
    keep(std::move(source), copied);
    return copied;
}

template <class Feed>
void staging::read_all(Feed to, stream_handle stream) {
    struct arriving {
        pinned_ring::room in;
        decltype(to.next(nullptr)) packed;
    };
    std::deque<arriving> under_way;
    const auto take_oldest = [&] {
        under_way.front().in.copied().wait();
        under_way.front().packed.carry(direction::to_host, *threads_);
        under_way.pop_front();
    };
    while (!to.empty()) {
        std::optional<pinned_ring::room> room = to_host_.take(to.next_bytes());
        if (!room && under_way.empty()) break;
        if (!room) {
            take_oldest();
            continue;
        }
        auto packed = to.next(room->begin());
        room->is_in_use_until(put(direction::to_host, packed.staged(), true, to.bytes(), stream));
        under_way.push_back({*std::move(room), std::move(packed)});
    }
    while (!under_way.empty()) take_oldest();
    if (to.empty()) return;
    put(direction::to_host, to.rest(), false, to.bytes(), stream).wait();
}

fence staging::write(std::span<const piece> pieces, stream_handle stream) {
    return write_all(feed_of_pieces(pieces), stream);
}
fence staging::write(const plane& rows, stream_handle stream) { return write_all(feed_of_rows(rows), stream); }
void staging::read(std::span<const piece> pieces, stream_handle stream) { read_all(feed_of_pieces(pieces), stream); }
void staging::read(const plane& rows, stream_handle stream) { read_all(feed_of_rows(rows), stream); }

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
