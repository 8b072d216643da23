// tests/unit/conflict_test.cpp: what is written at the host while a device has newer bytes is never lost unsaid.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <new>
#include <vector>

#include "support/fake_device.hpp"
#include "tracking/watch.hpp"
#include "unit/common.hpp"

namespace unibuf::test::conflict_test {
namespace {

/// The knowledge of one byte, kept by hand.
struct expected_byte {
    std::byte value{};
    bool device_is_newer = false;
    bool is_conflict = false;  // it was stored to while the device was newer
    bool may_be_one = false;   // a byte of its unit is one: writes are found by units
};

/// A buffer with a pointer that is out all the time, through which the program also writes when it must not.
class careless_program {
public:
    explicit careless_program(std::size_t bytes)
        : used_(bytes, {.hint = memory_hint::gpu_preferred, .device = device_}),
          pointer_(used_.host()),
          all_(bytes),
          unit_(bytes < 4096 ? 64 : 4096) {
        std::ranges::fill_n(pointer_, static_cast<std::ptrdiff_t>(bytes), std::byte{});
    }

    void store(byte_range range) {
        const std::byte value = new_value();
        for (std::size_t i = range.begin; i < range.end; ++i) {
            pointer_[i] = value;
            if (all_[i].device_is_newer) {
                all_[i].is_conflict = true;
            } else {
                all_[i].value = value;
            }
        }
        for (std::size_t i = range.begin / unit_ * unit_; i < std::min(all_.size(), range.end + unit_ - 1); ++i) {
            const std::size_t begin = i / unit_ * unit_;
            const auto unit = std::span(all_).subspan(begin, std::min(unit_, all_.size() - begin));
            all_[i].may_be_one |= all_[i].device_is_newer && std::ranges::any_of(unit, &expected_byte::is_conflict);
        }
    }

    void write_at_device(byte_range range) {
        const std::byte value = new_value();
        used_.write(device_, {.offset = range.begin, .count = range.size()}).release();
        part(range).fill({&value, 1});
        know(range, {.value = value, .device_is_newer = true});
    }

    void write_at_host(byte_range range) {
        const std::byte value = new_value();
        std::ranges::fill(used_.write(host, {.offset = range.begin, .count = range.size()}), value);
        know(range, {.value = value});
    }

    void read(space where, byte_range range) {
        const bool conflict = any(range, &expected_byte::is_conflict);
        try {
            const auto lease = used_.read(where, {.offset = range.begin, .count = range.size()});
            RC_ASSERT(!conflict);
            if (where != host) return;
            for (std::size_t i = range.begin; i < range.end; ++i) {
                RC_ASSERT(lease[i - range.begin] == all_[i].value);
                all_[i].device_is_newer = false;
            }
        } catch (const error& refused) {
            RC_ASSERT(refused.code() == error_code::access_conflict);
            RC_ASSERT(conflict || any(range, &expected_byte::may_be_one));
        }
    }

    void let_stand(space where, byte_range range) {
        const bool device_has_all = std::ranges::all_of(known(range), &expected_byte::device_is_newer);
        if (where != host && !device_has_all) return;
        used_.mark_dirty(where, {.offset = range.begin, .count = range.size()});
        for (std::size_t i = range.begin; i < range.end; ++i) {
            const std::byte value = where == host ? pointer_[i] : all_[i].value;
            all_[i] = {.value = value, .device_is_newer = where != host};
        }
    }

    void look() { static_cast<void>(used_.state()); }

private:
    /// Returns a value that no byte has had: a store of the value that was there is none where contents are compared.
    std::byte new_value() { return std::byte{++values_}; }

    std::span<expected_byte> known(byte_range range) { return std::span(all_).subspan(range.begin, range.size()); }
    buffer part(byte_range range) { return used_.view(range.begin, range.size()); }
    void know(byte_range range, expected_byte what) { std::ranges::fill(known(range), what); }
    bool any(byte_range range, bool expected_byte::* what) { return std::ranges::any_of(known(range), what); }

