// tests/contract/cuda/failure_test.cpp: the driver fails, and nothing that was newest is lost.
#include <cstdio>
#include <cstdlib>

#include "contract/cuda/fixture.hpp"

namespace unibuf::contract::failure_test {
namespace {

constexpr int unknown = 999;  // CUDA_ERROR_UNKNOWN

/// One step of a program on a buffer, with what it makes of the content.
struct step {
    const char* name;
    std::function<void(buffer&)> run;
    std::function<void(bytes&)> meant;
};

class cuda_failures : public on_the_double {
protected:
    /// The contents are made once: that takes longer than all the rest.
    struct contents {
        explicit contents(std::size_t count) : begin(noise(count, 2)), filled(repeated(noise(4), count)) {}

        bytes begin;
        bytes filled;
    };

    std::vector<step> program_of(const contents& known, const queue& on) {
        const auto nothing = [](bytes&) {};
        const auto patched = [](bytes& all) { std::ranges::copy(noise(500, 3), all.begin() + 100); };
        const auto patch = [](buffer& to) {
            const auto lease = to.write(host, {.offset = 100, .count = 500});
            std::ranges::copy(noise(500, 3), lease.begin());
        };
        return {
            {"read on the device", [this](buffer& b) { b.read(where_).release(); }, nothing},
            {"fill there", [](buffer& b) { b.fill(noise(4)); }, [&known](bytes& all) { all = known.filled; }},
            {"read on the host", [](buffer& b) { b.read(host).release(); }, nothing},
            {"patch on the host", patch, patched},
            {"read on a stream", [this, on](buffer& b) { b.read(where_, {.on = on}).release(); }, nothing},
            {"take for the device", [this, on](buffer& b) { b.read_write(where_, {.on = on}).release(); }, nothing},
            {"prefetch to the host", [](buffer& b) { b.prefetch(host); }, nothing},
            {"patch on the host", patch, patched},
            {"mark",
             [this](buffer& b) {
                 b.read(where_).release();
                 b.mark_dirty(where_);
             },
             nothing},
        };
    }

