// bench/small.cpp: single small works on opencl:0, each beside what it costs by hand.
#include <unibuf/opencl.hpp>
#include <unibuf/unibuf.hpp>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "opencl.hpp"
#include "race.hpp"

namespace bench::small_bench {
namespace {

namespace cl = bench::opencl;
using unibuf::memory_hint;

constexpr memory_hint mirrored = memory_hint::gpu_preferred;
constexpr memory_hint shared = memory_hint::cpu_preferred;

constexpr std::size_t small = 4096;
constexpr int rounds = 3000;

struct device {
    unibuf::space where{"opencl:0"};
    unibuf::opencl::handles native = unibuf::opencl::handles_of(where);
};

constexpr int many = 200;

/// Makes a function that does `work` so often that looking at the clock takes next to nothing of its time.
template <class Work>
std::function<void()> many_times(Work work) {
    return [work] {
        for (int i = 0; i < many; ++i) work();
    };
}

/// Times `work` beside a lock and unlock of a mutex.
template <class Work>
bench::figures against_a_mutex(const Work& work) {
    std::mutex mutex;
    const auto both = bench::in_typical_turns(rounds, many_times(work), many_times([&mutex] {
                                                  const std::scoped_lock lock(mutex);
                                                  benchmark::DoNotOptimize(&mutex);
                                              }));
    return {both.measured * 1e9 / many, both.limit * 1e9 / many};
}

/// Leases a copy that is current at the device, for what `options` say.
bench::figures lease_of_current(unibuf::access what, bool names_queue, bool pointer_out, memory_hint hint = mirrored) {
    const device at;
    unibuf::buffer buffer(small, {.hint = hint});
    buffer.copy_from(std::vector<std::byte>(small, std::byte{1}));
    if (pointer_out) *buffer.host() = std::byte{2};
    const unibuf::access_options options{.on =
                                             names_queue ? unibuf::opencl::queue_of(at.native.queue) : unibuf::queue{}};
    return against_a_mutex([&] {
        if (what == unibuf::access::read) {
            const auto lease = buffer.read(at.where, options);
            benchmark::DoNotOptimize(lease.native().handle);
        } else {
            const auto lease = buffer.read_write(at.where, options);
            benchmark::DoNotOptimize(lease.native().handle);
        }
    });
}

using unibuf::access;

const bench::declared current(
    {.name = "small.device_current",
     .unit = "ns",
     .goal = bench::ratio_at_most(16),
     .cases = {{"read, no queue", [] { return lease_of_current(access::read, false, false); }},
               {"read, a queue", [] { return lease_of_current(access::read, true, false); }},
               {"read_write, a queue", [] { return lease_of_current(access::read_write, true, false); }},
               {"read, shared", [] { return lease_of_current(access::read, true, false, shared); }}}});

const bench::declared current_held({.name = "small.device_current_held",
                                    .unit = "ns",
                                    .goal = bench::ratio_at_most(28),
                                    .cases = {
                                        {"read, no queue", [] { return lease_of_current(access::read, false, true); }},
                                        {"read, a queue", [] { return lease_of_current(access::read, true, true); }}}});

/// Makes 4 KiB, writes it at the host, and ends it.
bench::figures first_at_host() {
    const std::vector<std::byte> content(small, std::byte{1});
    const auto by_library = bench::repeat([&] {
        unibuf::buffer made(small);
        std::memcpy(made.write(unibuf::host).data(), content.data(), small);
    });
    const auto by_hand = bench::repeat([&] {
        const std::unique_ptr<void, decltype(&std::free)> made(std::calloc(small, 1), &std::free);
        std::memcpy(made.get(), content.data(), small);
        benchmark::DoNotOptimize(made.get());
    });
    return bench::in_ns(bench::race(by_library, by_hand));
}

const bench::declared first_host(
    {.name = "small.first_host", .unit = "ns", .goal = bench::ratio_at_most(6), .cases = {{"4 KiB", first_at_host}}});

/// Makes 4 KiB, writes it at the host, brings it to the device, and ends it.
bench::figures first_at_device(memory_hint hint) {
    const device at;
    const std::vector<std::byte> content(small, std::byte{1});
    const auto by_library = [&] {
        unibuf::buffer made(small, {.hint = hint});
        std::memcpy(made.write(unibuf::host).data(), content.data(), small);
        const auto lease = made.read(at.where);
        benchmark::DoNotOptimize(lease.native().handle);
    };
    const auto by_hand = [&] {
        const std::unique_ptr<void, decltype(&std::free)> made(std::calloc(small, 1), &std::free);
        std::memcpy(made.get(), content.data(), small);
        const cl::memory there = cl::create(at.native.context, small);
        cl::write(at.native.queue, there, {static_cast<std::byte*>(made.get()), small});
        cl::release(there);
    };
    return bench::in_ns(bench::in_typical_turns(rounds, by_library, by_hand));
}

const bench::declared first_device({.name = "small.first_device",
                                    .unit = "ns",
                                    .goal = bench::ratio_at_most(1.2),
                                    .cases = {{"4 KiB, mirrored", [] { return first_at_device(mirrored); }},
                                              {"4 KiB, shared", [] { return first_at_device(shared); }}}});

constexpr std::size_t four_mb = std::size_t{4} << 20;
constexpr std::size_t index = 1000;  // of the element that is changed

/// Times the library's way of a change of one element of 4 MB, which comes to the device, beside `by_hand`.
bench::figures one_element(const std::function<void(float)>& by_library, const std::function<void(float)>& by_hand) {
    float value = 1;
    return bench::in_ns(bench::in_typical_turns(rounds, [&] { by_library(++value); }, [&] { by_hand(value); }));
}

/// Writes the element into an array of its own, and that element to the device.
class plain_write {
public:
    explicit plain_write(const device& at)
        : queue_(at.native.queue),
          plain_(std::make_shared<std::vector<float>>(four_mb / sizeof(float))),
          there_(std::make_shared<cl::owned>(at.native.context, four_mb)) {}

