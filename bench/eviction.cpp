// bench/eviction.cpp: the cost of copies that make room by themselves, beside a program that swaps them by hand.
#include <fmt/format.h>
#include <unibuf/opencl.hpp>
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <vector>

#include "common/opencl_api.hpp"
#include "race.hpp"

namespace bench::eviction_bench {
namespace {

namespace cl = examples::cl;
using cl::api;
using cl::check;

constexpr std::size_t bytes = std::size_t{16} << 20;
constexpr std::size_t arrays = 6;
constexpr std::size_t room = 4;  // number of arrays that the device has room for

/// Returns the array of a use. Arrays take turns, so that each has just gone when it is needed again: the worst case
/// for both.
std::size_t turn(std::uint64_t use) { return use % arrays; }

/// Uses buffers, whose copies come and go by themselves.
class by_unibuf {
public:
    by_unibuf(unibuf::space where, unibuf::access what) : where_(where), what_(what) {
        for (std::size_t i = 0; i < arrays; ++i) {
            buffers_.emplace_back(bytes, unibuf::buffer_options{.hint = unibuf::memory_hint::gpu_preferred});
            std::ranges::fill(buffers_.back().write(unibuf::host), static_cast<std::byte>(i + 1));
        }
        unibuf::limit_memory(where_, unibuf::memory_in(where_).held + room * bytes);
    }
    ~by_unibuf() { unibuf::limit_memory(where_, unibuf::no_memory_limit); }
    by_unibuf(const by_unibuf&) = delete;
    by_unibuf& operator=(const by_unibuf&) = delete;

    void use() {
        unibuf::buffer& next = buffers_[turn(uses_++)];
        if (what_ == unibuf::access::read) {
            next.read(where_).release();
        } else {
            next.read_write(where_).release();
        }
    }

    std::uint64_t bytes_moved() const {
        std::uint64_t sum = 0;
        for (const unibuf::buffer& each : buffers_) sum += each.statistics().bytes_moved();
        return sum;
    }

private:
    unibuf::space where_;
    unibuf::access what_;
    std::deque<unibuf::buffer> buffers_;
    std::uint64_t uses_ = 0;
};

/// Swaps copies as somebody writes it who knows what comes next. The host has pages as a buffer has them.
class by_hand {
public:
    by_hand(unibuf::space where, unibuf::access what) : on_(unibuf::opencl::handles_of(where)), what_(what) {
        for (std::size_t i = 0; i < arrays; ++i) {
            pages_.emplace_back(bytes);
            auto lease = pages_.back().write(unibuf::host);
            std::ranges::fill(lease, static_cast<std::byte>(i + 1));
            all_.push_back({.at_host = lease.span()});
        }
    }
    ~by_hand() {
        for (const array& each : all_) {
            if (each.at_device) api().clReleaseMemObject(each.at_device);
        }
    }
    by_hand(const by_hand&) = delete;
    by_hand& operator=(const by_hand&) = delete;

    void use() {
        array& next = all_[turn(uses_++)];
        if (!next.at_device) {
            if (there_.size() == room) drop_oldest();
            bring(next);
        }
        next.dirty |= what_ != unibuf::access::read;
    }

    std::uint64_t bytes_moved() const noexcept { return moved_; }

private:
    struct array {
        std::span<std::byte> at_host;
        cl::memory at_device = nullptr;
        bool dirty = false;
    };
    static constexpr std::uint32_t when_done = 1;

    void drop_oldest() {
        array& oldest = *there_.front();
        there_.pop_front();
        if (oldest.dirty) {
            check(api().clEnqueueReadBuffer(on_.queue, oldest.at_device, when_done, 0, bytes, oldest.at_host.data(), 0,
                                            nullptr, nullptr),
                  "clEnqueueReadBuffer");
            moved_ += bytes;
        }
        check(api().clReleaseMemObject(oldest.at_device), "clReleaseMemObject");
        oldest.at_device = nullptr;
        oldest.dirty = false;
    }

    void bring(array& next) {
        cl::status answer = 0;
        constexpr std::uint64_t read_write = 0;
        next.at_device = api().clCreateBuffer(on_.context, read_write, bytes, nullptr, &answer);
        check(answer, "clCreateBuffer");
        check(api().clEnqueueWriteBuffer(on_.queue, next.at_device, when_done, 0, bytes, next.at_host.data(), 0,
                                         nullptr, nullptr),
              "clEnqueueWriteBuffer");
        moved_ += bytes;
        there_.push_back(&next);
    }

    unibuf::opencl::handles on_;
    unibuf::access what_;
    std::deque<unibuf::buffer> pages_;
    std::vector<array> all_;
    std::deque<array*> there_;  // the oldest first
    std::uint64_t uses_ = 0;
    std::uint64_t moved_ = 0;
};

bench::figures in_turns(unibuf::access what) {
    const unibuf::space where("opencl:0");
    by_hand hand(where, what);
    by_unibuf unibuf(where, what);
    for (std::size_t i = 0; i < 2 * arrays; ++i) {  // until each use moves as much as the next
        hand.use();
        unibuf.use();
    }
    const bench::seconds typical = bench::in_typical_turns(51 * arrays, [&] { unibuf.use(); }, [&] { hand.use(); });
    if (unibuf.bytes_moved() != hand.bytes_moved()) {
        throw std::runtime_error(fmt::format("unibuf moved {} bytes, where {} are enough by hand", unibuf.bytes_moved(),
                                             hand.bytes_moved()));
    }
    return {typical.measured * 1e3, typical.limit * 1e3};
}

const bench::declared eviction(
    {.name = "pool.evict",
     .unit = "ms",
     .goal = bench::ratio_at_most(1.1),
     .cases = {{"6 of 16 MiB in turns, room for 4, each written", [] { return in_turns(unibuf::access::read_write); }},
               {"6 of 16 MiB in turns, room for 4, only read", [] { return in_turns(unibuf::access::read); }}}});

}  // namespace
}  // namespace bench::eviction_bench
