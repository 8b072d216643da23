// tests/contract/metal_failure_test.cpp: Metal fails, and nothing that was newest is lost.
#include <algorithm>

#include "contract/metal_fixture.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::contract::metal_failure_test {
namespace {

using namespace std::chrono_literals;

void host_writes(buffer& to, const bytes& content) {
    const auto lease = to.write(host);
    std::ranges::copy(content, lease.begin());
}

bytes host_reads(const buffer& from) {
    const auto lease = from.read(host);
    return {lease.begin(), lease.end()};
}

class metal_failures : public on_the_metal_double {
protected:
    static buffer made(std::size_t count, memory_hint hint) {
        buffer_options options;
        options.hint = hint;
        return buffer(count, options);
    }
};

/// One step of a program on a buffer, with what it makes of the content.
struct step {
    const char* name;
    std::function<void(buffer&)> run;
    std::function<void(bytes&)> meant;
};

std::vector<step> program_on(space where) {
    const auto nothing = [](bytes&) {};
    const auto patch = [](buffer& to) {
        const auto lease = to.write(host, {.offset = 101, .count = 500});
        std::ranges::copy(noise(500, 3), lease.begin());
    };
    const auto patched = [](bytes& all) { std::ranges::copy(noise(500, 3), all.begin() + 101); };
    return {
        {"read on the device", [where](buffer& b) { b.read(where).release(); }, nothing},
        {"fill there", [](buffer& b) { b.fill(noise(3)); }, [](bytes& all) { all = repeated(noise(3), all.size()); }},
        {"read on the host", [](buffer& b) { b.read(host).release(); }, nothing},
        {"patch on the host", patch, patched},
        {"take for the device", [where](buffer& b) { b.read_write(where).release(); }, nothing},
        {"prefetch to the host", [](buffer& b) { b.prefetch(host); }, nothing},
        {"patch on the host", patch, patched},
        {"read on the device", [where](buffer& b) { b.read(where).release(); }, nothing},
    };
}

/// Runs all steps with the n-th call, or the work of the n-th command buffer, failing.
void survive(space where, buffer used, const std::string& failing, const std::function<void()>& fail) {
    bytes content = noise(used.size_bytes(), 2);
    host_writes(used, content);
    fail();
    for (const step& each : program_on(where)) {
        bytes after = content;
        each.meant(after);
        try {
            each.run(used);
        } catch (const error& why) {
            const bytes got = host_reads(used);
            EXPECT_TRUE(same(got, content) || same(got, after)) << each.name << ", " << failing << ": " << why.what();
            each.run(used);
        }
        content = after;
    }
    bytes last;
    try {
        last = host_reads(used);
    } catch (const error&) {  // queued work failed, which its access could not say
        last = host_reads(used);
    }
    EXPECT_TRUE(same(last, content)) << failing;
}

TEST_F(metal_failures, of_any_call_lose_nothing) {
    for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        for (const std::size_t count : {8190u, 4'999'998u}) {
            std::uint64_t n = 0;
            for (bool reached = true; reached && !HasFailure(); ++n) {
                survive(where_, made(count, hint), "call " + std::to_string(n),
                        [&] { control().reset(), control().fail_calls(n, 1); });
                reached = control().calls() > n;
                control().reset();
            }
            EXPECT_GT(n, 3u);
        }
    }
}

/// What a command buffer that failed was to make is lost. Whoever asks for it is told so, and gets nothing else for it.
TEST_F(metal_failures, of_work_are_told) {
    constexpr long page_fault = 3;
    std::size_t told = 0;
    for (std::uint64_t n = 0; n < 20; ++n) {
        buffer used = made(8190, memory_hint::gpu_preferred);
        bytes content = noise(8190, 2);
        host_writes(used, content);
        control().fail_work(n, 1, page_fault);
        try {
            for (const step& each : program_on(where_)) {
                each.run(used);
                each.meant(content);
            }
            EXPECT_TRUE(same(host_reads(used), content)) << n;
        } catch (const error& failure) {
            EXPECT_EQ(failure.code(), error_code::transfer_failed) << failure.what();
            ++told;
        }
        control().reset();
        host_writes(used, noise(8190, 4));
        used.read(where_).release();
        EXPECT_TRUE(same(host_reads(used), noise(8190, 4))) << n;
    }
    EXPECT_GT(told, 3u);
}

