// backends/host/pinned_blocks.cpp: pages of the host that are pinned for a device, and those that are kept for later.
#include "backends/host/pinned_blocks.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <iterator>
#include <utility>

#include "backends/host/available_memory.hpp"
#include "backends/spaces.hpp"
#include "process/forks.hpp"
#include "system/pages.hpp"
#include "unibuf/detail/sizes.hpp"

namespace unibuf::backends {
namespace {

constexpr std::size_t kept_share = 16;
constexpr std::size_t waste_share = 64;

/// Returns the least size that blocks have which has room for `bytes`.
std::size_t size_for(std::size_t bytes) noexcept {
    const std::size_t step = std::max(system::page_size(), std::bit_floor(bytes) / waste_share);
    return detail::rounded_up(bytes, step);
}

}  // namespace

pinned_block::pinned_block(space by, std::size_t bytes) : by_(by), bytes_(bytes) {
    pages_ = device_of(host).allocate({.bytes = bytes, .whole_pages = true});
    pin_ = device_of(by).pin_pages({pages_->host_address(), bytes});
}

kept_blocks::kept_blocks(std::size_t most_bytes) : most_bytes_(most_bytes), born_(process::forks()) {}

kept_blocks& kept_blocks::instance() {
    static auto* const only = new kept_blocks(available_memory().memory.total / kept_share);
    return *only;
}

std::unique_ptr<pinned_block> kept_blocks::make(space by, std::size_t bytes) {
    const std::size_t rounded = size_for(bytes);
    if (auto found = take(by, bytes, rounded)) return found;
    return with_room_of_kept([&] { return std::make_unique<pinned_block>(by, rounded); });
}

std::unique_ptr<pinned_block> kept_blocks::take(space by, std::size_t bytes, std::size_t at_most) noexcept {
    if (born_ != process::forks()) return nullptr;
    const std::scoped_lock lock(mutex_);
    const auto fits = [&](const std::unique_ptr<pinned_block>& each) {
        return each->by() == by && each->bytes() >= bytes && each->bytes() <= at_most;
    };
    const auto newest = std::ranges::find_if(all_.rbegin(), all_.rend(), fits);
    if (newest == all_.rend()) return nullptr;
    std::unique_ptr<pinned_block> found = std::move(*newest);
    all_.erase(std::next(newest).base());
    bytes_ -= found->bytes();
    return found;
}

void kept_blocks::keep(std::unique_ptr<pinned_block> unused) noexcept {
    if (born_ != process::forks() || unused->bytes() > most_bytes_) return;
    std::vector<std::unique_ptr<pinned_block>> gone;  // is destroyed after the lock
    unused->was_used();
    const std::scoped_lock lock(mutex_);
    try {
        std::size_t too_many = 0;
        std::size_t bytes = bytes_ + unused->bytes();
        while (bytes > most_bytes_) bytes -= all_[too_many++]->bytes();
        gone.reserve(too_many);
        all_.push_back(std::move(unused));
        bytes_ = bytes;
        const auto end = all_.begin() + static_cast<std::ptrdiff_t>(too_many);
        std::move(all_.begin(), end, std::back_inserter(gone));
        all_.erase(all_.begin(), end);
    } catch (const std::exception&) {  // a block that cannot be noted is given back now
    }
}

bool kept_blocks::clear() noexcept {
    if (born_ != process::forks()) return false;
    std::vector<std::unique_ptr<pinned_block>> gone;  // is destroyed after the lock
    const std::scoped_lock lock(mutex_);
    gone.swap(all_);
    bytes_ = 0;
    return !gone.empty();
}

}  // namespace unibuf::backends