    /// Runs all steps with the n-th call of the driver failing. Returns false where there are fewer calls.
    bool survives(const contents& known, memory_hint hint, std::uint64_t n, int status) {
        program by;
        const queue on = cuda::queue_of(by.stream());
        buffer_options options;
        options.hint = hint;
        buffer used(known.begin.size(), options);
        bytes content = known.begin;
        host_writes(used, content);
        control().reset();
        control().fail(nullptr, n, 1, status);
        for (const step& each : program_of(known, on)) {
            bytes after = content;
            each.meant(after);
            try {
                each.run(used);
            } catch (const error& why) {
                const bytes got = host_reads(used);
                EXPECT_TRUE(same(got, content) || same(got, after))
                    << each.name << ", call " << n << ": " << why.what() << ": " << same(got, content).message();
                each.run(used);
            }
            content = after;
        }
        bytes last;
        try {
            last = host_reads(used);
        } catch (const error&) {  // the end of a lease failed, which cannot say so
            last = host_reads(used);
        }
        EXPECT_TRUE(same(last, content)) << "call " << n;
        const bool reached = control().hits() != 0;
        control().reset();
        return reached;
    }
};

TEST_F(cuda_failures, of_any_call_lose_nothing) {
    for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        for (const std::size_t count : {std::size_t{8192}, std::size_t{200'000}, std::size_t{5} << 20}) {
            const bool same_as_smaller = hint == memory_hint::cpu_preferred && count > 200'000;  // nothing is staged
            if (same_as_smaller) continue;
            const contents known(count);
            std::uint64_t n = 0;
            while (survives(known, hint, n, unknown)) ++n;
            EXPECT_GT(n, 20u);
            if (HasFailure()) return;
        }
    }
}

TEST_F(cuda_failures, for_want_of_memory_lose_nothing) {
    const contents known(8192);
    std::uint64_t n = 0;
    while (survives(known, memory_hint::gpu_preferred, n, driver::out_of_memory)) ++n;
    EXPECT_GT(n, 20u);
}

TEST_F(cuda_failures, say_what_was_asked) {
    buffer used = mirrored(5000);
    host_writes(used, noise(5000));
    used.read(where_).release();
    used.mark_host_dirty();
    control().fail("cuMemcpyHtoDAsync", 0, 1, unknown);
    std::string message;
    EXPECT_EQ(code_of([&] { used.read(where_); }, &message), error_code::transfer_failed);
    for (const char* part : {"write of 5000 bytes", "CUDA_ERROR_UNKNOWN", "unknown error"}) {
        EXPECT_NE(message.find(part), std::string::npos) << message;
    }
}

/// Runs `body` in a process of its own, as nothing brings a device back.
void expect_in_its_own_process(const std::function<void()>& body) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto run = [&] {
        body();
        const bool failed = ::testing::Test::HasFailure();
        std::fflush(stdout);
        std::exit(failed ? 1 : 0);
    };
    EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST_F(cuda_failures, that_lose_the_device_leave_the_hosts_copies) {
    expect_in_its_own_process([this] {
        buffer current = mirrored(5000);
        buffer newest_there = mirrored(5000);
        host_writes(current, noise(5000));
        host_writes(newest_there, noise(5000));
        current.read(where_).release();
        newest_there.read_write(where_).release();
        const auto memory = device().allocate({.bytes = 100});
        const bytes content = noise(100);
        const fence before = memory->write(0, content, {});
        control().lose(0, driver::illegal_address);
        for (int i = 0; i < 2; ++i) {
            std::string message;
            EXPECT_EQ(code_of([&] { get(*memory, 0, 100); }, &message), error_code::device_lost);
            EXPECT_NE(message.find("ILLEGAL_ADDRESS"), std::string::npos) << message;
            EXPECT_EQ(code_of([&] { before.wait(); }), error_code::device_lost);
            EXPECT_EQ(code_of([&] { device().allocate({.bytes = 100}); }), error_code::device_lost);
            EXPECT_EQ(code_of([&] { device().record({}); }), error_code::device_lost);
            EXPECT_EQ(code_of([&] { host_reads(newest_there); }), error_code::device_lost);
            EXPECT_EQ(code_of([&] { memory_of(where_); }), error_code::device_lost);
            EXPECT_TRUE(same(host_reads(current), noise(5000)));
        }
        host_writes(current, noise(5000, 2));
        EXPECT_TRUE(same(host_reads(current), noise(5000, 2)));
        EXPECT_EQ(code_of([&] { current.read(where_); }), error_code::device_lost);
        // The other device goes on working.
        buffer other = mirrored(5000);
        host_writes(other, noise(5000));
        other.read_write("cuda:1").release();
        EXPECT_TRUE(same(host_reads(other), noise(5000)));
    });
}

TEST_F(cuda_failures, that_only_end_with_the_process_are_loss) {
    constexpr driver::result device_unavailable = 46;
    constexpr driver::result external_device = 911;
    for (const driver::result status : {device_unavailable, external_device}) {
        expect_in_its_own_process([this, status] {
            buffer used = mirrored(5000);
            host_writes(used, noise(5000));
            used.read(where_).release();
            control().fail("cuEventRecord", 0, 1, status);
            const queue on = device().own_queue();
            EXPECT_EQ(code_of([&] { device().record(on); }), error_code::device_lost);
            EXPECT_EQ(code_of([&] { device().allocate({.bytes = 100}); }), error_code::device_lost);
            EXPECT_TRUE(same(host_reads(used), noise(5000)));
        });
    }
}

TEST_F(cuda_failures, of_queued_work_are_found_when_it_is_waited_for) {
    expect_in_its_own_process([this] {
        program by;
        const stream_handle stream = by.stream();
        buffer used = mirrored(5000);
        host_writes(used, noise(5000));
        used.read(where_, {.on = cuda::queue_of(stream)}).release();
        control().lose(0, driver::illegal_address);
        EXPECT_TRUE(same(host_reads(used), noise(5000)));
        EXPECT_EQ(code_of([&] { used.read(where_); }), error_code::device_lost);
        EXPECT_TRUE(same(host_reads(used), noise(5000)));
    });
}

TEST_F(cuda_failures, of_a_program_that_resets_the_device_are_told_as_loss) {
    expect_in_its_own_process([this] {
        buffer used = mirrored(5000);
        host_writes(used, noise(5000));
        used.read(where_).release();
        ok(cuda_double::driver_function<driver::result(int)>("cuDevicePrimaryCtxReset")(0));
        EXPECT_TRUE(same(host_reads(used), noise(5000)));
        std::string message;
        EXPECT_EQ(code_of([&] { device().allocate({.bytes = 100}); }, &message), error_code::device_lost);
        EXPECT_NE(message.find("CONTEXT_IS_DESTROYED"), std::string::npos) << message;
        host_writes(used, noise(5000, 2));
        EXPECT_EQ(code_of([&] { used.read(where_); }), error_code::device_lost);
        EXPECT_TRUE(same(host_reads(used), noise(5000, 2)));
    });
}

}  // namespace
}  // namespace unibuf::contract::failure_test