    void operator()(float value) const {
        (*plain_)[index] = value;
        cl::write(queue_, there_->get(), std::as_bytes(std::span(*plain_).subspan(index, 1)), index * sizeof(float));
    }

private:
    decltype(unibuf::opencl::handles::queue) queue_;
    std::shared_ptr<std::vector<float>> plain_;
    std::shared_ptr<cl::owned> there_;
};

bench::figures changed_by_lease(memory_hint hint) {
    const device at;
    unibuf::buffer buffer(four_mb, {.hint = hint});
    buffer.copy_from(std::vector<std::byte>(four_mb, std::byte{1}));
    buffer.read(at.where).release();
    const plain_write told(at);
    return one_element(
        [&](float value) {
            {
                const auto lease =
                    buffer.write(unibuf::host, {.offset = index * sizeof(float), .count = sizeof(float)});
                std::memcpy(lease.data(), &value, sizeof value);
            }
            benchmark::DoNotOptimize(buffer.read(at.where).native().handle);
        },
        told);
}

/// Does so through a pointer that was out before, told to nobody.
bench::figures changed_by_pointer(memory_hint hint) {
    const device at;
    unibuf::buffer buffer(four_mb, {.hint = hint});
    buffer.copy_from(std::vector<std::byte>(four_mb, std::byte{1}));
    auto* const out = reinterpret_cast<float*>(buffer.host());
    buffer.read(at.where).release();
    const plain_write told(at);
    return one_element(
        [&](float value) {
            out[index] = value;
            benchmark::DoNotOptimize(buffer.read(at.where).native().handle);
        },
        told);
}

const bench::declared element({.name = "small.one_element",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(1.2),
                               .cases = {{"by lease, mirrored", [] { return changed_by_lease(mirrored); }},
                                         {"by lease, shared", [] { return changed_by_lease(shared); }},
                                         {"by pointer, mirrored", [] { return changed_by_pointer(mirrored); }},
                                         {"by pointer, shared", [] { return changed_by_pointer(shared); }}}});

/// Lets the device write one row of a matrix of 1000 by 1000, which the host reads then.
bench::figures row_of_device() {
    constexpr std::size_t row = 1000 * sizeof(float);
    constexpr std::size_t bytes = 1000 * row;
    const device at;
    const unibuf::access_options one{.offset = 10 * row, .count = row, .on = unibuf::opencl::queue_of(at.native.queue)};
    unibuf::buffer buffer(bytes, {.hint = mirrored});
    {
        const auto all = buffer.write(at.where);
    }
    std::vector<std::byte> back(row);
    const auto by_library = [&] {
        {
            const auto lease = buffer.write(at.where, one);
            cl::fill(at.native.queue, unibuf::opencl::memory(lease), one.offset, row, 2);
        }
        const auto lease = buffer.read(unibuf::host, one);
        std::memcpy(back.data(), lease.data(), row);
    };
    const cl::memory there = cl::create(at.native.context, bytes);
    const auto by_hand = [&] {
        cl::fill(at.native.queue, there, one.offset, row, 2);
        cl::read(at.native.queue, there, back, one.offset);
    };
    const bench::figures found = bench::in_ns(bench::in_typical_turns(rounds, by_library, by_hand));
    cl::release(there);
    return found;
}

const bench::declared row({.name = "small.row",
                           .unit = "ns",
                           .goal = bench::ratio_at_most(1.2),
                           .cases = {{"a row of 1000 floats, mirrored", row_of_device}}});

/// Rewrites 64 MB of memory that host and device share, and brings it to the device.
bench::figures shared_rewrite() {
    constexpr std::size_t bytes = std::size_t{64} << 20;
    const device at;
    unibuf::buffer buffer(bytes, {.hint = shared});
    buffer.copy_from(std::vector<std::byte>(bytes, std::byte{1}));
    {
        const auto first = buffer.read(at.where);
    }
    int value = 1;
    const auto by_library = bench::repeat([&] {
        {
            const auto lease = buffer.write(unibuf::host);
            std::memset(lease.data(), ++value, bytes);
        }
        const auto lease = buffer.read(at.where);
        benchmark::DoNotOptimize(lease.native().handle);
    });
    const std::unique_ptr<void, decltype(&std::free)> plain(std::aligned_alloc(4096, bytes), &std::free);
    std::memset(plain.get(), 1, bytes);
    const cl::memory there = cl::create(at.native.context, bytes, plain.get());
    const auto by_hand = bench::repeat([&] {
        void* const mapped = cl::map(at.native.queue, there, bytes);
        std::memset(mapped, ++value, bytes);
        cl::unmap(at.native.queue, there, mapped);
    });
    const bench::figures found = bench::in_ns(bench::race(by_library, by_hand));
    cl::release(there);
    return found;
}

const bench::declared shared_round({.name = "small.shared_round",
                                    .unit = "ns",
                                    .goal = bench::ratio_at_most(1.05),
                                    .cases = {{"64 MB rewritten", shared_rewrite}}});

}  // namespace
}  // namespace bench::small_bench
