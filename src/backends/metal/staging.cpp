// backends/metal/staging.cpp: takes bytes to and from private memory, by way of memory that host and GPU share.
#include "backends/metal/staging.hpp"

#include <fmt/format.h>

#include "backends/poll.hpp"
#include "unibuf/detail/sizes.hpp"

namespace unibuf::backends::metal {
namespace {

constexpr std::size_t unit = std::size_t{16} << 10;
constexpr std::size_t most_kept = 8 * staging::block_bytes;

}  // namespace

staging::block staging::take(std::size_t bytes) {
    const pool drained;
    {
        const std::lock_guard lock(mutex_);
        for (auto each = kept_.begin(); each != kept_.end(); ++each) {
            if (each->what.size < bytes || !is_over(each->until)) continue;
            block found = std::move(each->what);
            bytes_ -= found.size;
            kept_.erase(each);
            return found;
        }
    }
    block made;
    made.size = detail::rounded_up(bytes, unit);  // so that it serves transfers of about that size
    made.buffer = new_buffer(device_, made.size, storage_shared);
    if (!made.buffer) {
        throw error(error_code::out_of_memory,
                    fmt::format("Metal has no room for {} bytes to carry a transfer", made.size));
    }
    made.bytes = static_cast<std::byte*>(contents_of(made.buffer.get()));
    return made;
}

/// A block that is not kept is held by the command buffers that use it.
void staging::give_back(block used, fence until) {
    const std::lock_guard lock(mutex_);
    if (bytes_ + used.size > most_kept) return;
    bytes_ += used.size;
    kept_.push_back({std::move(used), std::move(until)});
}

bool staging::clear() {
    const std::lock_guard lock(mutex_);
    const std::size_t before = kept_.size();
    std::erase_if(kept_, [&](const kept& each) {
        if (!is_over(each.until)) return false;
        bytes_ -= each.what.size;
        return true;
    });
    return kept_.size() != before;
}

}  // namespace unibuf::backends::metal
