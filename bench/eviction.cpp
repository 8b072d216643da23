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

/// Arrays of which the device has room for some. They take turns, so that each has just gone when it is needed again:
/// the worst case for both.
struct setting {
    std::size_t bytes;  // of an array
    std::size_t arrays;
    std::size_t room;  // number of arrays
    unibuf::access what;
};

/// Uses buffers, whose copies come and go by themselves.
class by_unibuf {
public:
    by_unibuf(unibuf::space where, const setting& of) : where_(where), of_(of) {
        for (std::size_t i = 0; i < of.arrays; ++i) {
            buffers_.emplace_back(of.bytes, unibuf::buffer_options{.hint = unibuf::memory_hint::gpu_preferred});
            std::ranges::fill(buffers_.back().write(unibuf::host), static_cast<std::byte>(i + 1));
        }
        unibuf::limit_memory(where_, unibuf::memory_in(where_).held + of.room * of.bytes);
    }
    ~by_unibuf() { unibuf::limit_memory(where_, unibuf::no_memory_limit); }
    by_unibuf(const by_unibuf&) = delete;
    by_unibuf& operator=(const by_unibuf&) = delete;

    void use() {
        unibuf::buffer& next = buffers_[uses_++ % of_.arrays];
        if (of_.what == unibuf::access::read) {
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
    setting of_;
    std::deque<unibuf::buffer> buffers_;
    std::uint64_t uses_ = 0;
};

/// Swaps copies as somebody writes it who knows what comes next. The host has pages as a buffer has them.
class by_hand {
public:
    by_hand(unibuf::space where, const setting& of) : on_(unibuf::opencl::handles_of(where)), of_(of) {
        for (std::size_t i = 0; i < of.arrays; ++i) {
            pages_.emplace_back(of.bytes);
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
        array& next = all_[uses_++ % of_.arrays];
        if (!next.at_device) {
            if (there_.size() == of_.room) drop_oldest();
            bring(next);
        }
        next.dirty |= of_.what != unibuf::access::read;
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
            check(api().clEnqueueReadBuffer(on_.queue, oldest.at_device, when_done, 0, of_.bytes, oldest.at_host.data(),
                                            0, nullptr, nullptr),
                  "clEnqueueReadBuffer");
            moved_ += of_.bytes;
        }
        check(api().clReleaseMemObject(oldest.at_device), "clReleaseMemObject");
        oldest.at_device = nullptr;
        oldest.dirty = false;
    }

    void bring(array& next) {
        cl::status answer = 0;
        constexpr std::uint64_t read_write = 0;
        next.at_device = api().clCreateBuffer(on_.context, read_write, of_.bytes, nullptr, &answer);
        check(answer, "clCreateBuffer");
        check(api().clEnqueueWriteBuffer(on_.queue, next.at_device, when_done, 0, of_.bytes, next.at_host.data(), 0,
                                         nullptr, nullptr),
              "clEnqueueWriteBuffer");
        moved_ += of_.bytes;
        there_.push_back(&next);
    }

    unibuf::opencl::handles on_;
    setting of_;
    std::deque<unibuf::buffer> pages_;
    std::vector<array> all_;
    std::deque<array*> there_;  // the oldest first
    std::uint64_t uses_ = 0;
    std::uint64_t moved_ = 0;
};

bench::figures in_turns(const setting& of, int uses) {
    const unibuf::space where("opencl:0");
    by_hand hand(where, of);
    by_unibuf unibuf(where, of);
    for (std::size_t i = 0; i < 2 * of.arrays; ++i) {  // until each use moves as much as the next
        hand.use();
        unibuf.use();
    }
    const bench::seconds typical = bench::in_typical_turns(uses, [&] { unibuf.use(); }, [&] { hand.use(); });
    if (unibuf.bytes_moved() > hand.bytes_moved()) {
        throw std::runtime_error(fmt::format("unibuf moved {} bytes, where {} are enough by hand", unibuf.bytes_moved(),
                                             hand.bytes_moved()));
    }
    return {typical.measured * 1e3, typical.limit * 1e3};
}

bench::figures few_large(unibuf::access what) {
    return in_turns({.bytes = std::size_t{16} << 20, .arrays = 6, .room = 4, .what = what}, 306);
}

bench::figures many_small(unibuf::access what) {
    const bench::figures each =
        in_turns({.bytes = std::size_t{128} << 10, .arrays = 10'000, .room = 1'000, .what = what}, 20'000);
    return {each.measured * 1e3, each.limit * 1e3};
}

const bench::declared eviction(
    {.name = "pool.evict",
     .unit = "ms",
     .goal = bench::ratio_at_most(1.1),
     .cases = {{"6 of 16 MiB in turns, room for 4, each written", [] { return few_large(unibuf::access::read_write); }},
               {"6 of 16 MiB in turns, room for 4, only read", [] { return few_large(unibuf::access::read); }}}});

const bench::declared many({.name = "pool.evict_10000",
                            .unit = "us",
                            .goal = bench::ratio_at_most(1.15),
                            .cases = {{"10,000 of 128 KiB in turns, room for 1,000, each written",
                                       [] { return many_small(unibuf::access::read_write); }},
                                      {"10,000 of 128 KiB in turns, room for 1,000, only read",
                                       [] { return many_small(unibuf::access::read); }}}});

}  // namespace
}  // namespace bench::eviction_bench
