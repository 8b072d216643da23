// tests/contract/threads_contract.cpp: threads that do anything at once, with little memory and little time to wait.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "contract/contract.hpp"
#include "support/seeds.hpp"
#include "unibuf/batch.hpp"
#include "unibuf/lease_together.hpp"
#include "unibuf/memory_pool.hpp"
#include "unibuf/waiting.hpp"

namespace unibuf::contract::threads_suite {
namespace {

using namespace std::chrono_literals;
using word = std::uint64_t;

constexpr std::array<std::size_t, 3> sizes{8 * sizeof(word), 5000 * sizeof(word), 30000 * sizeof(word)};

/// Programs write words of which one half is the other's complement, or nothing: any other word is stale, or torn.
word of_program(std::uint32_t number) noexcept { return word{number} << 32 | static_cast<std::uint32_t>(~number); }

bool is_of_program(word found) noexcept {
    return found == 0 || static_cast<std::uint32_t>(found >> 32) == static_cast<std::uint32_t>(~found);
}

/// Buffers that all threads have handles of, until one of them releases them to the pool.
class shared_buffers {
public:
    explicit shared_buffers(space where) : where_(where) {
        for (std::size_t i = 0; i < sizes.size(); ++i) all_.push_back(acquire(i));
    }

    buffer handle(std::size_t index) {
        const std::scoped_lock lock(mutex_);
        return all_[index].view(0, rest);
    }

    /// Throws error(access_conflict) where the buffer is held.
    void replace(std::size_t index) {
        const std::scoped_lock lock(mutex_);
        pool_.release(std::move(all_[index]));
        all_[index] = acquire(index);
    }

private:
    /// Returns one that shares memory with the device where that is possible, or one that does not.
    buffer acquire(std::size_t index) {
        buffer_options options;
        options.device = where_;
        options.hint = ++made_ % 2 == 0 ? memory_hint::gpu_preferred : memory_hint::cpu_preferred;
        return pool_.acquire(sizes[index], options);
    }

    const space where_;
    std::mutex mutex_;
    memory_pool pool_;
    std::vector<buffer> all_;
    unsigned made_ = 0;
};

/// One of the threads.
class actor {
public:
    actor(shared_buffers& among, space where, std::uint32_t number)
        : among_(among), where_(where), number_(number << 16), random_(test::seed(number)) {}

    void run(unsigned steps) {
        for (; steps != 0; --steps) {
            try {
                step();
            } catch (const error& refusal) {
                const auto code = refusal.code();
                const bool may_be = code == error_code::timeout || code == error_code::access_conflict ||
                                    code == error_code::out_of_memory || code == error_code::not_allocated;
                EXPECT_TRUE(may_be) << refusal.what();
            }
            if (views_.size() > 5) views_.erase(views_.begin());
            if (pointers_.size() > 5) pointers_.erase(pointers_.begin());
            if (bound_.size() > 1) bound_.erase(bound_.begin());
        }
    }

private:
    std::size_t below(std::size_t limit) { return random_() % limit; }
    space any_space() { return below(2) == 0 ? host : where_; }

    void step() {
        const std::size_t index = below(sizes.size());
        buffer all = among_.handle(index);
        const std::size_t first = below(2) == 0 ? 0 : below(sizes[index] / sizeof(word));
        buffer of = all.view(first * sizeof(word), rest);
        switch (below(16)) {
            case 0:
                return read(of);
            case 1:
                return write(of);
            case 2:
                return of.fill(pattern(), any_space());
            case 3:
                return copy_in(of);
            case 4:
                return copy_out(of);
            case 5:
                of.prefetch(any_space());
                return below(2) == 0 ? of.sync_to_host() : of.sync_to_device();
            case 6:
                return all.discard(any_space());
            case 7:
                return of.discard_content();
            case 8:
                return among_.replace(index);
            case 9:
                return views_.push_back(of.copy_view(any_space()));
            case 10:
                return pointers_.push_back(of.host_view());
            case 11:
                of.read_write(where_).release();
                return static_cast<void>(all.state());
            case 12:
                return together(of, among_.handle(below(sizes.size())));
            case 13:
                return columns(all);
            case 14:
                return batched(of, among_.handle(below(sizes.size())));
            default:
                return bind(of);
        }
    }

