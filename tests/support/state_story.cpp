// support/state_story.cpp
#include "support/state_story.hpp"

#include <gtest/gtest.h>

#include <array>

namespace unibuf::test {
namespace {

using enum buffer_state;

enum class story { with_a_device, with_stores, at_the_host };
using enum story;

struct player {
    face& of;
    space device;
    std::byte* pointer = nullptr;  // pointer that store() writes through

    void read_at_host() { of.acquire(host, access::read, {}); }
    void write_at_host() { of.acquire(host, access::write, {}); }
    void read_write_at_host() { of.acquire(host, access::read_write, {}); }
    void write_part_at_host() { of.acquire(host, access::write, {.offset = 50}); }
    void read_at_device() { of.acquire(device, access::read, {}); }
    void write_at_device() { of.acquire(device, access::write, {}); }
    void read_write_at_device() { of.acquire(device, access::read_write, {}); }
    void write_part_at_device() { of.acquire(device, access::write, {.count = 9}); }
    void have_host() { pointer = of.host(); }
    void have_host_to_read() { of.host_to_read(); }
    void have_device() {
        const native_memory found = of.device();
        if (device == host) pointer = found.as<std::byte>();
    }
    void store() { *pointer = std::byte(std::to_integer<int>(*pointer) + 1); }
    void sync_to_host() { of.sync_to_host(0, rest); }
    void sync_to_device() { of.sync_to_device(0, rest); }
    void prefetch_to_device() { of.prefetch(device, {}); }
    void mark_host() { of.mark_host_dirty(0, rest); }
    void mark_device() { of.mark_device_dirty(0, rest); }
    void mark_part_at_device() { of.mark_device_dirty(0, 10); }
    void fill() { of.fill(std::array{std::byte{1}}); }
    void copy_part_from() { of.copy_from(std::array{std::byte{3}}, 7); }
};

struct step {
    story of;
    const char* verb;
    void (player::*does)();
    buffer_state before;
    buffer_state after;
};

constexpr step steps[] = {
#define UNIBUF_STEP(story, verb, before, after) {story, #verb, &player::verb, before, after},
#include "support/state_story.inc"
#undef UNIBUF_STEP
};

void play(story told, player by) {
    for (const step& each : steps) {
        if (each.of != told) continue;
        EXPECT_EQ(by.of.state(), each.before) << "before " << each.verb;
        (by.*each.does)();
        EXPECT_EQ(by.of.state(), each.after) << "after " << each.verb;
    }
}

}  // namespace

void follow_states(face& of, space device) { play(with_a_device, {of, device}); }

void follow_stores(face& of, space device) { play(with_stores, {of, device}); }

void follow_states_at_the_host(face& of) {
    play(at_the_host, {of, host});
    EXPECT_EQ(of.bytes_moved(), 0u);
}

}  // namespace unibuf::test