    space device_{"debug:0"};
    buffer used_;
    std::byte* pointer_;
    std::vector<expected_byte> all_;
    std::size_t unit_;
    unsigned char values_ = 0;
};

RC_GTEST_PROP(conflicts, are_told_until_somebody_says_what_stands, ()) {
    if (!tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
    const auto bytes = *rc::gen::element<std::size_t>(64, 100, 300, 12288);
    careless_program program(bytes);
    for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
        const auto begin = *rc::gen::inRange<std::size_t>(0, bytes);
        const auto end = *rc::gen::oneOf(rc::gen::just(bytes), rc::gen::inRange(begin + 1, bytes + 1));
        const byte_range range{begin, end};
        switch (*rc::gen::inRange(0, 9)) {
            case 0:
            case 1:
                program.store(range);
                break;
            case 2:
                program.write_at_device(range);
                break;
            case 3:
                program.write_at_host(range);
                break;
            case 4:
                program.read(host, range);
                break;
            case 5:
                program.read(space("debug:0"), range);
                break;
            case 6:
                program.let_stand(host, range);
                break;
            case 7:
                program.let_stand(space("debug:0"), range);
                break;
            default:
                program.look();
        }
    }
}

TEST(a_message_of_a_conflict, says_who_wrote_last_where) {
    const space device("debug:0");
    buffer used(256, {.hint = memory_hint::gpu_preferred, .device = device});
    std::byte* const pointer = used.host();
    std::ranges::fill(used.write(device), std::byte{1});
    pointer[3] = std::byte{2};
    try {
        used.read(device).release();
        ADD_FAILURE() << "nobody has said which stands";
    } catch (const error& told) {
        const std::string text = told.what();
        const std::size_t last = text.find("; last: ");
        ASSERT_NE(last, std::string::npos) << text;
        const std::size_t at_device = text.find("debug:0 was to write bytes [0, 256)", last);
        EXPECT_NE(at_device, std::string::npos) << text;
        EXPECT_NE(text.find("had been written at the host through a pointer", at_device), std::string::npos) << text;
    }
    used.mark_dirty(device);
}

/// Conflicts show where writes are found.
class found_conflicts : public testing::Test {
protected:
    void SetUp() override {
        if (!tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
    }
};

TEST_F(found_conflicts, that_are_settled_do_not_come_back_with_a_store_beside_them) {
    const space device("debug:0");
    const default_device_is device_is_default(device);
    using settle = void (*)(buffer&);
    const std::array<settle, 4> ways{[](buffer& b) { b.discard(host); }, [](buffer& b) { b.view(0, 32).discard(host); },
                                     [](buffer& b) { b.mark_device_dirty(); },
                                     [](buffer& b) { b.mark_device_dirty(0, 32); }};
    for (const std::size_t size : {std::size_t{100}, std::size_t{4096}, std::size_t{20000}, std::size_t{1} << 20}) {
        for (const settle way : ways) {
            buffer b(size);
            std::ranges::fill(b.write(host), std::byte{1});
            std::byte* const pointer = b.host();
            b.write(device, {.count = 32})[5] = std::byte{9};
            pointer[5] = std::byte{77};
            EXPECT_EQ(failure_of([&] { b.read(device); }).code, error_code::access_conflict);
            way(b);
            EXPECT_EQ(b.read(device)[5], std::byte{9});
            static_cast<void>(b.read(host, {.offset = 40, .count = 1}));
            pointer[40] = std::byte{3};
            const auto there = b.read(device);
            EXPECT_EQ(there[5], std::byte{9}) << size;
            EXPECT_EQ(there[40], std::byte{3}) << size;
        }
    }
}

TEST_F(found_conflicts, stay_where_a_discard_is_refused) {
    const space device("debug:0");
    buffer b(1 << 16);
    std::ranges::fill(b.write(host), std::byte{1});
    std::byte* const pointer = b.host();
    std::ranges::fill(b.write(device), std::byte{9});
    pointer[5] = std::byte{77};
    const auto conflict = [&] { b.read(device, {.count = 64}); };
    EXPECT_EQ(failure_of(conflict).code, error_code::access_conflict);
    EXPECT_EQ(failure_of([&] { b.discard(device); }).code, error_code::access_conflict);  // the rest is there alone
    EXPECT_EQ(failure_of(conflict).code, error_code::access_conflict);
    b.mark_dirty(device);
    EXPECT_EQ(b.read(host)[5], std::byte{9});
}

/// Work that does not end while a test looks.
class endless final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds) override { return has_ended; }

