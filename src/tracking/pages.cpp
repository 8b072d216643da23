// tracking/pages.cpp
#include "tracking/pages.hpp"
#include "system/pages.hpp"

#include <cstring>
#include <limits>
#include <new>
#include <span>

namespace unibuf::tracking {
namespace {

std::size_t down(std::size_t offset) noexcept { return offset / system::page_size() * system::page_size(); }
std::size_t up(std::size_t offset) noexcept { return down(offset + system::page_size() - 1); }

}  // namespace

page_watch::~page_watch() {
    const std::span pages = around({0, memory_.size()});
    if (kind_ == of::own_mapping) {
        kernel::instance().remove(pages);
    } else if (armed_) {
        kernel::instance().unprotect(pages);
    }
}

/// Returns whole pages. The last page is all of the buffer's, however little of it is used.
std::span<std::byte> page_watch::around(byte_range range) const noexcept {
    return {memory_.data() + down(range.begin), up(range.end) - down(range.begin)};
}

std::span<std::byte> page_watch::within(byte_range range) const noexcept {
    const std::size_t begin = up(range.begin);
    const std::size_t end = range.end == memory_.size() ? up(range.end) : down(range.end);
    return begin < end ? std::span(memory_.data() + begin, end - begin) : std::span<std::byte>();
}

/// Returns which bytes of the memory the pages have.
byte_range page_watch::bytes_of(std::span<const std::byte> pages) const noexcept {
    if (pages.empty()) return {};
    const auto begin = static_cast<std::size_t>(pages.data() - memory_.data());
    return byte_range{begin, begin + pages.size()}.clipped_to({0, memory_.size()});
}

void page_watch::arm(byte_range range) {
    armed_ = true;
    hot_.forget(bytes_of(around(range)));
    kernel::instance().protect(around(range), true);
}

void page_watch::disarm(byte_range range) {
    hot_.forget(bytes_of(within(range)));
    kernel::instance().protect(within(range), false);
}

void page_watch::look(byte_range range, kernel::look_for what, std::vector<byte_range>& found, std::size_t most) const {
    kernel::instance().scan(around(range), what, memory_, found, most);
}

void page_watch::scan(byte_range range, std::vector<byte_range>& written) {
    const byte_range pages = bytes_of(around(range));
    if (const byte_ranges cold = hot_.cold(pages); !cold.empty()) {
        for (const byte_range& each : cold) kernel::instance().protect(around(each), true);
        hot_.forget(cold, written);
    }
    hot_.scan(pages, written);
    for (const byte_range& each : hot_.beside(pages)) {
        look(each, kernel::look_for::written_and_protect, seen_, std::numeric_limits<std::size_t>::max());
    }
    make_room(written, seen_.size());
    written.insert(written.end(), seen_.begin(), seen_.end());
    try {
        for (const byte_range& each : hot_.learn(pages, seen_)) kernel::instance().unprotect(around(each));
    } catch (const std::bad_alloc&) {  // they stay protected
    }
    empty_out(seen_);
}

bool page_watch::any_written(byte_range range) {
    const byte_range pages = bytes_of(around(range));
    if (hot_.any_written(pages)) return true;
    std::vector<byte_range> first;
    for (const byte_range& each : hot_.beside(pages)) look(each, kernel::look_for::written, first, system::page_size());
    return !first.empty();
}

/// Adds the pages that are not all zero. Mostly their first bytes tell.
void page_watch::not_zero(byte_range range, std::vector<byte_range>& found) const {
    for (std::size_t i = range.begin; i < range.end; i += system::page_size()) {
        const byte_range piece = byte_range{i, i + system::page_size()}.clipped_to(range);
        const std::byte* const at = memory_.data() + piece.begin;
        // All bytes are zero where the first is, and each is as the one before it.
        if (*at == std::byte{0} && std::memcmp(at, at + 1, piece.size() - 1) == 0) continue;
        append(found, piece);
    }
}

void page_watch::touched(byte_range range, std::vector<byte_range>& found) {
    if (!used_) return look(range, kernel::look_for::touched, found, std::numeric_limits<std::size_t>::max());
    not_zero(byte_range{down(range.begin), up(range.end)}.clipped_to({0, memory_.size()}), found);
}

/// Once a page is armed, the kernel does not tell whether it was swapped or nobody has touched it. So touched pages are
/// asked for before; those that were touched in between are still present.
void page_watch::arm_fresh(byte_range range, std::vector<byte_range>& found) {
    if (used_) {
        arm(range);
        return touched(range, found);
    }
    touched(range, found);
    arm(range);
    look(range, kernel::look_for::present, found, std::numeric_limits<std::size_t>::max());
}

}  // namespace unibuf::tracking
