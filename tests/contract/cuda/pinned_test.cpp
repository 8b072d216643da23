// tests/contract/cuda/pinned_test.cpp: pinned buffers, what may be pinned, and memory shared because it is.
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "backends/host/pinned_blocks.hpp"
#include "backends/host/pinned_memory.hpp"
#include "contract/cuda/fixture.hpp"
#include "system/pages.hpp"
#include "tracking/watch.hpp"
#include "unibuf/accelerator.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf::contract::pinned_test {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

buffer pinned_buffer(std::size_t count) {
    buffer_options options;
    options.hint = memory_hint::gpu_preferred;
    options.pinned = true;
    return buffer(count, options);
}

/// Limits pinned memory, and sets the limit back, whatever happens.
class limited {
public:
    explicit limited(std::uint64_t bytes) { cuda::limit_pinned_memory(bytes); }
    ~limited() { cuda::limit_pinned_memory(before_); }
    limited(const limited&) = delete;
    limited& operator=(const limited&) = delete;

private:
    std::uint64_t before_ = cuda::pinned_memory().limit;
};

TEST_F(on_the_double, a_pinned_buffer_needs_no_detour) {
    for (const std::size_t count : {std::size_t{100}, 9 * mebibyte + 5}) {
        buffer used = pinned_buffer(count);
        host_writes(used, noise(count));
        EXPECT_TRUE(used.placement(host).pinned) << used.placement(host).reason;
        control().reset();
        used.read_write(where_).release();
        host_reads(used);
        EXPECT_EQ(control().calls("cuMemcpyHtoDAsync"), 1u) << count;
        EXPECT_EQ(control().calls("cuMemcpyDtoHAsync"), 1u) << count;
        EXPECT_TRUE(same(host_reads(used), noise(count)));
    }
}

/// A look at a page hides from another buffer there that it was written.
TEST_F(cuda_test, pins_no_page_for_two_buffers) {
    const buffer one = pinned_buffer(5000);
    const buffer other = pinned_buffer(5000);
    const auto page_of = [](const buffer& each) {
        return reinterpret_cast<std::uintptr_t>(each.read(host).data()) / system::page_size();
    };
    EXPECT_NE(page_of(one), page_of(other));
}

TEST_F(cuda_test, counts_what_is_pinned_once) {
    trim_memory(host);
    const std::uint64_t before = cuda::pinned_memory().held;
    {
        buffer_options options;
        options.pinned = true;
        options.hint = memory_hint::coherent;
        buffer used(mebibyte, options);
        host_writes(used, noise(mebibyte));
        EXPECT_EQ(cuda::pinned_memory().held, before + mebibyte);
        EXPECT_EQ(get_accelerator(host).memory().pinned, before + mebibyte);
        EXPECT_EQ(get_accelerator(where_).memory().pinned, 0u);
        used.read(where_).release();  // uses memory that is pinned already
        EXPECT_EQ(used.placement(where_).placement, placement::shared);
        EXPECT_EQ(cuda::pinned_memory().held, before + mebibyte);
        used.discard(where_);
        EXPECT_TRUE(used.placement(host).pinned);
    }
    EXPECT_EQ(cuda::pinned_memory().held, before + mebibyte);  // it is kept for the next one
    trim_memory(host);
    EXPECT_LE(cuda::pinned_memory().held, before);
}

TEST_F(on_the_double, pins_once_for_buffers_that_follow_each_other) {
    for (const std::size_t count : {mebibyte / 2, 3 * mebibyte - 1, 64 * mebibyte}) {
        trim_memory(host);
        control().reset();
        for (int i = 0; i != 3; ++i) {
            buffer used = pinned_buffer(count - static_cast<std::size_t>(i) * 100);
            EXPECT_TRUE(same(host_reads(used), bytes(used.size_bytes(), std::byte{0}))) << count;
            host_writes(used, bytes(used.size_bytes(), std::byte{9}));
            used.read(where_).release();
            EXPECT_TRUE(used.placement(host).pinned);
        }
        EXPECT_EQ(control().calls("cuMemHostRegister"), 1u) << count;
        EXPECT_EQ(control().calls("cuMemHostUnregister"), 0u) << count;
        EXPECT_LE(control().bytes("cuMemHostRegister"), count + std::max<std::size_t>(count / 64, 4096)) << count;
    }
}

