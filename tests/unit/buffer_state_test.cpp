// tests/unit/buffer_state_test.cpp: states move as told, also where the default device is the host.
#include <functional>
#include <utility>

#include "support/state_story.hpp"
#include "tracking/watch.hpp"
#include "unit/common.hpp"

namespace unibuf::test::buffer_state_test {
namespace {

using enum buffer_state;

struct row {
    const char* what;
    std::function<void(buffer&)> does;
    buffer_state then;
};

void follow(buffer& b, const std::vector<row>& rows) {
    EXPECT_EQ(b.state(), uninitialized);
    for (const row& each : rows) {
        each.does(b);
        EXPECT_EQ(b.state(), each.then) << each.what;
    }
}

TEST(buffer_states, move_as_told_in_every_language) {
    const space device("debug:0");
    const default_device_is device_is_default(device);
    for (const auto make : {face_of_cpp, face_of_c}) {
        for (const bool pooled : {false, true}) {
            follow_states(*make(100, {}, pooled), device);
            follow_stores(*make(100, {}, pooled), device);
        }
    }
}

TEST(buffer_states, move_where_the_default_device_is_the_host) {
    const default_device_is host_is_default(host);
    for (const auto make : {face_of_cpp, face_of_c}) follow_states_at_the_host(*make(100, {}, false));
}

TEST(buffer_states, move_where_copies_and_content_are_discarded) {
    const space device("debug:0");
    const default_device_is device_is_default(device);
    buffer b(100);
    follow(b, {{"device", [](buffer& of) { of.device(); }, device_only},
               {"host read", [](buffer& of) { of.read(host).release(); }, synchronized},
               {"discard host", [](buffer& of) { of.discard(host); }, device_only},
               {"mark device", [](buffer& of) { of.mark_device_dirty(); }, device_dirty},
               {"host read", [](buffer& of) { of.read(host).release(); }, synchronized},
               {"discard device", [&](buffer& of) { of.release_device(), of.discard(device); }, host_only},
               {"fill", [](buffer& of) { of.fill(noise(4)); }, host_dirty},
               {"discard content", [](buffer& of) { of.discard_content(); }, host_only},
               {"host pointer", [&](buffer& of) { of.host(); }, host_only}});
}

TEST(buffer_states, move_with_a_pointer_out_where_the_default_device_is_the_host) {
    const default_device_is host_is_default(host);
    for (const std::size_t count : {std::size_t{100}, std::size_t{100000}}) {
        if (count > 4096 && !tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
        buffer b(count);
        std::byte* const pointer = b.host();
        const auto write = [&](buffer&) { pointer[50] = std::byte(std::to_integer<int>(pointer[50]) + 1); };
        const std::vector<row> rows = {{"write", write, host_dirty},
                                       {"sync", [](buffer& of) { of.sync_to_device(); }, synchronized},
                                       {"write", write, host_dirty},
                                       {"mark device", [](buffer& of) { of.mark_device_dirty(); }, device_dirty},
                                       {"host", [](buffer& of) { of.host(); }, synchronized},
                                       {"write", write, host_dirty},
                                       {"mark device", [](buffer& of) { of.mark_device_dirty(); }, device_dirty},
                                       {"view", [](buffer& of) { of.host_view(); }, synchronized},
                                       {"write", write, host_dirty}};
        for (const row& each : rows) {
            each.does(b);
            EXPECT_EQ(b.state(), each.then) << each.what << " of " << count;
        }
    }
}

TEST(buffer_states, stay_where_a_pointer_is_all_that_was_asked_for) {
    for (const space device : {space(host), space("debug:0")}) {
        const default_device_is it(device);
        buffer b(100);
        b.write(host).release();
        b.sync_to_device();
        b.host_view();
        EXPECT_EQ(b.state(), synchronized);
        b.mark_device_dirty();
        b.sync_to_host();
        b.host();
        EXPECT_EQ(b.state(), synchronized);
    }
}

TEST(buffer_states, say_where_access_costs_a_check) {
    const space device("debug:0");
    const default_device_is device_is_default(device);
    buffer b(100);
    EXPECT_FALSE(b.is_current_at(host));
    b.write(host).release();
    EXPECT_TRUE(b.is_current_at(host));
    EXPECT_FALSE(b.is_current_at(device));
    b.sync_to_device();
    EXPECT_TRUE(b.is_current_at(host));
    EXPECT_FALSE(b.is_current_at(device)) << "the first use of what has come is noted";
    b.read(device).release();
    EXPECT_TRUE(b.is_current_at(device));
    {
        const auto lease = b.read(device);
        EXPECT_FALSE(b.is_current_at(host));
    }
    EXPECT_FALSE(b.is_newest_at(host));
    b.mark_device_dirty();
    EXPECT_FALSE(b.is_current_at(host));
    EXPECT_TRUE(b.is_current_at(device));
    EXPECT_TRUE(b.is_newest_at(device));
    EXPECT_FALSE(b.is_newest_at(host));
    b.mark_host_dirty();
    EXPECT_TRUE(b.is_newest_at(host));
    EXPECT_FALSE(b.is_newest_at(device));
    b.sync_to_device();
    b.host()[0] = std::byte{1};
    EXPECT_FALSE(b.is_current_at(device));
    b.release_host();
    b.sync_to_device();
    b.read(device).release();
    EXPECT_TRUE(b.is_current_at(device));
}

TEST(buffer_states, have_no_byte_copied_where_the_default_device_is_the_host) {
    const default_device_is host_is_default(host);
    buffer b(100);
    put(b, noise(100));
    for (int i = 0; i < 3; ++i) {
        const native_memory there = b.device();
        EXPECT_EQ(there.where, host);
        EXPECT_EQ(there.as<std::byte>(), b.host());
        EXPECT_EQ(there.bytes, 100u);
        EXPECT_EQ(b.view(10, 5).device().as<std::byte>(), b.host() + 10);
    }
    EXPECT_EQ(memory_in(b.device().where).held, memory_in_all().held) << "one memory, not two";
    b.device().as<std::byte>()[3] = std::byte{33};
    EXPECT_EQ(content(b)[3], std::byte{33});
    EXPECT_EQ(b.statistics().bytes_moved(), 0u);
    EXPECT_TRUE(same(content(b, space("debug:0")), content(b)));
}

TEST(buffer_states, name_the_host_each_time_the_default_device_is_it) {
    const default_device_is host_is_default(host);
    buffer output(100, {.access = host_access::read_only});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(output.device().where, host);
    buffer synced(100);
    put(synced, noise(100));
    synced.sync_to_device();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(synced.device().where, host);
}

/// A program for any device leases "the device", which may do everything; on machines without one that is the host.
TEST(buffer_states, keep_a_host_in_the_place_of_a_device_from_nothing) {
    const auto use = [](buffer& of) {
        put(of, noise(100));
        EXPECT_TRUE(same(content(of), noise(100)));
        of.read_write(host).release();
        of.prefetch(host);
        of.sync_to_host();
        bytes out(100);
        of.copy_to(out);
        EXPECT_TRUE(same(out, noise(100)));
        EXPECT_TRUE(same(bytes(std::as_const(of).host(), std::as_const(of).host() + 100), noise(100)));
        EXPECT_EQ(of.host_view().data(), std::as_const(of).host());
    };
    for (const host_access mode : {host_access::read_only, host_access::write_only}) {
        buffer named(100, {.access = mode, .device = host});
        use(named);
        const default_device_is host_is_default(host);
        buffer meant(100, {.access = mode});
        use(meant);
    }
}

TEST(buffer_state, says_that_the_default_device_is_the_host) {
    buffer mine(4096, {.device = host});
    static_cast<void>(mine.device());
    EXPECT_EQ(mine.placement(host_as_device).reason, "the default device is the host");
    EXPECT_NE(mine.placement(host).reason, "the default device is the host");
}

/// The default device is the host, so its pointer is a pointer of the host: writes through it are found.
TEST(buffer_states, find_writes_through_the_device_where_it_is_the_host) {
    const default_device_is host_is_default(host);
    const space other("debug:0");
    buffer b(100);
    put(b, noise(100));
    b.sync_to_device();
    std::byte* const p = b.device().as<std::byte>();
    EXPECT_TRUE(same(content(b, other), noise(100)));
    p[5] = std::byte{55};
    EXPECT_EQ(content(b, other)[5], std::byte{55});
}

TEST(buffer_states, follow_the_default_device_of_the_moment) {
    const space other("debug:0");
    buffer b(100);
    put(b, noise(100));
    {
        const default_device_is host_is_default(host);
        EXPECT_EQ(b.device().where, host);
        b.mark_device_dirty();
        EXPECT_EQ(b.state(), device_dirty);
    }
    const default_device_is other_is_default(other);
    EXPECT_EQ(b.device().where, other);
    EXPECT_TRUE(same({b.device().as<std::byte>(), 100}, noise(100)));
    b.mark_device_dirty();
    set_default_device(host);
    EXPECT_EQ(b.device().where, host);
    EXPECT_TRUE(same({b.device().as<std::byte>(), 100}, noise(100)));
    // 100 of these bytes moved because the host's pointer was out while the host was the default device: then nobody
    // knows what is written.
    EXPECT_EQ(b.statistics().bytes_moved(), 300u);
}

}  // namespace
}  // namespace unibuf::test::buffer_state_test