TEST_F(metal_failures, say_why) {
    constexpr long page_fault = 3;
    const auto memory = device().allocate({.bytes = 100});
    control().fail_work(0, 1, page_fault);
    std::string message;
    EXPECT_EQ(code_of([&] { memory->write(0, noise(100), {}).wait(); }, &message), error_code::transfer_failed);
    EXPECT_NE(message.find("The double was told to fail."), std::string::npos) << message;
    control().fail_work(0, 1, backends::metal::error_device_removed);
    EXPECT_EQ(code_of([&] { memory->write(0, noise(100), {}).wait(); }), error_code::device_lost);
    control().fail_work(0, 1, page_fault);
    EXPECT_EQ(code_of([&] {
                  bytes to(100);
                  memory->read(0, to, {});
              }),
              error_code::transfer_failed);
}

/// Nobody can wait for a part alone, so the fence of all has to tell.
TEST_F(metal_failures, of_a_part_of_a_long_transfer_are_told) {
    const auto memory = device().allocate({.bytes = std::size_t{20} << 20});
    const bytes content = noise(std::size_t{20} << 20);
    for (std::uint64_t part = 0; part < 5; ++part) {
        control().fail_work(2 * part, 1, 3);  // a signal is behind each
        EXPECT_EQ(code_of([&] { memory->write(0, content, {}).wait(); }), error_code::transfer_failed) << part;
    }
}

TEST_F(metal_failures, for_want_of_memory_say_what_was_asked) {
    buffer used = made(100'000, memory_hint::gpu_preferred);
    host_writes(used, noise(100'000));
    control().limit_memory(50'000);
    std::string message;
    EXPECT_EQ(code_of([&] { used.read(where_).release(); }, &message), error_code::out_of_memory);
    EXPECT_NE(message.find("100000 bytes"), std::string::npos) << message;
    control().reset();
    used.read(where_).release();
    EXPECT_TRUE(same(host_reads(used), noise(100'000)));
}

/// A command buffer that fails signals nothing. What waits for its end goes on all the same.
TEST_F(metal_failures, stop_no_other_queue) {
    const mtl::owned first = mtl::new_queue(native(), 64);
    const mtl::owned second = mtl::new_queue(native(), 64);
    const auto memory = device().allocate({.bytes = 100});
    control().fail_work(0, 1, 3);
    const fence failed = memory->write(0, noise(100), metal::queue_of(first.get()));
    ASSERT_TRUE(device().order(failed, metal::queue_of(second.get())));
    EXPECT_TRUE(record_fence(where_, metal::queue_of(second.get())).wait(10min));
    EXPECT_TRUE(record_fence(where_).wait(10min));
    EXPECT_EQ(code_of([&] { failed.wait(); }), error_code::transfer_failed);
}

TEST_F(metal_failures, to_use_pages_leave_a_copy_of_its_own_and_say_so) {
    if (!device().about().aliases_host) GTEST_SKIP() << "the device has memory of its own";
    control().spoil_pages(true);
    buffer used = made(100'000, memory_hint::none);
    host_writes(used, noise(100'000));
    used.read(where_).release();
    const placement_info where = used.placement(where_);
    EXPECT_EQ(where.placement, placement::mirrored);
    EXPECT_NE(where.reason.find("bytes of the host's memory in place"), std::string::npos) << where.reason;
    EXPECT_TRUE(same(host_reads(used), noise(100'000)));
}

/// All that was made for a buffer goes with it.
TEST_F(metal_failures, leave_no_objects) {
    const auto run = [&] {
        for (const step& each : program_on(where_)) {
            buffer used = made(8190, memory_hint::gpu_preferred);
            host_writes(used, noise(8190));
            each.run(used);
        }
        device().trim();
        record_fence(where_).wait();
    };
    run();
    const std::size_t buffers = control().objects("MTLBuffer");
    const std::size_t queues = control().objects("MTLCommandQueue");
    for (int i = 0; i < 3; ++i) run();
    EXPECT_LE(control().objects("MTLBuffer"), buffers + 2);
    EXPECT_EQ(control().objects("MTLCommandQueue"), queues);
    EXPECT_LE(control().objects("MTLCommandBuffer"), 2u);
    EXPECT_EQ(control().objects("MTLBlitCommandEncoder"), 0u);
    EXPECT_EQ(control().objects("MTLComputeCommandEncoder"), 0u);
}

}  // namespace
}  // namespace unibuf::contract::metal_failure_test