    bool has_ended = false;
};

TEST_F(found_conflicts, stay_where_a_discard_waits_in_vain) {
    const fake_device& gpu = fake_device::get({.asynchronous = true});
    buffer b(1 << 16);
    std::ranges::fill(b.write(host), std::byte{1});
    b.read(gpu.where()).release();
    std::byte* const pointer = b.host();
    b.write(gpu.where(), {.count = 64}).release();
    const auto work = std::make_shared<endless>();
    b.read(gpu.where(), {.offset = 1 << 15}).release(fence(work));
    std::fill_n(pointer, 64, std::byte{77});
    const auto conflict = [&] { b.read(gpu.where(), {.count = 64}); };
    EXPECT_EQ(failure_of(conflict).code, error_code::access_conflict);
    set_default_timeout(std::chrono::milliseconds(1));
    EXPECT_EQ(failure_of([&] { b.discard(gpu.where()); }).code, error_code::timeout);
    set_default_timeout(forever);
    EXPECT_EQ(failure_of(conflict).code, error_code::access_conflict);
    work->has_ended = true;
    b.discard(gpu.where());
    EXPECT_EQ(b.read(host)[5], std::byte{77});
}

TEST_F(found_conflicts, are_not_settled_by_a_discard_of_a_third_copy) {
    const space device("debug:0"), third = fake_device::get({}).where();
    buffer b(1 << 16);
    std::ranges::fill(b.write(host), std::byte{1});
    b.read(third).release();
    std::byte* const pointer = b.host();
    b.write(device, {.count = 64})[5] = std::byte{9};
    pointer[5] = std::byte{77};
    const auto conflict = [&] { b.read(device, {.count = 64}); };
    EXPECT_EQ(failure_of(conflict).code, error_code::access_conflict);
    {
        const copy_view held = b.hold_copy(third);
        EXPECT_EQ(failure_of([&] { b.discard(third); }).code, error_code::access_conflict);
    }
    b.discard(third);
    EXPECT_EQ(failure_of([&] { b.placement(third); }).code, error_code::not_allocated);
    EXPECT_EQ(failure_of(conflict).code, error_code::access_conflict);
    b.mark_dirty(device, {.count = 64});
    EXPECT_EQ(b.read(host)[5], std::byte{9});
}

TEST(conflicts, are_none_where_a_copy_between_buffers_writes_beside_a_pointer) {
    const space where("debug:0");
    for (const std::size_t size : {std::size_t{1024}, std::size_t{65536}}) {
        buffer from(40);
        put(from, of(40, 7));
        buffer to(size);
        put(to, of(size, 1));
        std::byte* const pointer = to.host();
        to.read(where).release();
        to.read(where).release();
        bytes expected = of(size, 1);
        std::array<byte_lease, 1> taken;
        const std::array wanted{to.to_write(host, {.offset = 0, .count = 40}).bytes};
        EXPECT_THROW(lease_together(wanted, taken, [] { throw std::bad_alloc(); }), std::bad_alloc);
        pointer[50] = expected[50] = std::byte{9};
        EXPECT_EQ(content(to, where), expected);
        to.copy_from(from, 10);
        std::fill_n(expected.begin() + 10, 40, std::byte{7});
        pointer[60] = expected[60] = std::byte{8};
        EXPECT_EQ(content(to, where), expected);
        EXPECT_EQ(content(to), expected);
    }
}

}  // namespace
}  // namespace unibuf::test::conflict_test
