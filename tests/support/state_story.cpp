// support/state_story.cpp
#include "support/state_story.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <span>
#include <vector>

namespace unibuf::test {
namespace {

using enum buffer_state;

struct row {
    const char* verb;
    std::function<void(face&)> does;
    buffer_state before;
    buffer_state after;
};

void follow(face& of, const std::vector<row>& rows) {
    for (const row& each : rows) {
        EXPECT_EQ(of.state(), each.before) << "before " << each.verb;
        each.does(of);
        EXPECT_EQ(of.state(), each.after) << "after " << each.verb;
    }
}

auto lease(space where, access what, const access_options& options = {}) {
    return [=](face& of) { of.acquire(where, what, options); };
}

void sync_to_device(face& of) { of.sync_to_device(0, rest); }
void sync_to_host(face& of) { of.sync_to_host(0, rest); }
void mark_host(face& of) { of.mark_host_dirty(0, rest); }
void mark_device(face& of) { of.mark_device_dirty(0, rest); }
void host_to_read(face& of) { of.host_to_read(); }
void device_handle(face& of) { of.device(); }
void fill(face& of) { of.fill(std::array{std::byte{1}}); }
void copy_from(face& of) { of.copy_from(std::array{std::byte{3}}, 7); }

}  // namespace

void follow_states(face& of, space device) {
    follow(of, {{"host for reading", host_to_read, uninitialized, host_only},
                {"host write", lease(host, access::write), host_only, host_dirty},
                {"device", device_handle, host_dirty, synchronized},
                {"host read_write", lease(host, access::read_write), synchronized, host_dirty},
                {"sync to device", sync_to_device, host_dirty, synchronized},
                {"mark device", mark_device, synchronized, device_dirty},
                {"host for reading", host_to_read, device_dirty, synchronized},
                {"mark host", mark_host, synchronized, host_dirty},
                {"device read", lease(device, access::read), host_dirty, synchronized},
                {"copy from", copy_from, synchronized, host_dirty},
                {"device read_write", lease(device, access::read_write), host_dirty, device_dirty},
                {"sync to host", sync_to_host, device_dirty, synchronized},
                {"part at the device", lease(device, access::write, {.count = 9}), synchronized, device_dirty},
                {"part at the host", lease(host, access::write, {.offset = 50}), device_dirty, mixed},
                {"host catches up", sync_to_host, mixed, host_dirty},
                {"device catches up", [&](face& b) { b.prefetch(device, {}); }, host_dirty, synchronized},
                {"device write", lease(device, access::write), synchronized, device_dirty},
                {"fill where the content is", fill, device_dirty, device_dirty},
                {"host read", lease(host, access::read), device_dirty, synchronized},
                {"mark device", mark_device, synchronized, device_dirty}});
}

void follow_stores(face& of) {
    std::byte* pointer = nullptr;
    const auto store = [&](face&) { *pointer = std::byte(std::to_integer<int>(*pointer) + 1); };
    follow(of, {{"host pointer", [&](face& b) { pointer = b.host(); }, uninitialized, host_only},
                {"store", store, host_only, host_dirty},
                {"device", device_handle, host_dirty, synchronized},
                {"store through the old pointer", store, synchronized, host_dirty},
                {"device", device_handle, host_dirty, synchronized},
                {"mark device", mark_device, synchronized, device_dirty},
                {"host for reading", host_to_read, device_dirty, synchronized}});
}

void follow_states_at_the_host(face& of) {
    std::byte* pointer = nullptr;
    const auto store = [&](face&) { *pointer = std::byte{1}; };
    follow(of, {{"host for reading", host_to_read, uninitialized, host_only},
                {"host write", lease(host, access::write), host_only, host_dirty},
                {"sync to device", sync_to_device, host_dirty, synchronized},
                {"mark device", mark_device, synchronized, device_dirty},
                {"host for reading", host_to_read, device_dirty, synchronized},
                {"mark host", mark_host, synchronized, host_dirty},
                {"sync to device", sync_to_device, host_dirty, synchronized},
                {"part at the device", [](face& b) { b.mark_device_dirty(0, 10); }, synchronized, device_dirty},
                {"part at the host", lease(host, access::write, {.offset = 50}), device_dirty, mixed},
                {"host catches up", sync_to_host, mixed, host_dirty},
                {"device catches up", sync_to_device, host_dirty, synchronized},
                {"device pointer", [&](face& b) { pointer = b.device().as<std::byte>(); }, synchronized, synchronized},
                {"store", store, synchronized, host_dirty},  // one memory: a host write
                {"device", device_handle, host_dirty, synchronized},
                {"mark device", mark_device, synchronized, device_dirty}});
    EXPECT_EQ(of.bytes_moved(), 0u);
}

}  // namespace unibuf::test
