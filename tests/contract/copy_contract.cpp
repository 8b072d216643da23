// tests/contract/copy_contract.cpp: copies from one buffer to another are made where the bytes are.
#include <algorithm>
#include <array>

#include "contract/contract.hpp"

namespace unibuf::contract::copy_suite {

namespace {

constexpr std::size_t size = 20000;

bytes content_of(const buffer& from) {
    bytes result(from.size_bytes());
    from.copy_to(std::span(result));
    return result;
}

/// Makes content that only the device has.
void device_fills(buffer& to, space where, std::byte value) {
    to.read(where).release();
    to.mark_dirty(where);
    to.fill({&value, 1});
}

/// Makes a buffer that the device has a copy of, apart from the host's where it can.
buffer apart(std::size_t count) {
    buffer_options options;
    options.hint = memory_hint::gpu_preferred;
    return buffer(count, options);
}

}  // namespace

TEST_P(buffer_contract, copies_to_another_buffer_where_the_bytes_are) {
    buffer source = apart(size);
    buffer target = apart(size);
    device_fills(source, where_, std::byte{7});
    target.copy_from(source);
    EXPECT_EQ(source.statistics().bytes_moved() + target.statistics().bytes_moved(), 0u);
    EXPECT_EQ(target.state(), buffer_state::device_dirty);
    EXPECT_TRUE(same(content_of(target), bytes(size, std::byte{7})));
    EXPECT_TRUE(same(content_of(source), bytes(size, std::byte{7})));
}

TEST_P(buffer_contract, copies_a_part_to_and_fro) {
    buffer large = apart(size);
    buffer small = apart(3001);
    const bytes before = noise(size, 1);
    large.copy_from(before);
    device_fills(small, where_, std::byte{9});
    large.copy_from(small, 4099);
    bytes wanted = before;
    std::fill_n(wanted.begin() + 4099, 3001, std::byte{9});
    EXPECT_TRUE(same(content_of(large), wanted));

    large.read(where_).release();
    large.mark_dirty(where_);
    large.copy_to(small, 17);
    EXPECT_TRUE(same(content_of(small), {wanted.data() + 17, 3001}));
    large.view(100, 500).copy_from(large.view(7000, 500));
    std::copy_n(wanted.begin() + 7000, 500, wanted.begin() + 100);
    EXPECT_TRUE(same(content_of(large), wanted));
}

TEST_P(buffer_contract, copies_past_the_host_in_and_out) {
    buffer array = apart(size);
    device_fills(array, where_, std::byte{7});
    array.discard(host);
    bytes wanted(size, std::byte{7});
    bytes got(3001);
    array.copy_to(got, array.current_at(), 4099);
    EXPECT_TRUE(same(got, {wanted.data() + 4099, got.size()}));
    got = noise(got.size(), 4);
    array.copy_from(got, where_, 17);
    std::ranges::copy(got, wanted.begin() + 17);
    EXPECT_EQ(code_of([&] { array.placement(host); }), error_code::not_allocated);

    // A rectangle of four axes: no driver copies it in one call.
    const std::array<std::size_t, 5> extents{4, 5, 10, 10, 10};
    const std::array<slice, 5> along{slice{1, 3}, slice{1, 4}, slice{2, 9}, slice{0, 5}, slice{3, 4}};
    buffer part = array.view(shape::of(extents), 1, along);
    bytes content = noise(part.size_bytes(), 5);
    part.copy_from(content, where_);
    bytes back(content.size());
    part.copy_to(back, where_);
    EXPECT_TRUE(same(back, content));
    const std::byte* next = content.data();
    for (std::size_t a = 1; a < 3; ++a)
        for (std::size_t b = 1; b < 4; ++b)
            for (std::size_t c = 2; c < 9; ++c)
                for (std::size_t d = 0; d < 5; ++d) wanted[(((a * 5 + b) * 10 + c) * 10 + d) * 10 + 3] = *next++;
    EXPECT_TRUE(same(content_of(array), wanted));
}

TEST_P(buffer_contract, copies_at_the_host_what_the_host_has) {
    buffer source(size);
    buffer target(size);
    const bytes content = noise(size, 2);
    source.copy_from(content);
    target.copy_from(source);
    EXPECT_EQ(code_of([&] { target.placement(where_); }), error_code::not_allocated);
    EXPECT_TRUE(same(content_of(target), content));

    // Both have the source, and the target is there already.
    source.read(where_).release();
    target.read(where_).release();
    const auto moved = [&] { return source.statistics().bytes_moved() + target.statistics().bytes_moved(); };
    const std::uint64_t before = moved();
    source.copy_to(target);
    EXPECT_EQ(moved(), before);
    EXPECT_TRUE(same(content_of(target), content));
}

TEST_P(buffer_contract, refuses_copies_that_overlap_or_do_not_fit) {
    buffer source(size);
    buffer target(size / 2);
    target.copy_from(noise(size / 2, 3));
    EXPECT_EQ(code_of([&] { target.copy_from(source); }), error_code::out_of_range);
    EXPECT_EQ(code_of([&] { source.copy_to(target, size / 2 + 1); }), error_code::out_of_range);
    EXPECT_EQ(code_of([&] { source.view(0, 100).copy_from(source.view(99, 100)); }), error_code::access_conflict);
    EXPECT_TRUE(same(content_of(target), noise(size / 2, 3)));
    buffer nothing(0);
    nothing.copy_from(nothing);
    source.copy_from(nothing, size);
}

}  // namespace unibuf::contract::copy_suite
