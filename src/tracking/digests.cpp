// tracking/digests.cpp: makes digests, and decides where they are worth their time.
#include "tracking/digests.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <utility>

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

void digest_costs::sent(std::size_t bytes, seconds took) noexcept {
    if (bytes >= least_sent) keep_least(plain_, bytes, took);
}

/// What is sent with digests would have taken no longer without them: the first transfer of all may have been slow.
void digest_costs::sent_digested(std::size_t bytes, std::size_t pieces, seconds took) noexcept {
    if (bytes >= least_sent && pieces == 1) keep_least(digested_, bytes, took);
    if (digested_ != 0) plain_ = std::min(plain_, digested_);
    const double beside_bytes = took.count() - digested_ * static_cast<double>(bytes);
    if (pieces > 1) each_ += (std::max(beside_bytes, 0.0) / static_cast<double>(pieces) - each_) / 2;
}

double digest_costs::gain(std::size_t bytes, std::size_t written, std::size_t pieces) const noexcept {
    return (plain_ - compare_) * static_cast<double>(bytes) - sending_digested() * static_cast<double>(written) -
           each_ * static_cast<double>(pieces);
}

double digest_costs::gain(std::size_t bytes, std::size_t written, std::size_t pieces, std::size_t of) const noexcept {
    return plain_ == 0 ? 0 : gain(bytes, written, pieces) / (plain_ * static_cast<double>(of));
}

double digest_costs::keeping(std::size_t bytes, std::size_t of) const noexcept {
    if (plain_ == 0) return 0;
    const double each = std::max(sending_digested() - plain_, plain_ / 10);
    return each * static_cast<double>(bytes) / (plain_ * static_cast<double>(of));
}

digests::digests(std::span<const std::byte> memory)
    : memory_(memory), blocks_{.each = digested_block, .memory = memory.size()} {
    key();  // what draws it may fail
}

digests::device_history& digests::at(coherence::space_id device) {
    const auto found = std::ranges::find(devices_, device, &device_history::device);
    if (found != devices_.end()) return *found;
    std::vector<section_account> sections(memory_.size() / section_bytes + 1);
    return devices_.emplace_back(device_history{.device = device, .costs = {}, .sections = std::move(sections)});
}

bool digests::is_wanted(coherence::space_id device, byte_range section) noexcept {
    if (kernel::is_by_digest()) return true;
    const auto found = std::ranges::find(devices_, device, &device_history::device);
    return found != devices_.end() && found->costs.is_known() &&
           found->sections[section.begin / section_bytes].rounds_left == 0;
}

void digests::make_room() { kept_.resize((memory_.size() + digested_block - 1) / digested_block); }

void digests::add_changed(byte_range blocks, std::vector<byte_range>& to) {
    for_each_block(blocks, [&](std::size_t index, byte_range block) {
        if (digest_of(memory_.subspan(block.begin, block.size())) != kept_[index]) append(to, block);
    });
}

/// Notes what digests have `lost`, or brought, and returns whether they go on in a section. What they brought counts up
/// to one transfer, so that content that is used otherwise from now on is not compared for long.
bool digests::goes_on(section_account& of, double lost) noexcept {
    constexpr float most = 1;              // until the first pause
    constexpr float most_in_trial = 0.25;  // and after each
    constexpr std::uint8_t first_pause = 4;
    constexpr int longest_pause = 255;
    of.lost = std::max(of.lost + static_cast<float>(lost), -most);
    if (of.lost == -most) of.next_pause = 0;
    if (of.lost <= (of.next_pause == 0 ? most : most_in_trial)) return true;
    const std::uint8_t pause = std::max(of.next_pause, first_pause);
    of = {.lost = 0, .rounds_left = pause, .next_pause = static_cast<std::uint8_t>(std::min(2 * pause, longest_pause))};
    return false;
}

bool digests::decide(coherence::space_id device, byte_range section, std::size_t compared, const byte_ranges& written) {
    device_history& of = at(device);
    const std::size_t index = section.begin / section_bytes;
    const std::size_t bytes = std::min(section_bytes, memory_.size() - index * section_bytes);
    section_account& account = of.sections[index];
    if (account.rounds_left != 0) {
        --account.rounds_left;
        return kernel::is_by_digest();
    }
    if (compared == 0) return goes_on(account, of.costs.keeping(section.size(), bytes)) || kernel::is_by_digest();
    const double gain = of.costs.gain(compared, written.bytes_in(section), written.count(), bytes);
    if (!goes_on(account, -gain) || gain <= 0) return kernel::is_by_digest();
    // Only what is sent as it is tells what that takes, and the first transfer may have been slow.
    const std::size_t rounds = of.trials == 0 ? 3 : 64;
    if (compared * 2 < bytes || ++of.compared <= rounds * (memory_.size() / section_bytes + 1)) return true;
    of.compared = 0;
    ++of.trials;
    account.rounds_left = 1;
    return kernel::is_by_digest();
}

digest digests::copy_block(byte_range block, std::byte* to) const noexcept {
    std::memcpy(to, memory_.data() + block.begin, block.size());
    return digest_of({to, block.size()});
}

}  // namespace unibuf::tracking
