// tests/unit/buffer_test.cpp: what a buffer does, seen from outside, on the host and on the debug device.
#include <cstring>
#include <functional>
#include <utility>

#include "unit/common.hpp"

namespace unibuf::test::buffer_test {
namespace {

constexpr std::size_t size = 1000;
constexpr unsigned char poison = 0xDB;

class a_buffer : public testing::Test {
protected:
    const space device{"debug:0"};
    const default_device_is device_is_default{device};
    buffer b{size};
};

TEST_F(a_buffer, allocates_at_the_first_access) {
    const std::uint64_t at_host = memory_in(host).held;
    const std::uint64_t at_device = memory_in(device).held;
    const buffer view = b.view(10, 20);
    EXPECT_EQ(b.state(), buffer_state::uninitialized);
    EXPECT_EQ(b.ranges(), 1u);
    EXPECT_EQ(memory_in(host).held, at_host);

    view.read(device).release();
    EXPECT_EQ(b.state(), buffer_state::device_only);
    EXPECT_EQ(memory_in(device).held, at_device + size);
    EXPECT_EQ(memory_in(host).held, at_host);

    view.read(host).release();
    EXPECT_EQ(memory_in(host).held, at_host + size);
    EXPECT_EQ(b.statistics().bytes_moved(), 0u) << "what nobody has written is not worth a transfer";
}

TEST_F(a_buffer, gives_its_memory_back) {
    const std::uint64_t before = memory_in_all().held;
    {
        buffer short_lived(size);
        short_lived.read(host).release();
        short_lived.read(device).release();
        EXPECT_EQ(memory_in_all().held, before + 2 * size);
    }
    EXPECT_EQ(memory_in_all().held, before);
}

TEST_F(a_buffer, has_a_number_that_its_views_share) {
    const buffer other(size);
    EXPECT_NE(b.id(), other.id());
    EXPECT_EQ(b.view(1, 2).id(), b.id());
}

TEST_F(a_buffer, moves_as_a_handle) {
    put(b, noise(size));
    const std::uint64_t id = b.id();
    buffer taken(std::move(b));
    EXPECT_EQ(taken.id(), id);
    buffer other(1);
    other = std::move(taken);
    EXPECT_EQ(other.id(), id);
    EXPECT_EQ(other.size_bytes(), size);
    EXPECT_TRUE(same(content(other), noise(size)));
}

TEST_F(a_buffer, lives_as_long_as_a_view) {
    const auto make = [] {
        buffer parent(size);
        put(parent, noise(size));
        return parent.view(100, 50);
    };
    const buffer view = make();
    EXPECT_TRUE(same(content(view), part(noise(size), 100, 50)));
    EXPECT_TRUE(same(content(view, device), part(noise(size), 100, 50)));
}

TEST_F(a_buffer, is_zero_where_nobody_has_written) {
    EXPECT_TRUE(same(content(b, device), of(size, 0)));
    put(b, noise(10), device, 500);
    bytes expected = of(size, 0);
    std::ranges::copy(noise(10), expected.begin() + 500);
    EXPECT_TRUE(same(content(b), expected));
    EXPECT_EQ(b.statistics().bytes_moved(), 10u);
}

TEST_F(a_buffer, need_not_be_zero) {
    const buffer raw(size, {.uninitialized = true});
    EXPECT_TRUE(same(content(raw, device), of(size, poison))) << "as the debug device allocates it";
}

TEST_F(a_buffer, finds_what_is_written_through_a_host_pointer) {
    std::byte* const p = b.host();
    for (unsigned char round = 1; round <= 3; ++round) {
        p[7] = std::byte{round};
        EXPECT_EQ(b.state(), buffer_state::host_dirty);
        EXPECT_EQ(content(b, device)[7], std::byte{round});
        EXPECT_EQ(*b.device().as<std::byte>(), std::byte{0});
    }
    p[8] = std::byte{8};
    b.release_host();
    const std::uint64_t before = b.statistics().bytes_moved();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(content(b, device)[8], std::byte{8});
    EXPECT_EQ(b.statistics().bytes_moved(), before + 64) << "the line that was written, and once";
    EXPECT_EQ(b.state(), buffer_state::synchronized);
}

TEST_F(a_buffer, gives_a_pointer_for_reading_that_costs_nothing_later) {
    put(b, noise(size), device);
    const std::byte* const p = std::as_const(b).host();
    EXPECT_TRUE(same({p, size}, noise(size)));
    for (int i = 0; i < 3; ++i) b.device();
    EXPECT_EQ(b.statistics().bytes_moved(), size);
    EXPECT_EQ(b.state(), buffer_state::synchronized);
}

TEST_F(a_buffer, gives_the_device_as_a_handle) {
    put(b, noise(size));
    const native_memory whole = b.device();
    EXPECT_EQ(whole.where, device);
    EXPECT_EQ(whole.bytes, size);
    EXPECT_TRUE(same({whole.as<std::byte>(), size}, noise(size)));
    const native_memory middle = b.view(300, 40).device();
    EXPECT_EQ(middle.as<std::byte>(), whole.as<std::byte>() + 300);
    EXPECT_EQ(middle.bytes, 40u);
    EXPECT_EQ(b.device().as<std::byte>(), whole.as<std::byte>());
}

TEST_F(a_buffer, trusts_a_mark) {
    put(b, noise(size));
    std::byte* const there = b.device().as<std::byte>();
    there[1] = std::byte{1};
    there[400] = std::byte{4};
    b.mark_device_dirty(400, 1);
    EXPECT_EQ(content(b)[400], std::byte{4});
    EXPECT_EQ(content(b)[1], noise(size)[1]) << "only what was marked is fetched";
    b.mark_device_dirty();
    EXPECT_EQ(content(b)[1], std::byte{1});
    EXPECT_EQ(b.statistics().bytes_moved(), size + 1 + size);

    const_cast<std::byte*>(std::as_const(b).host())[9] = std::byte{9};
    b.mark_host_dirty(9, 1);
    EXPECT_EQ(there[9], std::byte{poison});
    EXPECT_EQ(content(b, device)[9], std::byte{9});
    there[9] = std::byte{10};
    b.mark_dirty(device, 9, 1);
    EXPECT_EQ(content(b)[9], std::byte{10});
    EXPECT_EQ(b.statistics().bytes_moved(), 2 * size + 1 + 2);
}

TEST_F(a_buffer, shows_a_missing_mark) {
    put(b, noise(size));
    std::byte* const there = b.device().as<std::byte>();
    const std::byte* const here = std::as_const(b).host();
    put(b, noise(100, 2));
    EXPECT_TRUE(same({there, 100}, of(100, poison)));
    EXPECT_TRUE(same({there + 100, 900}, part(noise(size), 100, 900)));
    put(b, noise(100, 3), device, 50);
    EXPECT_TRUE(same({here, 50}, part(noise(100, 2), 0, 50)));
    EXPECT_TRUE(same({here + 50, 100}, of(100, poison)));
    EXPECT_TRUE(same({there, 50}, of(50, poison)));
}

TEST_F(a_buffer, brings_a_side_up_to_date) {
    put(b, noise(size));
    b.sync_to_device(100, 50);
    EXPECT_EQ(b.statistics().bytes_moved(), 50u);
    b.sync_to_device(0, 200);
    EXPECT_EQ(b.statistics().bytes_moved(), 200u);
    EXPECT_EQ(b.state(), buffer_state::host_dirty);
    b.sync_to_device();
    b.sync_to_device();
    b.sync_to_host();
    EXPECT_EQ(b.statistics().bytes_moved(), size);
    EXPECT_EQ(b.state(), buffer_state::synchronized);
    put(b, noise(size, 2), device);
    b.sync_to_host(990);
    EXPECT_EQ(b.statistics().bytes_moved(), size + 10);
    b.sync_to_host();
    EXPECT_TRUE(same({std::as_const(b).host(), size}, noise(size, 2)));
    for (const transfer_count& each : b.statistics().transfers) EXPECT_EQ(each.why, cause::sync);
}

TEST_F(a_buffer, is_moved_ahead) {
    put(b, noise(size));
    b.prefetch(device, {.offset = 10, .count = 30});
    EXPECT_EQ(b.statistics().bytes_moved(), 30u);
    EXPECT_EQ(b.statistics().transfers.at(0).why, cause::prefetch);
    b.prefetch(device);
    EXPECT_TRUE(same(content(b, device), noise(size)));
    EXPECT_EQ(b.statistics().bytes_moved(), size);
}

TEST_F(a_buffer, drops_a_copy) {
    const std::uint64_t held = memory_in(device).held;
    put(b, noise(size));
    b.discard(device);  // there is no copy to discard
    b.sync_to_device();
    EXPECT_EQ(memory_in(device).held, held + size);
    b.discard(device);
    EXPECT_EQ(memory_in(device).held, held);
    EXPECT_EQ(b.state(), buffer_state::host_only);
    b.sync_to_device();
    b.discard(host);
    EXPECT_EQ(b.state(), buffer_state::device_only);
    EXPECT_TRUE(same(content(b), noise(size)));
}

TEST_F(a_buffer, drops_its_content) {
    put(b, noise(size));
    b.sync_to_device();
    b.view(0, 100).discard_content();
    bytes expected = noise(size);
    std::fill_n(expected.begin(), 100, std::byte{0});
    const std::uint64_t before = b.statistics().bytes_moved();
    EXPECT_TRUE(same(content(b), expected));
    EXPECT_TRUE(same(content(b, device), expected));
    b.discard_content();
    EXPECT_TRUE(same(content(b, device), of(size, 0)));
    EXPECT_TRUE(same(content(b), of(size, 0)));
    EXPECT_EQ(b.statistics().bytes_moved(), before);
}

TEST_F(a_buffer, finds_what_older_pointers_write_after_its_content_was_dropped) {
    std::byte* const p = b.host();
    std::fill_n(p, size, std::byte{1});
    EXPECT_TRUE(same(content(b, device), of(size, 1)));
    b.discard_content();
    p[5] = std::byte{7};
    bytes expected = of(size, 0);
    expected[5] = std::byte{7};
    EXPECT_TRUE(same(content(b, device), expected));
    b.discard_content();
    b.copy_from(noise(size));
    b.sync_to_device();
    std::fill_n(p, size, std::byte{3});
    EXPECT_TRUE(same(content(b, device), of(size, 3)));
}

TEST_F(a_buffer, looks_at_pointers_as_before_where_its_content_was_not_dropped) {
    put(b, noise(size));
    std::byte* const p = b.host();
    const auto view = b.host_view(0, 1);
    EXPECT_EQ(failure_of([&] { b.discard_content(); }).code, error_code::access_conflict);
    EXPECT_TRUE(same(content(b, device), noise(size)));
    p[100] = ~noise(size)[100];
    EXPECT_EQ(content(b, device)[100], p[100]);
}

/// Where there is no default device, mark_device_dirty means the host: the program may have meant the space that it
/// names.
TEST_F(a_buffer, refuses_a_mark_of_the_default_device_that_would_lose_what_another_has) {
    put(b, noise(size), device);
    const default_device_is none{host};
    const failure refused = failure_of([&] { b.mark_device_dirty(); });
    EXPECT_EQ(refused.code, error_code::access_conflict);
    EXPECT_NE(refused.message.find("the newest are at debug:0"), std::string::npos) << refused.message;
    EXPECT_TRUE(same(content(b), noise(size)));
    b.mark_device_dirty();  // the host has all of it now
    EXPECT_TRUE(same(content(b), noise(size)));
}

TEST_F(a_buffer, is_filled_where_the_caller_says) {
    for (const space where : {host, device}) {
        buffer fresh(1000);
        fresh.fill(noise(4), where);
        EXPECT_EQ(fresh.current_at(), where);
        EXPECT_EQ(fresh.statistics().bytes_moved(), 0u);

        buffer elsewhere(1000);
        put(elsewhere, noise(1000, 9), where == host ? device : host);
        elsewhere.view(400, 200).fill(noise(4), where);
        EXPECT_EQ(elsewhere.statistics().bytes_moved(), 0u) << "what is filled is not fetched";
        bytes expected = noise(1000, 9);
        for (std::size_t i = 400; i < 600; ++i) expected[i] = noise(4)[i % 4];
        EXPECT_TRUE(same(content(elsewhere), expected));
    }
    buffer held(1000);
    const auto reader = held.read(host);
    EXPECT_EQ(failure_of([&] { held.fill(noise(4), device); }).code, error_code::access_conflict);
    EXPECT_EQ(failure_of([&] { held.fill(noise(7), device); }).code, error_code::invalid_argument);
}

TEST_F(a_buffer, is_filled_where_its_content_is) {
    for (std::size_t length = 1; length <= 16; ++length) {
        for (const space where : {host, device}) {
            buffer filled(length * 37);
            put(filled, noise(filled.size_bytes(), 9), where);
            const bytes pattern = noise(length, static_cast<unsigned>(length));
            bytes expected(filled.size_bytes());
            for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = pattern[i % length];
            filled.fill(pattern);
            EXPECT_EQ(filled.state(), where == host ? buffer_state::host_dirty : buffer_state::device_dirty);
            EXPECT_EQ(filled.statistics().bytes_moved(), 0u);
            EXPECT_TRUE(same(content(filled), expected)) << length << " at " << where.name();
            EXPECT_TRUE(same(content(filled, device), expected)) << length << " at " << where.name();
        }
    }
}

TEST_F(a_buffer, is_filled_by_parts) {
    bytes expected = noise(size);
    put(b, expected);
    buffer middle = b.view(100, 33);
    middle.fill(noise(33, 2));  // the pattern may be as long as the range
    std::ranges::copy(noise(33, 2), expected.begin() + 100);
    EXPECT_TRUE(same(content(b), expected));
    b.view(500, 0).fill(noise(3));
    EXPECT_TRUE(same(content(b), expected));
}

TEST_F(a_buffer, copies_from_and_to_memory_of_the_caller) {
    b.copy_from(noise(size));
    EXPECT_EQ(b.state(), buffer_state::host_dirty);
    put(b, noise(50, 2), device, 100);
    b.copy_from(noise(10, 3), 120);
    bytes expected = noise(size);
    std::ranges::copy(noise(50, 2), expected.begin() + 100);
    std::ranges::copy(noise(10, 3), expected.begin() + 120);
    bytes got(200);
    b.copy_to(got, 50);
    EXPECT_TRUE(same(got, std::span(expected).subspan(50, 200)));
    EXPECT_EQ(b.statistics().bytes_moved(), 40u) << "the device's 50, less the 10 that were overwritten";
    b.copy_from({});
    b.copy_to({}, size);
    EXPECT_TRUE(same(content(b), expected));
}

TEST_F(a_buffer, copies_from_and_to_bytes_of_its_own_that_overlap) {
    constexpr std::size_t large = 100000;
    for (const std::size_t bytes_each : {std::size_t{100}, large - 1}) {
        buffer of_itself(large);
        bytes expected = noise(large);
        of_itself.copy_from(expected);
        std::byte* const content = of_itself.host();
        of_itself.copy_from({content, bytes_each}, 1);
        std::copy_backward(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(bytes_each),
                           expected.begin() + static_cast<std::ptrdiff_t>(bytes_each) + 1);
        EXPECT_TRUE(same(std::span(content, large), expected)) << bytes_each;
        of_itself.copy_to({content, bytes_each}, 1);
        std::copy_n(expected.begin() + 1, bytes_each, expected.begin());
        EXPECT_TRUE(same(std::span(content, large), expected)) << bytes_each;
    }
}

TEST_F(a_buffer, is_seen_whole_through_views_that_overlap) {
    bytes expected = of(size, 0);
    buffer left = b.view(100, 400);
    buffer right = b.view(300, 500);
    buffer inner = right.view(50, 100);
    const auto write = [&](buffer& to, std::size_t begin, space where, unsigned seed) {
        put(to, noise(to.size_bytes(), seed), where);
        std::ranges::copy(noise(to.size_bytes(), seed), expected.begin() + static_cast<std::ptrdiff_t>(begin));
        for (const space reader : {where, host, device}) {
            EXPECT_TRUE(same(content(left, reader), std::span(expected).subspan(100, 400)));
            EXPECT_TRUE(same(content(right, reader), std::span(expected).subspan(300, 500)));
            EXPECT_TRUE(same(content(inner, reader), std::span(expected).subspan(350, 100)));
        }
    };
    write(left, 100, host, 1);
    write(right, 300, device, 2);
    write(inner, 350, host, 3);
    write(left, 100, device, 4);
    write(inner, 350, device, 5);
    EXPECT_TRUE(same(content(b), expected));
}

TEST_F(a_buffer, may_hold_nothing) {
    buffer none(0);
    EXPECT_EQ(none.state(), buffer_state::uninitialized);
    EXPECT_EQ(none.read(host).size(), 0u);
    EXPECT_EQ(none.state(), buffer_state::host_only);
    EXPECT_EQ(none.write(device).span().size(), 0u);
    EXPECT_EQ(none.read_write(device, {.offset = 0, .count = 0}).size(), 0u);
    none.host();
    std::as_const(none).host();
    none.release_host();
    EXPECT_EQ(none.device().bytes, 0u);
    none.sync_to_host();
    none.sync_to_device(0, 0);
    none.mark_host_dirty();
    none.mark_device_dirty(0, 0);
    none.prefetch(device);
    none.fill(noise(3));
    none.copy_from({});
    none.copy_to({});
    none.view(0, 0).view(0, 0).read(host).release();
    none.discard_content();
    EXPECT_EQ(none.placement(device).placement, placement::mirrored);
    EXPECT_EQ(none.state(), buffer_state::synchronized);
    none.release_host();
    none.release_device();
    none.discard(host);
    none.discard(device);
    EXPECT_EQ(none.state(), buffer_state::uninitialized);
    EXPECT_EQ(none.statistics().transfers_made(), 0u);
}

}  // namespace
}  // namespace unibuf::test::buffer_test
