// tracking/hot_pages.cpp
#include "tracking/hot_pages.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "system/pages.hpp"
#include "tracking/kernel.hpp"
#include "tracking/units.hpp"

namespace unibuf::tracking {

/// Returns how many pages may be hot: beside a large memory, their copies take little.
std::size_t hot_pages::most() const noexcept {
    constexpr std::size_t for_each = std::size_t{32} << 20;
    return 1 + std::min<std::size_t>(memory_.size() / for_each, 7);
}

namespace {

// Other threads may be writing what these two read: whatever is read, a store that comes later makes the page another
// one than its copy. So each word is read once, and a thread sanitizer is not to tell of it.

template <class Word>
[[gnu::no_sanitize_thread]] bool are_equal(const std::byte* page, const std::byte* copy, std::size_t words) noexcept {
    const auto* const now = reinterpret_cast<const volatile Word*>(page);
    const auto* const before = reinterpret_cast<const Word*>(copy);
    Word differs = 0;
    for (std::size_t i = 0; i < words; ++i) differs = static_cast<Word>(differs | (now[i] ^ before[i]));
    return differs == 0;
}

template <class Word>
[[gnu::no_sanitize_thread]] void copy_words(const std::byte* page, std::byte* copy, std::size_t words) noexcept {
    const auto* const now = reinterpret_cast<const volatile Word*>(page);
    auto* const to = reinterpret_cast<Word*>(copy);
    for (std::size_t i = 0; i < words; ++i) to[i] = now[i];
}

using word = std::uint64_t;
using last_bytes = std::uint8_t;

std::size_t whole_words(std::size_t bytes) noexcept { return bytes / sizeof(word) * sizeof(word); }

}  // namespace

bool hot_pages::is_as_it_was(const page& of) const noexcept {
    const std::byte* const at = memory_.data() + of.bytes.begin;
    const std::size_t words = whole_words(of.bytes.size());
    return are_equal<word>(at, of.copy.get(), words / sizeof(word)) &&
           are_equal<last_bytes>(at + words, of.copy.get() + words, of.bytes.size() - words);
}

void hot_pages::copy(page& of) const noexcept {
    const std::byte* const at = memory_.data() + of.bytes.begin;
    const std::size_t words = whole_words(of.bytes.size());
    copy_words<word>(at, of.copy.get(), words / sizeof(word));
    copy_words<last_bytes>(at + words, of.copy.get() + words, of.bytes.size() - words);
}

byte_ranges hot_pages::all() const {
    byte_ranges result;
    for (const page& each : hot_) result.add(each.bytes);
    return result;
}

bool hot_pages::has_any_of(byte_range range) const noexcept {
    return std::ranges::any_of(hot_, [&](const page& each) { return each.bytes.overlaps(range); });
}

void hot_pages::copy_images(byte_range range, std::byte* to) const noexcept {
    for (const page& each : hot_) {
        const byte_range own = range.clipped_to(each.bytes);
        if (own.empty()) continue;
        std::memcpy(to + (own.begin - range.begin), each.copy.get() + (own.begin - each.bytes.begin), own.size());
    }
}

byte_ranges hot_pages::beside(byte_range range) const {
    byte_ranges result = range;
    for (const page& each : hot_) result.take_out(each.bytes);
    return result;
}

void hot_pages::scan(byte_range range, std::vector<byte_range>& written) {
    make_room(written, hot_.size());
    for (page& each : hot_) {
        if (!each.bytes.overlaps(range)) continue;
        if (is_as_it_was(each)) {
            ++each.quiet;
            continue;
        }
        each.quiet = 0;
        copy(each);  // what is stored from now on is found by the next scan; what was before moves with this one
        append(written, each.bytes);
    }
}

bool hot_pages::any_written(byte_range range) const {
    return std::ranges::any_of(hot_,
                               [&](const page& each) { return each.bytes.overlaps(range) && !is_as_it_was(each); });
}

byte_ranges hot_pages::learn(byte_range range, std::span<const byte_range> found) {
    byte_ranges result;
    std::vector<candidate> seen;
    std::size_t left = most() - hot_.size();
    const std::size_t most_found = left * system::page_size();
    std::size_t bytes = 0;
    for (const byte_range& each : found) bytes += each.size();
    if (bytes <= most_found) {
        for (const byte_range& each : found) {
            for (std::size_t at = each.begin; at < each.end; at += system::page_size()) {
                seen.push_back({{at, std::min(at + system::page_size(), each.end)}, 1});
            }
        }
    }
    for (const candidate& before : candidates_) {
        const auto same = std::ranges::find(seen, before.bytes, &candidate::bytes);
        if (same != seen.end()) {
            same->times += before.times;
        } else if (!before.bytes.overlaps(range)) {
            seen.push_back(before);  // nobody has looked there now
        }
    }
    candidates_ = std::move(seen);
    const unsigned needed = scans_until_hot.load(std::memory_order_relaxed);
    for (auto each = candidates_.begin(); each != candidates_.end() && left != 0;) {
        if (each->times < needed) {
            ++each;
            continue;
        }
        page made{each->bytes, std::make_unique_for_overwrite<std::byte[]>(each->bytes.size())};
        copy(made);
        const auto after =
            std::ranges::lower_bound(hot_, made.bytes.begin, {}, [](const page& of) { return of.bytes.begin; });
        result.add(made.bytes);
        hot_.insert(after, std::move(made));
        each = candidates_.erase(each);
        --left;
    }
    return result;
}

byte_ranges hot_pages::cold(byte_range range) const {
    byte_ranges result;
    const unsigned enough = scans_until_cold.load(std::memory_order_relaxed);
    for (const page& each : hot_) {
        if (each.quiet >= enough && each.bytes.overlaps(range)) result.add(each.bytes);
    }
    return result;
}

void hot_pages::forget(const byte_ranges& pages, std::vector<byte_range>& written) {
    make_room(written, hot_.size());
    std::erase_if(hot_, [&](const page& each) {
        if (pages.bytes_in(each.bytes) == 0) return false;
        if (!is_as_it_was(each)) append(written, each.bytes);
        return true;
    });
}

void hot_pages::forget(byte_range range) noexcept {
    std::erase_if(hot_, [&](const page& each) { return each.bytes.overlaps(range); });
    std::erase_if(candidates_, [&](const candidate& each) { return each.bytes.overlaps(range); });
}

}  // namespace unibuf::tracking
