// backends/cuda/staging.cpp
#include "backends/cuda/staging.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "backends/cuda/copy_threads.hpp"

namespace unibuf::backends::cuda {
namespace {

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
    explicit feed(std::span<const piece> pieces) : left_(pieces) {}

    bool empty() const noexcept { return left_.empty(); }

    std::vector<parcel> pack(std::byte* block) {
        std::vector<parcel> packed;
        for (std::size_t room = staging::block_bytes; room > 0 && !empty();) {
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

private:
    std::span<const piece> left_;
    std::size_t taken_ = 0;  // bytes that were taken of the first piece
};

}  // namespace

staging::staging(context& in) : in_(in) {}

// The blocks stay: a device lives as long as the process, and so does its ring.
staging::~staging() = default;

bool staging::ready() {
    const std::scoped_lock lock(mutex_);
    if (threads_) return true;
    for (block& each : ring_) {
        if (each.bytes) continue;
        void* made = nullptr;
        const result status = api().cuMemHostAlloc(&made, block_bytes, host_alloc_portable);
        if (status == out_of_memory) return false;
        in_.check(status, "no pinned memory for transfers");
        each.bytes = static_cast<std::byte*>(made);
    }
    threads_ = std::make_unique<copy_threads>();
    return true;
}

staging::block& staging::next_free() {
    block& oldest = ring_[next_++ % blocks];
    oldest.in_use.wait();
    return oldest;
}

void staging::write(std::span<const piece> pieces, stream_handle stream) {
    const std::scoped_lock lock(mutex_);
    for (feed from(pieces); !from.empty();) {
        block& free = next_free();
        const std::vector<parcel> packed = from.pack(free.bytes);
        for (const parcel& each : packed) threads_->copy(each.staged.host, each.host, each.staged.bytes);
        in_.check(enqueue(direction::to_device, staged(packed), true, stream), "a staged write");
        free.in_use = in_.mark(stream);
    }
}

void staging::read(std::span<const piece> pieces, stream_handle stream) {
    const std::scoped_lock lock(mutex_);
    struct arriving {
        const block* in;
        std::vector<parcel> packed;
    };
    std::deque<arriving> under_way;
    const auto take_oldest = [&] {
        const auto& [in, packed] = under_way.front();
        in->in_use.wait();
        for (const parcel& each : packed) threads_->copy(each.host, each.staged.host, each.staged.bytes);
        under_way.pop_front();
    };
    for (feed to(pieces); !to.empty();) {
        if (under_way.size() == blocks) take_oldest();
        block& free = next_free();
        std::vector<parcel> packed = to.pack(free.bytes);
        in_.check(enqueue(direction::to_host, staged(packed), true, stream), "a staged read");
        free.in_use = in_.mark(stream);
        under_way.push_back({&free, std::move(packed)});
    }
    while (!under_way.empty()) take_oldest();
}

}  // namespace unibuf::backends::cuda