/// A buffer whose handle is out may be in use by kernels when it ends.
TEST_F(on_the_double, keeps_no_pinned_memory_that_somebody_may_use) {
    trim_memory(host);
    set_default_device(where_);
    {
        buffer used(mebibyte, {.hint = memory_hint::coherent, .pinned = true});
        host_writes(used, noise(mebibyte));
        used.device();
    }
    control().reset();
    host_writes(*std::make_unique<buffer>(pinned_buffer(mebibyte)), noise(mebibyte));
    EXPECT_EQ(control().calls("cuMemHostRegister"), 1u);
}

/// What is kept makes room where a limit is reached.
TEST_F(on_the_double, gives_kept_pinned_memory_back_before_it_says_that_there_is_no_room) {
    trim_memory(host);
    host_writes(*std::make_unique<buffer>(pinned_buffer(8 * mebibyte)), noise(8 * mebibyte));
    const limited to(cuda::pinned_memory().held);
    buffer used = pinned_buffer(4 * mebibyte);
    host_writes(used, noise(4 * mebibyte));
    EXPECT_TRUE(used.placement(host).pinned);
    EXPECT_LE(cuda::pinned_memory().held, cuda::pinned_memory().limit - 4 * mebibyte);
}

TEST_F(on_the_double, gives_kept_pinned_memory_back_for_memory_that_is_shared) {
    for (const memory_hint hint : {memory_hint::cpu_preferred, memory_hint::streaming}) {
        trim_memory(host);
        host_writes(*std::make_unique<buffer>(pinned_buffer(8 * mebibyte)), noise(8 * mebibyte));
        const limited to(cuda::pinned_memory().held);
        buffer used(mebibyte, {.hint = hint, .device = where_});
        host_writes(used, noise(mebibyte));
        used.read(where_).release();
        EXPECT_EQ(used.placement(where_).placement, placement::shared) << used.placement(where_).reason;
    }
}

/// Small pinned buffers come from a block, for which what is kept makes room before anything else is tried.
TEST_F(on_the_double, gives_kept_pinned_memory_back_before_it_asks_for_a_fence) {
    program by;
    const queue other = cuda::queue_of(by.stream());
    trim_memory(host);
    {
        buffer out(5000, {.hint = memory_hint::coherent, .pinned = true});
        host_writes(out, noise(5000));
        set_default_device(where_);
        out.device();
    }
    host_writes(*std::make_unique<buffer>(pinned_buffer(8 * mebibyte)), noise(8 * mebibyte));
    const limited to(cuda::pinned_memory().held);
    capture under_way(by.stream());
    std::vector<buffer> all;
    for (int i = 0; i != 300; ++i) {
        all.push_back(pinned_buffer(5000));
        host_writes(all.back(), noise(5000));
        all.back().read(where_, {.on = other}).release();
    }
    EXPECT_TRUE(under_way.end());
}

/// Both begin at one address.
TEST_F(cuda_test, pins_memory_of_a_part_and_of_the_whole) {
    const auto pages = backends::device_of(host).allocate({.bytes = mebibyte, .whole_pages = true});
    const std::span all(pages->host_address(), mebibyte);
    const std::uint64_t before = cuda::pinned_memory().held;
    auto part = device().alias(all.first(8192), {.bytes = 8192});
    const std::uint64_t with_part = cuda::pinned_memory().held;
    auto whole = device().alias(all, {.bytes = mebibyte});
    whole.reset();
    EXPECT_EQ(cuda::pinned_memory().held, with_part);
    const bytes content = noise(8192);
    part->write(0, content, {}).wait();
    part->publish_to_host(0, 8192, access::read, {}).wait();
    EXPECT_TRUE(same(all.first(8192), content));
    part.reset();
    EXPECT_EQ(cuda::pinned_memory().held, before);
}

TEST_F(on_the_double, keeps_so_much_pinned_memory_at_most) {
    const std::uint64_t before = cuda::pinned_memory().held;
    backends::kept_blocks kept(4 * mebibyte);
    const auto use = [&](std::vector<std::size_t> sizes) {
        std::vector<std::unique_ptr<backends::pinned_block>> all;
        for (const std::size_t each : sizes) all.push_back(kept.make(where_, each * mebibyte));
        for (auto& each : all) kept.keep(std::move(each));
        return cuda::pinned_memory().held - before;
    };
    EXPECT_EQ(use({1, 2}), 3 * mebibyte);
    EXPECT_EQ(use({3}), 3 * mebibyte);  // what was kept first has gone
    EXPECT_EQ(use({5}), 3 * mebibyte);  // is larger than all that may be kept
    EXPECT_EQ(use({1, 1, 2}), 4 * mebibyte);
    EXPECT_TRUE(kept.clear());
    EXPECT_FALSE(kept.clear());
    EXPECT_EQ(cuda::pinned_memory().held, before);
}

