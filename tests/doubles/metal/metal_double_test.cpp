// tests/doubles/metal/metal_double_test.cpp: what a program does wrong with Metal ends it on the double.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "backends/metal/calls.hpp"
#include "doubles/metal/loaded.hpp"

namespace unibuf::backends::metal {
namespace {

class metal_double_test : public ::testing::Test {
protected:
    metal_double_test() : devices_(api().MTLCopyAllDevices()), device_(object_at(devices_.get(), 0)) {}

    const pool drained_;
    owned devices_;
    id device_;
};

/// Runs in a new process, not in a fork, which cannot use Metal.
class metal_double_deathtest : public metal_double_test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(metal_double_test, gives_back_all_objects) {
    const auto count = [] { return metal_double::loaded()->objects(nullptr); };
    const std::size_t before = count();
    {
        const pool inner;
        const owned queue = new_queue(device_, 8);
        const owned buffer = new_buffer(device_, 64, storage_shared);
        const id commands = command_buffer_on(queue.get());
        const id encoder = blit_encoder(commands);
        fill(encoder, buffer.get(), {0, 64}, 7);
        end_encoding(encoder);
        EXPECT_GT(count(), before + 3);
        commit(commands);
        wait_until_completed(commands);
        EXPECT_EQ(static_cast<unsigned char*>(contents_of(buffer.get()))[63], 7);
    }
    for (int i = 0; i < 1000 && count() != before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(count(), before);
}

TEST_F(metal_double_test, sees_what_the_host_wrote_before_a_commit_and_nothing_later) {
    const owned queue = new_queue(device_, 8);
    const owned event(send<"newSharedEvent", id()>(device_));
    const owned from = new_buffer(device_, 4, storage_shared);
    const owned to = new_buffer(device_, 4, storage_shared);
    std::memset(contents_of(from.get()), 1, 4);
    const id commands = command_buffer_on(queue.get());
    encode_wait(commands, event.get(), 1);
    const id encoder = blit_encoder(commands);
    copy(encoder, from.get(), 0, to.get(), 0, 4);
    end_encoding(encoder);
    std::memset(contents_of(from.get()), 2, 4);
    commit(commands);
    std::memset(contents_of(from.get()), 3, 4);
    send<"setSignaledValue:", void(std::uint64_t)>(event.get(), std::uint64_t{1});
    wait_until_completed(commands);
    EXPECT_EQ(static_cast<unsigned char*>(contents_of(to.get()))[0], 2);
}

TEST_F(metal_double_test, orders_nothing_between_queues) {
    const owned first = new_queue(device_, 8);
    const owned second = new_queue(device_, 8);
    const owned event(send<"newSharedEvent", id()>(device_));
    const id held = command_buffer_on(first.get());
    encode_wait(held, event.get(), 1);
    commit(held);
    const id free = command_buffer_on(second.get());
    commit(free);
    wait_until_completed(free);
    EXPECT_LT(status_of(held), status_completed);
    const id behind = command_buffer_on(first.get());
    encode_signal(behind, event.get(), 2);  // never gets its turn before the event has been signalled
    commit(behind);
    send<"setSignaledValue:", void(std::uint64_t)>(event.get(), std::uint64_t{1});
    wait_until_completed(behind);
    EXPECT_EQ(status_of(held), status_completed);
}

TEST_F(metal_double_test, refuses_pages_that_are_none) {
    alignas(64) static std::byte memory[64];
    EXPECT_FALSE(new_buffer_of(device_, memory + 1, 4096));
    EXPECT_FALSE(new_buffer_of(device_, nullptr, 4096));
    EXPECT_FALSE(new_buffer(device_, longest_buffer_of(device_) + 4, storage_private));
}

TEST_F(metal_double_test, says_what_is_wrong_with_a_kernel) {
    id failure = nullptr;
    EXPECT_FALSE(
        new_library(device_, string_of("kernel void broken(device uint* to [[buffer(0)]]) { to = ; }"), &failure));
    EXPECT_NE(description_of(failure, "").find("error"), std::string::npos);
}

TEST_F(metal_double_deathtest, unknown_messages_end_the_program) {
    EXPECT_DEATH((send<"frobnicate", void()>(device_)), "MTLDevice frobnicate.: unrecognized selector");
}

TEST_F(metal_double_deathtest, objects_without_a_pool_end_the_program) {
    EXPECT_DEATH({ std::thread([this] { name_of(device_); }).join(); }, "without a pool");
}

TEST_F(metal_double_deathtest, released_objects_end_the_program) {
    const id gone = [&] { return new_event(device_).get(); }();
    EXPECT_DEATH((send<"signaledValue", std::uint64_t()>(gone)), "no object, or was one");
}

TEST_F(metal_double_deathtest, encoders_on_two_threads_end_the_program) {
    const owned queue = new_queue(device_, 8);
    EXPECT_DEATH(
        {
            const id encoder = blit_encoder(command_buffer_on(queue.get()));
            std::thread([encoder] { end_encoding(encoder); }).join();
        },
        "used on two threads");
}

TEST_F(metal_double_deathtest, open_encoders_end_the_program) {
    const owned queue = new_queue(device_, 8);
    EXPECT_DEATH(
        {
            const id commands = command_buffer_on(queue.get());
            blit_encoder(commands);
            commit(commands);
        },
        "while an encoder of it is open");
}

TEST_F(metal_double_deathtest, parts_of_words_end_the_program) {
    const owned queue = new_queue(device_, 8);
    const owned buffer = new_buffer(device_, 64, storage_private);
    EXPECT_DEATH(fill(blit_encoder(command_buffer_on(queue.get())), buffer.get(), {2, 8}, 1), "multiples of 4");
}

}  // namespace
}  // namespace unibuf::backends::metal
