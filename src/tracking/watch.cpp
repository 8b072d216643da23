// tracking/watch.cpp: which bytes of an allocation the program has written, without being told.
#include "tracking/watch.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "system/mappings.hpp"
#include "system/pages.hpp"
#include "unibuf/detail/sizes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::tracking {
namespace {

constexpr std::size_t all_of_it = std::numeric_limits<std::size_t>::max();

// To compare so many pages takes no longer than to ask the kernel where some of them are compared anyway.
constexpr std::size_t least_pages = 4;

/// Returns how many bytes of `memory` come before the first page that begins in it.
std::size_t bytes_before_page(std::span<std::byte> memory) noexcept {
    return -reinterpret_cast<std::uintptr_t>(memory.data()) % system::page_size();
}

/// Returns the whole pages that `memory` has all of.
byte_range whole_pages_of(std::span<std::byte> memory) noexcept {
    const std::size_t page = system::page_size();
    const std::size_t before = bytes_before_page(memory);
    if (memory.size() < before) return {};
    return {before, before + (memory.size() - before) / page * page};
}

/// Returns the pages that `part` has a byte of.
std::span<std::byte> pages_around(std::span<std::byte> part) noexcept {
    const std::size_t page = system::page_size();
    const std::size_t before = reinterpret_cast<std::uintptr_t>(part.data()) % page;
    return {part.data() - before, detail::rounded_up(before + part.size(), page)};
}

}  // namespace