    void read(const buffer& of) {
        const auto held = of.read(host, {.timeout = below(2) == 0 ? forever : 0ns});
        check(held.span());
        std::this_thread::yield();
        check(held.span());
    }

    void write(buffer& of) {
        const auto held = below(2) == 0 ? of.write(host) : of.read_write(host);
        const bytes content = pattern();
        for (std::size_t at = 0; at < held.size(); at += content.size()) {
            std::ranges::copy(content, held.data() + at);
            if (at == held.size() / 2) std::this_thread::yield();
        }
    }

    void copy_in(buffer& of) {
        const bytes content = repeated(pattern(), of.size_bytes());
        below(2) == 0 ? of.copy_from(content) : of.copy_from(content, where_);
    }

    void copy_out(const buffer& of) {
        bytes content(of.size_bytes());
        below(2) == 0 ? of.copy_to(content) : of.copy_to(content, where_);
        check(content);
    }

    void together(buffer& one, buffer other) {
        const auto [read, written] = lease_together(one.to_read(host), other.to_read_write(any_space()));
        check(read.span());
    }

    /// Fills some columns of rows of eight words, and looks at others.
    void columns(buffer& of) {
        const shape rows{of.size_bytes() / sizeof(word) / 8, 8};
        const std::size_t first = below(8);
        buffer some = of.view(rows, sizeof(word), std::array{full_extent, slice{first, first + 1 + below(8 - first)}});
        below(2) == 0 ? some.fill(pattern()) : some.read_write(where_).release();
        bytes content(some.size_bytes());
        some.copy_to(content);
        check(content);
    }

    void batched(const buffer& one, const buffer& other) {
        batch both(where_);
        both.sync(one);
        both.sync(other);
        both.submit();
    }

    /// Lets the device use the bytes at any time, as long as this thread does three more such steps.
    void bind(buffer& of) {
        if (where_ == host_as_device) return;  // has no queued work to wait for
        bound_.push_back(of.bind(where_, below(2) == 0 ? access::read : access::read_write));
    }

    bytes pattern() {
        const word made = of_program(++number_);
        const auto* const begin = reinterpret_cast<const std::byte*>(&made);
        return {begin, begin + sizeof made};
    }

    static void check(std::span<const std::byte> content) {
        const auto* const words = reinterpret_cast<const word*>(content.data());
        const word* const end = words + content.size() / sizeof(word);
        const word* const other = std::find_if_not(words, end, is_of_program);
        EXPECT_EQ(other, end) << std::hex << *other << " is word " << std::dec << other - words << " of " << end - words
                              << ", before " << std::find_if(other, end, is_of_program) - words;
    }

    shared_buffers& among_;
    const space where_;
    std::uint32_t number_;  // of the word that was written last
    std::mt19937 random_;
    std::vector<copy_view> views_;
    std::vector<host_view<std::byte>> pointers_;
    std::vector<standing_hold> bound_;
};

TEST_P(threads_contract, leaves_every_word_whole) {
    const space holder = where_ == host_as_device ? host : where_;
    const std::array before{memory_in(host).held, memory_in(holder).held};
    {
        shared_buffers among(where_);
        limit_memory(holder, before[1] + sizes[1] + sizes[2]);
        set_default_timeout(5ms);
        std::vector<std::jthread> threads;
        for (std::uint32_t i = 1; i <= 4; ++i) {
            threads.emplace_back([&, i] { actor(among, where_, i).run(500); });
        }
        threads.clear();
        set_default_timeout(forever);
        limit_memory(holder, no_memory_limit);
    }
    EXPECT_EQ((std::array{memory_in(host).held, memory_in(holder).held}), before);
}

}  // namespace
}  // namespace unibuf::contract::threads_suite
