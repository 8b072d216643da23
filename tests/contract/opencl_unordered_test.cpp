// tests/contract/opencl_unordered_test.cpp: queues of the program's that are out of order.
#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <thread>

#include "backends/opencl/device.hpp"
#include "contract/contract.hpp"
#include "contract/opencl_fixture.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf::contract {
namespace {

namespace cl = backends::cl;
using namespace std::chrono_literals;
using cl::api;

std::unique_ptr<held_queue> hold_unordered(space where) {
    return std::make_unique<held_opencl_queue>(where, cl::queue_out_of_order);
}

space with_unordered_queues() {
    const space where("opencl:0");
    if (has_unordered_queues(opencl::handles_of(where).device)) return where;
    throw error(error_code::device_unavailable, no_unordered_queues);
}

class unordered_queues : public opencl_queues {
protected:
    void SetUp() override {
        opencl_queues::SetUp();
        if (!IsSkipped() && !has_unordered_queues(opencl::handles_of(where_).device))
            GTEST_SKIP() << no_unordered_queues;
    }
};

/// Copies all of a leased memory to another at the device, as a kernel would, after nothing that it names.
void copy(cl::cl_command_queue on, const native_memory& from, const native_memory& to) {
    ok(api().clEnqueueCopyBuffer(on, opencl::memory(from), opencl::memory(to), from.offset, to.offset, to.bytes, 0,
                                 nullptr, nullptr));
    ok(api().clFlush(on));
}

TEST_F(unordered_queues, let_a_program_go_on_after_what_its_lease_waits_for) {
    const cl::cl_command_queue unordered = a_queue(cl::queue_out_of_order);
    buffer source(5000, {.hint = memory_hint::gpu_preferred, .device = where_});
    buffer target(5000, {.hint = memory_hint::gpu_preferred, .device = where_});
    target.fill(std::array{std::byte{9}}, where_);
    {
        held_opencl_queue before(where_, 0);
        const auto written = source.write(where_, {.on = before.name()});
        before.set(written.native(), std::byte{1});
    }
    held_opencl_queue before(where_, 0);
    {
        const auto written = source.write(where_, {.on = before.name()});
        before.set(written.native(), std::byte{2});
    }
    {
        const access_options on{.on = opencl::queue_of(unordered)};
        const auto from = source.read(where_, on);
        const auto to = target.write(where_, on);
        copy(unordered, from.native(), to.native());
    }
    EXPECT_EQ(code_of([&] { target.read(host, {.timeout = 20ms}).release(); }), error_code::timeout);
    before.open();
    EXPECT_TRUE(same(bytes(5000, std::byte{2}), [&] {
        bytes got(5000);
        target.copy_to(got);
        return got;
    }()));
}

TEST_F(unordered_queues, let_a_program_go_on_after_what_its_lease_has_brought) {
    constexpr std::size_t large = std::size_t{16} << 20;
    const access_options on{.on = opencl::queue_of(a_queue(cl::queue_out_of_order))};
    buffer source(large, {.hint = memory_hint::gpu_preferred, .device = where_});
    buffer target(large, {.hint = memory_hint::gpu_preferred, .device = where_});
    for (unsigned round = 1; round <= 5; ++round) {
        const bytes content = noise(large, round);
        source.copy_from(content);
        {
            const auto from = source.read(where_, on);
            const auto to = target.write(where_, on);
            copy(static_cast<cl::cl_command_queue>(on.on.native), from.native(), to.native());
        }
        bytes got(large);
        target.copy_to(got);
        ASSERT_TRUE(same(got, content)) << round;
    }
}

TEST_F(unordered_queues, do_works_of_many_commands_in_order) {
    const queue unordered = opencl::queue_of(a_queue(cl::queue_out_of_order));
    constexpr std::size_t size = 300'001;
    const auto memory = device().allocate({.bytes = size});
    for (unsigned round = 1; round <= 20; ++round) {
        const bytes pattern = noise(3 + round, round);
        memory->fill(0, size, pattern, unordered);
        bytes got(size);
        memory->read(0, got, unordered).wait();
        ASSERT_TRUE(same(got, repeated(pattern, size))) << round;
    }
}

TEST_F(unordered_queues, may_be_what_the_program_adopts) {
    callers_own mine;
    const cl::cl_command_queue unordered = mine.queue(cl::queue_out_of_order);
    const space own = opencl::use(mine.context(), mine.device(), unordered);
    EXPECT_EQ(opencl::use(mine.context(), mine.device(), unordered), own);
    EXPECT_NE(opencl::handles_of(own).queue, unordered);
    buffer used(5000, {.device = own});
    used.copy_from(noise(5000));
    gate closed(mine.context(), unordered);  // what names no queue comes after all that are known
    EXPECT_EQ(code_of([&] {
                  used.read_write(own).release();
                  used.read(host, {.timeout = 20ms}).release();
              }),
              error_code::timeout);
    closed.open();
    bytes got(5000);
    used.copy_to(got);
    EXPECT_TRUE(same(got, noise(5000)));
}

TEST_F(unordered_queues, do_not_pile_up_where_many_are_named_and_released) {
    callers_own mine;
    const space own = opencl::use(mine.context(), mine.device(), nullptr);
    for (int i = 0; i < 300; ++i) {
        const cl::cl_command_queue one =
            made_queue(mine.context(), mine.device(), i % 2 == 0 ? 0 : cl::queue_out_of_order);
        record_fence(own, opencl::queue_of(one)).wait();
        api().clReleaseCommandQueue(one);
    }
    std::size_t known = 0;  // while the driver has one of them for work that it has just done
    for (int i = 0; i < 5'000 && known == 0; ++i) {
        known = cl::device_at(own).in().queues_left_alone();
        if (known == 0) std::this_thread::sleep_for(1ms);
    }
    if (known == 0) GTEST_SKIP() << "the driver keeps queues that it has worked on";
    EXPECT_LE(known, 40u) << "two for each that is out of order, and the own one";
}

/// A loop that never waits for the device queues each step behind the one before, and not behind all.
TEST_F(unordered_queues, take_a_loop_that_waits_for_nobody) {
    const cl::cl_command_queue on = a_queue(cl::queue_out_of_order);
    constexpr std::size_t size = std::size_t{1} << 20;
    buffer used(size, {.hint = memory_hint::gpu_preferred, .device = where_});
    constexpr unsigned steps = 250;
    for (unsigned step = 1; step <= steps; ++step) {
        const auto lease = used.read_write(where_, {.on = opencl::queue_of(on)});
        const auto value = static_cast<std::byte>(step);
        ok(api().clEnqueueFillBuffer(on, opencl::memory(lease.native()), &value, 1, 0, size, 0, nullptr, nullptr));
        ok(api().clFlush(on));
    }
    bytes got(size);
    used.copy_to(got);
    EXPECT_TRUE(same(got, bytes(size, static_cast<std::byte>(steps))));
}

TEST_F(unordered_queues, are_used_by_several_threads) {
    const cl::cl_command_queue on = a_queue(cl::queue_out_of_order);
    const auto play = [&](unsigned seed) {
        buffer used(20'000, {.hint = memory_hint::gpu_preferred, .device = where_});
        for (unsigned step = 0; step < 100; ++step) {
            const bytes content = noise(20'000, 1000 * seed + step);
            used.copy_from(content);
            const auto value = static_cast<std::byte>(step);
            {
                const auto lease = used.read_write(where_, {.on = opencl::queue_of(on)});
                ok(api().clEnqueueFillBuffer(on, opencl::memory(lease.native()), &value, 1, 0, 100, 0, nullptr,
                                             nullptr));
                ok(api().clFlush(on));
            }
            bytes got(20'000);
            used.copy_to(got);
            if (!std::all_of(got.begin(), got.begin() + 100, [&](std::byte each) { return each == value; }) ||
                !std::equal(got.begin() + 100, got.end(), content.begin() + 100)) {
                return false;
            }
        }
        return true;
    };
    std::array<bool, 4> right{};
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < right.size(); ++i) threads.emplace_back([&, i] { right[i] = play(i + 1); });
    }
    EXPECT_TRUE(std::ranges::all_of(right, std::identity{}));
}

TEST_F(unordered_queues, leave_the_barriers_of_the_program_as_they_are) {
    const cl::cl_command_queue on = a_queue(cl::queue_out_of_order);
    const access_options part{.on = opencl::queue_of(on)};
    buffer used(5000, {.hint = memory_hint::gpu_preferred, .device = where_});
    used.copy_from(noise(5000));
    gate closed(context(), on);
    used.read(where_, part).release();  // the bytes come meanwhile
    const fence all = record_fence(where_, part.on);
    EXPECT_FALSE(all.wait(20ms));
    closed.open();
    EXPECT_TRUE(all.wait(60s));
}

/// Plays a program as CloverLeaf's: fields, of which parts are set and copied by kernels on two queues, one of them out
/// of order, whose kernels name nothing that they come after; the host looks and writes in between.
TEST_F(unordered_queues, keep_the_results_of_a_program_with_two_queues) {
    constexpr std::size_t fields = 3, size = 20'000;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        const memory_hint hint = seed % 2 == 0 ? memory_hint::gpu_preferred : memory_hint::none;
        std::mt19937 random(seed);
        const auto below = [&](std::size_t end) { return random() % end; };
        const std::array queues{a_queue(cl::queue_out_of_order), a_queue(seed % 3 == 0 ? cl::queue_out_of_order : 0)};
        std::vector<buffer> all;
        std::vector<bytes> wanted(fields, bytes(size));
        for (std::size_t i = 0; i < fields; ++i) all.emplace_back(size, buffer_options{.hint = hint, .device = where_});
        for (unsigned step = 0; step < 150; ++step) {
            const std::size_t field = below(fields), begin = below(size - 1), count = 1 + below(size - begin - 1);
            const cl::cl_command_queue on = queues[below(2)];
            const access_options part{.offset = begin, .count = count, .on = opencl::queue_of(on)};
            const auto value = static_cast<std::byte>(step);
            switch (below(5)) {
                case 0: {
                    const auto set = all[field].write(where_, part);
                    ok(api().clEnqueueFillBuffer(on, opencl::memory(set.native()), &value, 1, set.native().offset,
                                                 count, 0, nullptr, nullptr));
                    std::fill_n(wanted[field].begin() + static_cast<std::ptrdiff_t>(begin), count, value);
                    break;
                }
                case 1: {
                    const std::size_t other = (field + 1) % fields;
                    const auto from = all[field].read(where_, part);
                    const auto to = all[other].write(where_, part);
                    copy(on, from.native(), to.native());
                    std::copy_n(wanted[field].begin() + static_cast<std::ptrdiff_t>(begin), count,
                                wanted[other].begin() + static_cast<std::ptrdiff_t>(begin));
                    break;
                }
                case 2: {
                    const auto set = all[field].write(host, {.offset = begin, .count = count});
                    std::fill_n(set.data(), count, value);
                    std::fill_n(wanted[field].begin() + static_cast<std::ptrdiff_t>(begin), count, value);
                    break;
                }
                case 3:
                    all[field].prefetch(where_, part);
                    break;
                default: {
                    bytes got(count);
                    all[field].copy_to(got, begin);
                    ASSERT_TRUE(
                        std::equal(got.begin(), got.end(), wanted[field].begin() + static_cast<std::ptrdiff_t>(begin)))
                        << "seed " << seed << ", step " << step;
                }
            }
        }
        for (std::size_t i = 0; i < fields; ++i) {
            bytes got(size);
            all[i].copy_to(got);
            ASSERT_TRUE(same(got, wanted[i])) << "seed " << seed << ", field " << i;
        }
    }
}

}  // namespace
}  // namespace unibuf::contract

UNIBUF_QUEUED_CONTRACT(opencl_unordered, "opencl:0", with_unordered_queues, hold_unordered);