watch::watch(std::span<std::byte> memory, byte_range watched, mapping kind)
    : memory_(memory),
      pages_(watched),
      kind_(kind),
      units_(watched.empty()
                 ? units{.each = compared_piece::line, .memory = memory.size()}
                 : units{.each = system::page_size(), .memory = memory.size(), .lead = bytes_before_page(memory)}) {
    const byte_range before{0, watched.empty() ? memory.size() : watched.begin};
    const byte_range behind{std::max(before.end, watched.end), memory.size()};
    if (!before.empty()) add_piece(before, why::always);
    if (!behind.empty()) add_piece(behind, why::always);
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

void watch::add_piece(byte_range at, why is_compared) {
    pieces_.emplace(at.begin, compared_unit{compared_piece(memory_, at), is_compared});
    if (is_compared == why::apart) ++apart_;
    if (is_compared == why::hot) ++hot_;
}

/// Calls visit(compared_unit&) for each piece that has a byte of `range`.
template <class Self, class Visit>
void watch::for_each_in(Self& self, byte_range range, const Visit& visit) {
    for (auto each = first_of(self, range); each != self.pieces_.end() && each->first < range.end; ++each) {
        visit(each->second);
    }
}

byte_ranges watch::compared(byte_range range) const {
    byte_ranges result;
    for_each_in(*this, range, [&](const compared_unit& each) { result.add(each.piece.at().clipped_to(range)); });
    return result;
}

std::shared_ptr<const std::byte> watch::image(byte_range range) const noexcept {
    const auto first = first_of(*this, range);
    const bool has_all = first != pieces_.end() && first->second.piece.at().contains(range);
    return has_all ? first->second.piece.image(range) : nullptr;
}

void watch::copy_images(byte_range range, std::byte* to) const noexcept {
    for_each_in(*this, range, [&](const compared_unit& each) { each.piece.copy_image(range, to); });
}

/// Returns the pages among those that the kernel watches that have a byte of `range`; none where there are none.
std::span<std::byte> watch::kernel_pages(byte_range range) const noexcept {
    if (!range.overlaps(pages_)) return {};
    range = range.clipped_to(pages_);
    return pages_around(memory_.subspan(range.begin, range.size()));
}

/// Returns the pages of `range`, which are whole units, but those of pieces for which is(compared_unit) holds.
template <class Is>
byte_ranges watch::pages_without(byte_range range, const Is& is) const {
    byte_ranges result;
    if (!range.overlaps(pages_)) return result;
    result = range.clipped_to(pages_);
    for_each_in(*this, range, [&](const compared_unit& each) {
        if (is(each)) result.take_out(each.piece.at());
    });
    return result;
}

void watch::arm(byte_range range) {
    range = units_.around(range);
    if (const std::span pages = kernel_pages(range); !pages.empty()) {
        armed_ = true;
        end_hot(range);
        kernel::instance().protect(pages, true);
    }
    for_each_in(*this, range, [&](compared_unit& each) { each.piece.take(range); });
}

void watch::disarm(byte_range range) {
    range = units_.within(range);
    if (range.empty()) return;
    end_hot(range);
    if (const std::span pages = kernel_pages(range); !pages.empty()) kernel::instance().protect(pages, false);
}

void watch::watch_again(byte_range range) const noexcept {
    kernel::instance().protect_again(kernel_pages(units_.around(range)));
}

void watch::let_kernel_write(byte_range range) const noexcept {
    if (const std::span pages = kernel_pages(units_.around(range)); !pages.empty()) kernel::instance().open(pages);
}

void watch::end_kernel_write(byte_range range) const noexcept {
    if (const std::span pages = kernel_pages(units_.around(range)); !pages.empty()) kernel::instance().close(pages);
}

void watch::look(byte_range range, kernel::look_for what, std::vector<byte_range>& found, std::size_t most) const {
    kernel::instance().scan(kernel_pages(range), what, memory_, found, most);
}

void watch::scan(byte_range range, const compared_piece::bytes_apart& apart, std::vector<byte_range>& written,
                 kernel::look_for what) {
    range = units_.around(range);
    if (hot_ != 0) cool(range, apart, written);
    for_each_in(*this, range, [&](compared_unit& each) {
        if (each.is_compared != why::apart) each.piece.scan(range, apart, written);
    });
    if (compares_all()) return;
    const auto by_kernel = [](const compared_unit& each) { return each.is_compared != why::apart; };
    const byte_ranges pages = pages_without(range, by_kernel);
    for (const byte_range& each : pages) look(each, what, seen_, all_of_it);
    tell_seen(apart, written);
    heat(range);
    empty_out(seen_);
}

/// Adds the pages that the kernel has seen a write to, and of those that are compared what was written.
void watch::tell_seen(const compared_piece::bytes_apart& apart, std::vector<byte_range>& written) {
    make_room(written, seen_.size());
    if (apart_ == 0) {
        written.insert(written.end(), seen_.begin(), seen_.end());
        return;
    }
    for (const byte_range& seen : seen_) {
        const byte_ranges others = pages_without(seen, [](const compared_unit&) { return true; });
        make_room(written, others.count());
        written.insert(written.end(), others.begin(), others.end());
        for_each_in(*this, seen, [&](compared_unit& each) {
            if (each.is_compared == why::apart) each.piece.scan(each.piece.at(), apart, written);
        });
    }
}

/// The image is taken before the look, as a store that comes between the two differs from it. Where the look finds
/// something all of the unit is told, and is sent as its image is, which is taken anew.
void watch::compare(byte_range unit, std::vector<byte_range>& written) {
    if (compares_any_of(unit)) return;
    add_piece(unit, why::apart);
    const std::size_t before = written.size();
    try {
        look(unit, kernel::look_for::written_and_protect, written, all_of_it);
    } catch (...) {
        leave_to_kernel(unit, [](byte_range) { return false; });
        throw;
    }
    if (written.size() != before) pieces_.at(unit.begin).piece.take(unit);
}

void watch::take_bytes(byte_range bytes) {
    for_each_in(*this, bytes, [&](compared_unit& each) { each.piece.take_bytes(bytes); });
}

/// Protects hot pages in `range` that nobody has written for long, and adds what was written of them in between.
void watch::cool(byte_range range, const compared_piece::bytes_apart& apart, std::vector<byte_range>& written) {
    const unsigned enough = scans_until_cold.load(std::memory_order_relaxed);
    for_each_in(*this, range, [&](compared_unit& each) {
        if (each.is_compared != why::hot || each.piece.quiet() < enough) return;
        kernel::instance().protect(kernel_pages(each.piece.at()), true);
        each.piece.scan(each.piece.at(), apart, written);  // where it throws, the page stays hot
        each.is_compared = why::apart;                     // until that is needed no more
        --hot_;
        ++apart_;
    });
}

/// Compares pages that are hot from now on: the scan of `range` has protected them, and need not have.
void watch::heat(byte_range range) {
    try {
        for (const byte_range& each : learned_.learn(range, seen_, units_, hot_pages::most(memory_.size()) - hot_)) {
            if (const auto apart = pieces_.find(each.begin); apart != pieces_.end()) {
                apart->second.is_compared = why::hot;
                --apart_;
                ++hot_;
            } else {
                add_piece(each, why::hot);
            }
            kernel::instance().unprotect(kernel_pages(each));
        }
    } catch (const std::bad_alloc&) {  // they stay protected
    }
}

/// Has the kernel watch hot pages in `range`, which are protected anew, or watched no more.
void watch::end_hot(byte_range range) noexcept {
    if (compares_all()) return;
    for_each_in(*this, range, [&](compared_unit& each) {
        if (each.is_compared != why::hot) return;
        each.is_compared = why::apart;
        --hot_;
        ++apart_;
    });
    learned_.forget(range);
}

bool watch::any_written(byte_range range) {
    range = units_.around(range);
    bool any = false;
    for_each_in(*this, range, [&](const compared_unit& each) {
        any = any || (each.is_compared != why::apart && !each.piece.is_as_it_was(range));
    });
    if (any) return true;
    const auto by_kernel = [](const compared_unit& each) { return each.is_compared != why::apart; };
    const byte_ranges pages = pages_without(range, by_kernel);
    std::vector<byte_range> first;
    for (const byte_range& each : pages) {
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

/// Adds the units of `range` that somebody may have written since they were zero: those that are compared by content.
void watch::add_touched(byte_range range, kernel::look_for what, std::vector<byte_range>& found) const {
    for_each_in(*this, range, [&](const compared_unit& each) { not_zero(range.clipped_to(each.piece.at()), found); });
    const byte_ranges pages = pages_without(range, [](const compared_unit&) { return true; });
    for (const byte_range& each : pages) look(each, what, found, all_of_it);
}

void watch::touched(byte_range range, std::vector<byte_range>& found) {
    range = units_.around(range);
    if (used_ || compares_all()) return not_zero(range, found);
    add_touched(range, kernel::look_for::touched, found);
}

/// Once a page is armed, the kernel does not tell whether it was swapped or nobody has touched it. So touched pages are
/// asked for before; those that were touched in between are still present.
void watch::arm_fresh(byte_range range, std::vector<byte_range>& found) {
    if (used_ || compares_all()) {
        arm(range);
        return touched(range, found);
    }
    touched(range, found);
    arm(range);
    range = units_.around(range);
    add_touched(range, kernel::look_for::present, found);
}

std::unique_ptr<watch> make_watch(std::span<std::byte> memory, own_pages own, std::span<std::byte> mapping) {
    const std::size_t page = system::page_size();
    if (memory.empty() || kernel::is_off()) return nullptr;
    const auto made = [&](byte_range pages, watch::mapping kind = watch::mapping::own) {
        auto result = std::make_unique<watch>(memory, pages, kind);
        if (kernel::is_by_signal()) result->was_used();  // nobody tells which pages were touched
        return result;
    };
    if (memory.size() <= most_compared() || (own != own_pages::all && memory.size() < page)) return made({});
    if (own == own_pages::none) return nullptr;
    if (own == own_pages::inside && kernel::is_by_signal()) {
        const auto known = system::mappings_of(memory);
        if (!known || !known->is_data()) return nullptr;
    }
    byte_range pages{0, memory.size()};
    if (own == own_pages::inside) {
        pages = whole_pages_of(memory);
        if (pages.size() < least_pages * page) return made({});
    }
    kernel& by = kernel::instance();
    if (!mapping.empty()) return by.add_common(mapping) ? made(pages, watch::mapping::common) : nullptr;
    return by.add(pages_around(memory.subspan(pages.begin, pages.size()))) ? made(pages) : nullptr;
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

mechanism about() {
    const std::string beside = kernel::unknown_choice();
    std::string missing = kernel::instance().missing();
    if (!missing.empty()) return {false, missing + beside};
    if (!kernel::is_by_signal()) return {true, "userfaultfd and PAGEMAP_SCAN" + beside};
    return {true,
            "a handler of SIGSEGV, as UNIBUF_TRACKING is signal. Where host pointers are out, read(2) and other system "
            "calls cannot write: take a lease for writing at the host, or an io_view, of what they are to write"};
}

}  // namespace unibuf::tracking
