// tracking/digests.cpp: makes digests, and decides where they are worth their time.
#include "tracking/digests.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "tracking/kernel.hpp"

namespace unibuf::tracking {
namespace {

constexpr std::size_t words = digested_block / sizeof(std::uint32_t);
constexpr std::size_t shift = 4;  // of the key, for the second sum

struct alignas(16) key_words : std::array<std::uint32_t, words + shift> {};

const key_words& key() {
    static const key_words drawn = [] {
        std::random_device source;
        key_words result;
        std::ranges::generate(result, std::ref(source));
        return result;
    }();
    return drawn;
}

#if defined(__SSE2__)

constexpr std::size_t ahead = 2048;  // bytes, as the hardware fetches none beyond the end of a page

__m128i plus_product(__m128i sum, __m128i block, const std::uint32_t* with) noexcept {
    const __m128i added = _mm_add_epi32(block, _mm_load_si128(reinterpret_cast<const __m128i*>(with)));
    return _mm_add_epi64(sum, _mm_mul_epu32(added, _mm_srli_epi64(added, 32)));
}

std::uint64_t both(__m128i sums) noexcept {
    std::array<std::uint64_t, 2> of;
    std::memcpy(of.data(), &sums, sizeof of);
    return of[0] + of[1];
}

digest sums_of_products(const std::byte* block, const key_words& with) noexcept {
    constexpr std::size_t at_once = 4;
    constexpr std::size_t line = 16;
    __m128i low = _mm_setzero_si128();
    __m128i high = low;
    for (std::size_t first = 0; first < words; first += line) {
        _mm_prefetch(reinterpret_cast<const char*>(block) + first * sizeof(std::uint32_t) + ahead, _MM_HINT_T0);
        for (std::size_t i = first; i < first + line; i += at_once) {
            const auto* const from = reinterpret_cast<const __m128i*>(block + i * sizeof(std::uint32_t));
            const __m128i read = _mm_loadu_si128(from);
            low = plus_product(low, read, &with[i]);
            high = plus_product(high, read, &with[i + shift]);
        }
    }
    return {both(low), both(high)};
}

#else

digest sums_of_products(const std::byte* block, const key_words& with) noexcept {
    digest result;
    for (std::size_t i = 0; i < words; i += 2) {
        std::array<std::uint32_t, 2> read;
        std::memcpy(read.data(), block + i * sizeof read[0], sizeof read);
        const auto product = [&](const std::uint32_t* by) {
            return std::uint64_t{read[0] + by[0]} * std::uint64_t{read[1] + by[1]};
        };
        result.low += product(&with[i]);
        result.high += product(&with[i + shift]);
    }
    return result;
}

#endif

}  // namespace

digest digest_of(std::span<const std::byte> block) noexcept {
    if (block.size() == digested_block) return sums_of_products(block.data(), key());
    std::array<std::byte, digested_block> padded{};
    std::memcpy(padded.data(), block.data(), block.size());
    return sums_of_products(padded.data(), key());
}

void digest_costs::keep_least(double& known, std::size_t bytes, seconds took) noexcept {
    const double now = took.count() / static_cast<double>(bytes);
    known = known == 0 ? now : std::min(now, known * 1.05);
}

const digest_costs::costs_at* digest_costs::at(coherence::space_id device) const noexcept {
    const auto* const found = std::ranges::find(devices_, device, &costs_at::device);
    return found == devices_.end() ? nullptr : found;
}

void digest_costs::sent(coherence::space_id device, std::size_t bytes, seconds took, bool digested) {
    if (bytes < least_sent) return;
    auto* known = const_cast<costs_at*>(at(device));
    if (!known) {
        devices_.push_back({.device = device});
        known = &devices_.back();
    }
    keep_least(digested ? known->digested : known->plain, bytes, took);
}

bool digest_costs::knows(coherence::space_id device) const noexcept {
    const costs_at* const known = at(device);
    return known && known->plain != 0;
}

bool digest_costs::pays(coherence::space_id device, std::size_t bytes, std::size_t written) const noexcept {
    const costs_at* const known = at(device);
    if (!known || known->plain == 0) return false;
    const double sending = std::max(known->digested, known->plain + compare_);
    const double with_digests = compare_ * static_cast<double>(bytes) + sending * static_cast<double>(written);
    return with_digests < known->plain * static_cast<double>(bytes);
}

digests::digests(std::span<const std::byte> memory)
    : memory_(memory), blocks_{.each = digested_block, .memory = memory.size()}, sections_(memory.size()) {}

bool digests::is_wanted(coherence::space_id device, byte_range section) noexcept {
    if (kernel::is_by_digest()) return true;
    return costs_.knows(device) && sections_.of(section).rounds_left == 0;
}

void digests::add_changed(byte_range blocks, std::vector<byte_range>& to) {
    for_each_block(blocks, [&](std::size_t index, byte_range block) {
        if (digest_of(memory_.subspan(block.begin, block.size())) != kept_[index]) append(to, block);
    });
}

void digests::decide(coherence::space_id device, byte_range section, std::size_t compared,
                     std::size_t written) noexcept {
    static_cast<void>(watch_next(sections_.of(section), compared != 0, !costs_.pays(device, compared, written)));
}

digest digests::copy_block(byte_range block, std::byte* to) const noexcept {
    std::memcpy(to, memory_.data() + block.begin, block.size());
    return digest_of({to, block.size()});
}

}  // namespace unibuf::tracking