TEST_F(cuda_test, begins_with_half_of_what_the_process_may_have) {
    EXPECT_EQ(cuda::pinned_memory().limit, memory_of(host).total / 2);  // of its cgroup, where that has a limit
}

TEST_F(cuda_test, pins_no_more_than_it_may) {
    backends::trim_pinned();  // blocks that are kept for later would make room
    buffer used = pinned_buffer(mebibyte);
    {
        const limited to(cuda::pinned_memory().held + mebibyte - 1);
        std::string message;
        EXPECT_EQ(code_of([&] { used.write(host); }, &message), error_code::out_of_memory);
        for (const std::uint64_t number : {std::uint64_t{mebibyte}, cuda::pinned_memory().limit}) {
            EXPECT_NE(message.find(std::to_string(number)), std::string::npos) << message;
        }
        EXPECT_EQ(used.state(), buffer_state::uninitialized);

        buffer other = shared(mebibyte);
        host_writes(other, noise(mebibyte));
        other.read(where_).release();
        const placement_info got = other.placement(where_);
        if (got.placement == placement::mirrored) {
            EXPECT_NE(got.reason.find("pinned"), std::string::npos) << got.reason;
        } else {  // the device reads memory that is not pinned
            EXPECT_LT(cuda::pinned_memory().held, mebibyte);
        }
    }
    host_writes(used, noise(mebibyte));
    used.read(where_).release();
    EXPECT_TRUE(same(host_reads(used), noise(mebibyte)));
}

TEST_F(on_the_double, says_when_the_system_pins_no_more) {
    trim_memory(host);
    control().limit_pinned_memory(4096);
    buffer used = pinned_buffer(mebibyte);
    const std::uint64_t before = cuda::pinned_memory().held;
    std::string message;
    EXPECT_EQ(code_of([&] { used.write(host); }, &message), error_code::out_of_memory);
    EXPECT_NE(message.find("pinned"), std::string::npos) << message;
    EXPECT_EQ(cuda::pinned_memory().held, before);
    control().reset();
    host_writes(used, noise(mebibyte));
    EXPECT_TRUE(used.placement(host).pinned);
}

/// Where the driver does not pin, the buffer is as useful without, and says so.
TEST_F(on_the_double, goes_on_unpinned_where_the_driver_pins_nothing) {
    for (const int status : {driver::not_supported, driver::not_permitted, driver::invalid_value}) {
        trim_memory(host);
        control().fail("cuMemHostRegister", 0, 100, status);
        buffer used = pinned_buffer(mebibyte);
        host_writes(used, noise(mebibyte));
        EXPECT_FALSE(used.placement(host).pinned) << status;
        EXPECT_NE(used.placement(host).reason.find("not pinned"), std::string::npos) << used.placement(host).reason;
        used.read(where_).release();
        EXPECT_TRUE(same(host_reads(used), noise(mebibyte)));
        control().reset();
    }
}

TEST_F(on_the_double, asks_whether_memory_can_be_pinned) {
    trim_memory(host);
    control().set_attribute(driver::host_register_supported, 0);
    buffer used = pinned_buffer(mebibyte);
    host_writes(used, noise(mebibyte));
    EXPECT_EQ(control().calls("cuMemHostRegister"), 0u);
    EXPECT_NE(used.placement(host).reason.find("does not pin memory that it has not allocated"), std::string::npos)
        << used.placement(host).reason;
}

/// A driver faults the pages in for writing that it pins; the double does so where it is hostile.
class faulted_in : public cuda_test {
protected:
    void SetUp() override {
        cuda_test::SetUp();
        if (cuda_double::loaded()) cuda_double::loaded()->set_hostile(true);
    }
    void TearDown() override {
        if (cuda_double::loaded()) cuda_double::loaded()->reset();
    }
};

