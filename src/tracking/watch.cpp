// tracking/watch.cpp
#include "tracking/watch.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "system/pages.hpp"
#include "unibuf/detail/sizes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::tracking {
namespace {

constexpr std::size_t all_of_it = std::numeric_limits<std::size_t>::max();

// To compare so many pages takes no longer than to ask the kernel where some of them are compared anyway.
constexpr std::size_t least_pages = 4;

/// Returns the whole pages that `memory` has all of.
byte_range whole_pages_of(std::span<std::byte> memory) noexcept {
    const std::size_t page = system::page_size();
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(memory.data()) % page;
    if (memory.size() < before) return {};
    return {before, before + (memory.size() - before) / page * page};
}

}  // namespace

watch::watch(std::span<std::byte> memory, byte_range pages, mapping kind)
    : memory_(memory),
      pages_(pages),
      kind_(kind),
      units_(pages.empty() ? units{.each = compared_piece::line, .memory = memory.size()}
                           : units{.each = system::page_size(), .memory = memory.size(), .lead = pages.begin}) {
    const byte_range before{0, pages.empty() ? memory.size() : pages.begin};
    const byte_range behind{std::max(before.end, pages.end), memory.size()};
    if (!before.empty()) pieces_.emplace_back(memory, before);
    if (!behind.empty()) pieces_.emplace_back(memory, behind);
}

watch::~watch() {
    if (pages_.empty()) return;
    const std::span pages = kernel_pages(pages_);
    if (kind_ == mapping::own) {
        kernel::instance().remove(pages);
    } else if (armed_) {
        kernel::instance().unprotect(pages);
    }
}

byte_ranges watch::compared() const {
    byte_ranges result;
    for (const compared_piece& each : pieces_) result.add(each.at());
    return result;
}

bool watch::compares_any_of(byte_range range) const noexcept {
    return std::ranges::any_of(pieces_, [&](const compared_piece& each) { return each.at().overlaps(range); });
}

std::shared_ptr<const std::byte> watch::image(byte_range range) const noexcept {
    for (const compared_piece& each : pieces_) {
        if (each.at().contains(range)) return each.image(range);
    }
    return nullptr;
}

void watch::copy_images(byte_range range, std::byte* to) const noexcept {
    for (const compared_piece& each : pieces_) each.copy_image(range, to);
}

/// Returns the pages among those that the kernel watches that have a byte of `range`; none where there are none.
std::span<std::byte> watch::kernel_pages(byte_range range) const noexcept {
    if (!range.overlaps(pages_)) return {};
    range = range.clipped_to(pages_);
    const std::size_t page = system::page_size();
    const std::size_t begin = range.begin - (range.begin - pages_.begin) % page;
    return {memory_.data() + begin, detail::rounded_up(range.end - begin, page)};
}

/// Returns the pages of `range`, which are whole units, that are not compared.
byte_ranges watch::beside_pieces(byte_range range) const {
    byte_ranges result;
    if (!range.overlaps(pages_)) return result;
    result = range.clipped_to(pages_);
    for (const compared_piece& each : pieces_) result.take_out(each.at());
    return result;
}

void watch::arm(byte_range range) {
    range = units_.around(range);
    forget_hot(range);
    for (compared_piece& each : pieces_) {
        if (each.at().overlaps(range)) each.take(range);
    }
    const std::span pages = kernel_pages(range);
    if (pages.empty()) return;
    armed_ = true;
    kernel::instance().protect(pages, true);
}

void watch::disarm(byte_range range) {
    range = units_.within(range);
    if (range.empty()) return;
    forget_hot(range);
    if (const std::span pages = kernel_pages(range); !pages.empty()) kernel::instance().protect(pages, false);
}

void watch::look(byte_range range, kernel::look_for what, std::vector<byte_range>& found, std::size_t most) const {
    kernel::instance().scan(kernel_pages(range), what, memory_, found, most);
}

void watch::scan(byte_range range, std::vector<byte_range>& written) {
    range = units_.around(range);
    if (!compares()) cool(range, written);
    for (compared_piece& each : pieces_) {
        if (each.at().overlaps(range)) each.scan(range, written);
    }
    if (compares()) return;
    for (const byte_range& each : beside_pieces(range)) {
        look(each, kernel::look_for::written_and_protect, seen_, all_of_it);
    }
    make_room(written, seen_.size());
    written.insert(written.end(), seen_.begin(), seen_.end());
    heat(range);
    empty_out(seen_);
}

