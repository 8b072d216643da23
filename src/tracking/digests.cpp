// tracking/digests.cpp: makes digests, and decides where they are worth their time.
#include "tracking/digests.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "tracking/kernel.hpp"

namespace unibuf::tracking {
namespace {

using words = std::array<std::uint64_t, digested_block / sizeof(std::uint64_t)>;

const words& key() {
    static const words drawn = [] {
        std::random_device source;
        words result;
        for (std::uint64_t& each : result) each = std::uint64_t{source()} << 32 | source();
        return result;
    }();
    return drawn;
}

/// Returns the sum of the products of neighbours, each with its word of the key added.
digest sum_of_products(const std::byte* block, const words& with) noexcept {
    __extension__ using wide = unsigned __int128;
    std::array<wide, 2> sums{};
    for (std::size_t i = 0; i < with.size(); i += 4) {
        std::array<std::uint64_t, 4> read;
        std::memcpy(read.data(), block + i * sizeof(std::uint64_t), sizeof read);
        sums[0] += wide{read[0] + with[i]} * (read[1] + with[i + 1]);
        sums[1] += wide{read[2] + with[i + 2]} * (read[3] + with[i + 3]);
    }
    const wide all = sums[0] + sums[1];
    return {static_cast<std::uint64_t>(all), static_cast<std::uint64_t>(all >> 64)};
}

}  // namespace

digest digest_of(std::span<const std::byte> block) noexcept {
    if (block.size() == digested_block) return sum_of_products(block.data(), key());
    std::array<std::byte, digested_block> padded{};
    std::memcpy(padded.data(), block.data(), block.size());
    return sum_of_products(padded.data(), key());
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
    : memory_(memory),
      blocks_{.each = digested_block, .memory = memory.size()},
      sections_(memory.size()) {}

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