TEST_F(faulted_in, a_fresh_pinned_buffer_moves_what_was_written) {
    if (!tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
    for (const std::size_t count : {64 * kibibyte, 8 * mebibyte}) {
        trim_memory(host);
        buffer used = pinned_buffer(count);
        std::byte* const pointer = used.host();
        EXPECT_EQ(used.state(), buffer_state::host_only) << count;
        used.sync_to_device();
        EXPECT_EQ(used.statistics().bytes_moved(), 0u) << count;
        pointer[count / 2] = std::byte{1};
        used.sync_to_device();
        EXPECT_EQ(used.statistics().bytes_moved(), 4096u) << count;
    }
}

class watched_while_pinned : public faulted_in {
protected:
    void SetUp() override {
        faulted_in::SetUp();
        if (!tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
    }

    /// Returns a buffer that another device than CUDA's uses too, and whose host copy is watched.
    buffer watched() {
        buffer made = shared(64 * page);
        to_ = made.host();
        std::ranges::copy(noise(64 * page), to_);
        made.read(other_).release();
        return made;
    }

    static constexpr std::size_t page = 4096;
    space other_{"debug:0"};
    std::byte* to_ = nullptr;
};

TEST_F(watched_while_pinned, pages_are_no_conflict) {
    buffer used = watched();
    used.write(other_, {.offset = 0, .count = 10 * page}).release();
    EXPECT_NO_THROW(used.read(where_).release());
    EXPECT_EQ(used.placement(where_).placement, placement::shared);
    EXPECT_NO_THROW(used.read(host).release());
}

TEST_F(watched_while_pinned, pages_count_as_written_once) {
    for (const bool fresh : {false, true}) {
        buffer used = fresh ? shared(64 * page) : watched();
        if (fresh) to_ = used.host();
        used.read(where_).release();
        ASSERT_EQ(used.placement(where_).placement, placement::shared);
        used.read(other_).release();
        const std::uint64_t before = used.statistics().bytes_moved();
        used.read(other_).release();
        EXPECT_EQ(used.statistics().bytes_moved(), before) << fresh;
        to_[5 * page] ^= std::byte{1};
        used.read(other_).release();
        EXPECT_LE(used.statistics().bytes_moved() - before, page) << fresh;
    }
}

TEST_F(watched_while_pinned, what_the_program_writes_meanwhile_is_found) {
    for (int i = 0; i != 20; ++i) {
        buffer used = watched();
        std::atomic<bool> stop = false;
        std::atomic<unsigned> last = 0;
        std::jthread writer([&] {
            for (unsigned n = 1; !stop; ++n) {
                to_[7 * page] = std::byte(n);
                last = n;
            }
        });
        while (last == 0) std::this_thread::yield();
        used.read(where_, {.offset = 0, .count = page}).release();
        stop = true;
        writer.join();
        const auto lease = used.read(other_);
        EXPECT_EQ(lease.data()[7 * page], std::byte(last.load()));
    }
}

TEST_F(cuda_test, says_why_a_buffer_is_not_pinned) {
    for (const space where : {host, space("debug:0")}) {
        buffer_options options;
        options.pinned = true;
        options.device = where;
        buffer used(100, options);
        host_writes(used, noise(100));
        EXPECT_FALSE(used.placement(host).pinned);
        EXPECT_NE(used.placement(host).reason.find("not pinned"), std::string::npos) << used.placement(host).reason;
        used.read(where_).release();
        EXPECT_TRUE(same(host_reads(used), noise(100)));
    }
}

TEST_F(cuda_test, shares_the_smallest_buffer) {
    buffer used = shared(1);
    host_writes(used, noise(1));
    used.read_write(where_).release();
    EXPECT_EQ(used.placement(where_).placement, placement::shared) << used.placement(where_).reason;
    EXPECT_TRUE(same(host_reads(used), noise(1)));
    EXPECT_EQ(used.statistics().bytes_moved(), 0u);
}

TEST_F(cuda_test, streams_into_memory_of_the_driver) {
    buffer_options options;
    options.hint = memory_hint::streaming;
    options.device = where_;
    const std::uint64_t before = cuda::pinned_memory().held;
    {
        buffer used(mebibyte, options);
        host_writes(used, noise(mebibyte));
        used.read(where_).release();
        EXPECT_EQ(used.placement(where_).placement, placement::shared) << used.placement(where_).reason;
        EXPECT_EQ(used.placement(host).reason, "lent by " + where_.name());
        EXPECT_EQ(cuda::pinned_memory().held, before + mebibyte);
        EXPECT_TRUE(same(host_reads(used), noise(mebibyte)));
        EXPECT_EQ(used.statistics().bytes_moved(), 0u);
    }
    EXPECT_EQ(cuda::pinned_memory().held, before);
}

TEST_F(cuda_test, a_second_device_uses_memory_that_the_first_has_lent) {
    find_second();
    if (IsSkipped()) return;
    buffer_options options;
    options.hint = memory_hint::streaming;
    options.device = where_;
    buffer used(mebibyte, options);
    host_writes(used, noise(mebibyte));
    used.read(where_).release();
    used.read_write(second_).release();
    EXPECT_EQ(used.placement(second_).placement, placement::shared) << used.placement(second_).reason;
    EXPECT_TRUE(same(host_reads(used), noise(mebibyte)));
    EXPECT_EQ(used.statistics().bytes_moved(), 0u);
}

}  // namespace
}  // namespace unibuf::contract::pinned_test
