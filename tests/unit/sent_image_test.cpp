// tests/unit/sent_image_test.cpp: of memory that is compared, a device gets what was compared, whatever is stored
// meanwhile.
#include <array>
#include <atomic>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "support/fake_device.hpp"
#include "support/sanitizers.hpp"
#include "tracking/hot_pages.hpp"
#include "unibuf/batch.hpp"
#include "unit/common.hpp"

namespace unibuf::test::sent_image_test {
namespace {

/// How the memory lies in which a flag is set.
struct layout {
    const char* name;
    std::size_t bytes;
    std::size_t flag;     // its offset
    bool given = false;   // memory of the program, which begins and ends within pages
    bool column = false;  // the flag is sent as a byte of a column

    friend void PrintTo(const layout& of, std::ostream* out) { *out << of.name; }
};

constexpr std::array layouts{layout{"one_byte", 1, 0},
                             layout{"a_line", 64, 0},
                             layout{"a_page", 4096, 4000},
                             layout{"a_hot_page", 100'000, 40'000},
                             layout{"an_edge_in_front", 100'000, 3, true},
                             layout{"an_edge_behind", 100'000, 99'990, true},
                             layout{"a_little_given_memory", 10'000, 5'000, true},
                             layout{"a_column_of_a_page", 4096, 64 * 3, false, true},
                             layout{"a_column_with_a_hot_page", 128 * 1024, 1024 * 30, false, true}};

class a_flag : public testing::TestWithParam<layout> {
protected:
    a_flag() {
        tracking::scans_until_hot = 1;
        if (GetParam().given) {
            given_.resize(GetParam().bytes + 1);
            made_ = buffer::over(std::span(given_).subspan(1), nullptr);
        } else {
            made_ = buffer(GetParam().bytes);
        }
        if (!GetParam().column) return;
        const std::size_t row = GetParam().bytes > 4096 ? 1024 : 64;
        const slice first_column[]{{0, GetParam().bytes / row}, {0, 1}};
        column_ = made_.view(shape{GetParam().bytes / row, row}, 1, first_column);
    }
    ~a_flag() override { tracking::scans_until_hot = 4; }

    buffer& all() { return made_; }
    buffer& sent() { return GetParam().column ? column_ : made_; }

    /// Makes the page of the flag hot, where there are pages.
    void set_often(std::byte& flag, space device) {
        for (int i = 0; i < 8; ++i) {
            flag = static_cast<std::byte>(100 + i);
            static_cast<void>(sent().read(device));
        }
    }

private:
    std::vector<std::byte> given_;
    buffer made_{0};
    buffer column_{0};
};

/// The queue is held up by other work: what is sent is taken from the host when the flag has another value. That holds
/// for a device with memory of its own, and for one with bytes of its own behind the host's memory.
TEST_P(a_flag, that_is_set_while_its_transfer_waits_is_what_the_host_has) {
    std::byte& flag = all().host()[GetParam().flag];
    int any = 0;
    for (const fake_traits& does :
         {fake_traits{.asynchronous = true}, fake_traits{.aliases = true, .asynchronous = true, .keeps_own = true}}) {
        fake_device& later = fake_device::get(does);
        set_often(flag, later.where());
        for (int round = 0; round < 3; ++round) {
            flag = std::byte{1};
            sent().prefetch(later.where(), {.on = queue{&any}});
            flag = std::byte{2};
            later.queued().run_all();
            flag = std::byte{1};
            const lease<const std::byte> there = sent().read(later.where());
            EXPECT_EQ(kernel_read(all().read(later.where()).native())[GetParam().flag], std::byte{1})
                << later.where().name() << ", round " << round;
        }
    }
}

/// Every history of so many steps: whatever stores, transfers that wait, looks and arrivals beside it come in which
/// order, all spaces have what was stored last.
TEST_P(a_flag, has_one_value_after_every_short_history) {
    fake_device& later = fake_device::get({.asynchronous = true});
    const space other("debug:0");
    const std::size_t at = GetParam().flag;
    const std::size_t beside = at == 0 ? 1 : at - 1;
    int any = 0;
    std::byte& flag = all().host()[at];
    set_often(flag, later.where());
    std::byte wanted = flag;
    const std::array steps{
        std::function([&] { flag = wanted = std::byte{1}; }),
        std::function([&] { flag = wanted = std::byte{2}; }),
        std::function([&] { sent().prefetch(later.where(), {.on = queue{&any}}); }),
        std::function([&] { later.queued().run_all(); }),
        std::function([&] { static_cast<void>(sent().read(other)); }),
        std::function([&] { static_cast<void>(all().state()); }),
        std::function([&] { all().write(host, {.offset = at, .count = 1})[0] = wanted = std::byte{3}; }),
        std::function([&] {
            if (GetParam().bytes == 1) return;
            kernel_write(all().write(later.where(), {.offset = beside, .count = 1}).native(), 0, of(1, 9));
            static_cast<void>(all().read(host, {.offset = beside, .count = 1}));
        }),
    };
    const unsigned length = has_address_sanitizer || has_thread_sanitizer ? 3 : 5;
    std::size_t histories = 1;
    for (unsigned i = 0; i < length; ++i) histories *= steps.size();
    for (std::size_t history = 0; history < histories; ++history) {
        flag = wanted = std::byte{4};
        for (const space each : {other, later.where()}) static_cast<void>(all().read(each));
        std::size_t left = history;
        for (unsigned i = 0; i < length; ++i, left /= steps.size()) steps[left % steps.size()]();
        const access_options alone{.offset = at, .count = 1};
        const std::byte here = all().read(host, alone)[0];
        const std::byte there = kernel_read(all().read(later.where(), alone).native())[0];
        const std::byte elsewhere = all().read(other, alone)[0];
        ASSERT_TRUE(here == wanted && there == wanted && elsewhere == wanted)
            << "history " << std::oct << history << ", its first step last: wanted " << int(wanted) << ", host "
            << int(here) << ", later " << int(there) << ", other " << int(elsewhere);
    }
}

/// Stores go on while others look, send, and send many together.
TEST_P(a_flag, that_a_thread_sets_and_clears_is_what_the_host_has) {
    if (has_thread_sanitizer) GTEST_SKIP() << "a store through a pointer while the byte is sent is a race to it";
    const space device("debug:0");
    auto& flag = reinterpret_cast<std::atomic<unsigned char>&>(all().host()[GetParam().flag]);
    std::atomic<int> round = 0;
    std::atomic<int> ended = 0;
    constexpr int rounds = 300;
    const auto wait_for = [](const std::atomic<int>& what, int value) {
        for (int now = what; now < value; now = what) what.wait(now);
    };
    std::jthread toggles([&] {
        for (int r = 1; r <= rounds; ++r) {
            wait_for(round, r);
            for (int i = 0; i < 2'000; ++i) {
                flag = 1;
                flag = 0;
            }
            ended = r;
            ended.notify_all();
        }
    });
    buffer beside(64);
    int wrong = 0;
    for (int r = 1; r <= rounds; ++r) {
        round = r;
        round.notify_all();
        for (int looks = 0; ended < r; ++looks) {
            if (looks % 4 != 0 || GetParam().column) {
                static_cast<void>(sent().read(device));
                continue;
            }
            put(beside, of(64, static_cast<unsigned char>(looks)));
            batch both(device);
            both.sync(sent());
            both.sync(beside);
            both.submit();
        }
        static_cast<void>(sent().read(device));
        bytes there(GetParam().bytes);
        all().copy_to(std::span(there), device);
        wrong += there[GetParam().flag] != std::byte{0};
    }
    EXPECT_EQ(wrong, 0) << "of " << rounds;
}

/// Bytes arrive at the host in a unit of which a flag is set, sent, and cleared again meanwhile.
TEST(a_flag_beside_bytes_that_arrive, is_what_the_host_has) {
    for (const std::size_t size : {std::size_t{64}, std::size_t{3} * 4096}) {
        const std::size_t flag = size - 20;
        const access_options alone{.offset = flag, .count = 1};
        const access_options beside{.offset = size - 40, .count = 9};
        const space device("debug:0");
        fake_device& later = fake_device::get({.asynchronous = true});
        buffer b(size);
        put(b, of(size, 1));
        std::byte* const host_bytes = b.host();
        static_cast<void>(b.read(device));
        kernel_write(b.write(later.where(), beside).native(), 0, of(9, 7));
        later.queued().add({.run = [&](std::size_t) {
            host_bytes[flag] = std::byte{2};
            EXPECT_EQ(b.read(device, alone)[0], std::byte{2});
            host_bytes[flag] = std::byte{1};
        }});
        EXPECT_EQ(content(b, host, beside), of(9, 7));
        EXPECT_EQ(b.read(device, alone)[0], std::byte{1}) << size;
        EXPECT_EQ(content(b, device, beside), of(9, 7));
    }
}

/// A tall rectangle is sent in one call, as its memory is; its compared units count as written then, but not where the
/// device has newer content by the next look.
TEST(what_is_sent_as_it_is, is_no_store_of_the_program) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1459}}) {
        constexpr std::size_t rows = 1025;
        constexpr std::size_t row = 32;
        std::vector<std::byte> memory(rows * row + offset);
        buffer b = buffer::over(std::span(memory).subspan(offset), nullptr, {.hint = memory_hint::gpu_preferred});
        const space device("debug:0");
        const slice some[]{{0, rows}, {21, 24}};
        buffer part = b.view(shape{rows, row}, 1, some);
        static_cast<void>(part.read_write(device));
        b.read_write(device)[21] = std::byte{7};
        EXPECT_EQ(content(b, host, {.offset = 21, .count = 1}), of(1, 7)) << offset;
        EXPECT_EQ(content(b, host, {.offset = 22, .count = 1}), of(1, 0)) << offset;
    }
}

INSTANTIATE_TEST_SUITE_P(in, a_flag, testing::ValuesIn(layouts),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace unibuf::test::sent_image_test