/// Protects hot pages in `range` that nobody has written for long, and adds what was written of them in between.
void watch::cool(byte_range range, std::vector<byte_range>& written) {
    const unsigned enough = scans_until_cold.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < pieces_.size();) {
        compared_piece& each = pieces_[i];
        if (!is_hot(each) || each.quiet() < enough || !each.at().overlaps(range)) {
            ++i;
            continue;
        }
        kernel::instance().protect(kernel_pages(each.at()), true);
        each.scan(each.at(), written);
        pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// Compares pages that are hot from now on: the scan of `range` has protected them, and need not have.
void watch::heat(byte_range range) {
    const auto hot = static_cast<std::size_t>(
        std::ranges::count_if(pieces_, [this](const compared_piece& each) { return is_hot(each); }));
    try {
        for (const byte_range& each : learned_.learn(range, seen_, hot_pages::most(memory_.size()) - hot)) {
            const auto after = std::ranges::lower_bound(pieces_, each.begin, {},
                                                        [](const compared_piece& of) { return of.at().begin; });
            pieces_.emplace(after, memory_, each);
            kernel::instance().unprotect(kernel_pages(each));
        }
    } catch (const std::bad_alloc&) {  // they stay protected
    }
}

/// Forgets hot pages in `range`, which are watched no more, or protected anew.
void watch::forget_hot(byte_range range) noexcept {
    if (compares()) return;
    std::erase_if(pieces_, [&](const compared_piece& each) { return is_hot(each) && each.at().overlaps(range); });
    learned_.forget(range);
}

bool watch::any_written(byte_range range) {
    range = units_.around(range);
    for (const compared_piece& each : pieces_) {
        if (each.at().overlaps(range) && !each.is_as_it_was(range)) return true;
    }
    std::vector<byte_range> first;
    for (const byte_range& each : beside_pieces(range)) {
        look(each, kernel::look_for::written, first, system::page_size());  // one is enough
        if (!first.empty()) return true;
    }
    return false;
}

/// Adds the units that are not all zero. Mostly their first bytes tell.
void watch::not_zero(byte_range range, std::vector<byte_range>& found) const {
    for (std::size_t at = range.begin; at < range.end;) {
        const byte_range unit = units_.of(at);
        const std::byte* const bytes = memory_.data() + unit.begin;
        at = unit.end;
        // All bytes are zero where the first is, and each is as the one before it.
        if (*bytes == std::byte{0} && std::memcmp(bytes, bytes + 1, unit.size() - 1) == 0) continue;
        append(found, unit);
    }
}

void watch::touched(byte_range range, std::vector<byte_range>& found) {
    range = units_.around(range);
    if (used_ || compares()) return not_zero(range, found);
    for (const compared_piece& each : pieces_) {
        if (each.at().overlaps(range)) not_zero(range.clipped_to(each.at()), found);
    }
    for (const byte_range& each : beside_pieces(range)) look(each, kernel::look_for::touched, found, all_of_it);
}

/// Once a page is armed, the kernel does not tell whether it was swapped or nobody has touched it. So touched pages are
/// asked for before; those that were touched in between are still present.
void watch::arm_fresh(byte_range range, std::vector<byte_range>& found) {
    if (used_ || compares()) {
        arm(range);
        return touched(range, found);
    }
    touched(range, found);
    arm(range);
    range = units_.around(range);
    for (const compared_piece& each : pieces_) {
        if (each.at().overlaps(range)) not_zero(range.clipped_to(each.at()), found);
    }
    for (const byte_range& each : beside_pieces(range)) look(each, kernel::look_for::present, found, all_of_it);
}

std::unique_ptr<watch> make_watch(std::span<std::byte> memory, own_pages own, std::span<std::byte> mapping) {
    const std::size_t page = system::page_size();
    if (memory.empty() || kernel::is_off()) return nullptr;
    const auto made = [&](byte_range pages, watch::mapping kind = watch::mapping::own) {
        return std::make_unique<watch>(memory, pages, kind);
    };
    if (memory.size() <= most_compared || (own != own_pages::all && memory.size() < page)) return made({});
    if (own == own_pages::none) return nullptr;
    byte_range pages{0, detail::rounded_up(memory.size(), page)};
    if (own == own_pages::inside) {
        pages = whole_pages_of(memory);
        if (pages.size() < least_pages * page) return made({});
    }
    kernel& by = kernel::instance();
    if (!mapping.empty()) return by.add_common(mapping) ? made(pages, watch::mapping::common) : nullptr;
    return by.add({memory.data() + pages.begin, pages.size()}) ? made(pages) : nullptr;
}

byte_ranges touched(std::span<std::byte> memory) {
    const byte_range all{0, memory.size()};
    if (!kernel::instance().usable()) return all;
    const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % system::page_size();
    const std::size_t pages = (before + memory.size() + system::page_size() - 1) / system::page_size();
    std::vector<byte_range> found;
    try {
        kernel::instance().scan({memory.data() - before, pages * system::page_size()}, kernel::look_for::touched,
                                memory, found, std::numeric_limits<std::size_t>::max());
    } catch (const error&) {
        return all;
    }
    return byte_ranges::of(std::move(found));
}

const mechanism& about() {
    static const mechanism found = [] {
        const std::string& missing = kernel::instance().missing();
        if (missing.empty()) return mechanism{true, "userfaultfd and PAGEMAP_SCAN"};
        return mechanism{false, missing};
    }();
    return found;
}

}  // namespace unibuf::tracking
