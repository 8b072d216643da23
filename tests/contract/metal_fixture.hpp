// tests/contract/metal_fixture.hpp: what the tests of Metal share.
#pragma once

#include <gtest/gtest.h>

#include "backends/metal/calls.hpp"
#include "contract/contract.hpp"
#include "doubles/metal/loaded.hpp"
#include "unibuf/metal.hpp"

namespace unibuf::contract {

namespace mtl = backends::metal;

/// Finds metal:0, or skips the test.
class on_metal : public ::testing::Test {
protected:
    void SetUp() override {
        try {
            where_ = space("metal:0");
        } catch (const error& missing) {
            GTEST_SKIP() << missing.what();
        }
    }

    backends::device& device() const { return backends::device_of(where_); }
    mtl::id native() const { return metal::handles_of(where_).device; }

    space where_;
};

/// Finds metal:0 of the double, or skips the test.
class on_the_metal_double : public on_metal {
protected:
    void SetUp() override {
        if (!metal_double::loaded()) GTEST_SKIP() << "Metal is a real one";
        on_metal::SetUp();
        control().reset();
    }
    void TearDown() override {
        if (metal_double::loaded()) control().reset();
    }

    static const metal_double::control& control() { return *metal_double::loaded(); }
};

/// A queue of the program's own, on which all waits until it is opened, or goes.
class held_metal_queue final : public held_queue {
public:
    explicit held_metal_queue(space where)
        : queue_(mtl::new_queue(metal::handles_of(where).device, 256)),
          event_(mtl::send<"newSharedEvent", mtl::id()>(metal::handles_of(where).device)) {
        const mtl::pool drained;
        const mtl::id commands = mtl::command_buffer_on(native());
        mtl::encode_wait(commands, event_.get(), 1);
        mtl::commit(commands);
    }
    ~held_metal_queue() override { open(); }
    held_metal_queue(const held_metal_queue&) = delete;
    held_metal_queue& operator=(const held_metal_queue&) = delete;

    mtl::id native() const { return queue_.get(); }
    queue name() const override { return metal::queue_of(native()); }

    /// Fills whole words, as macOS wants it: nothing else is behind the last byte.
    void set(const native_memory& to, std::byte value) override {
        const mtl::pool drained;
        const mtl::id commands = mtl::command_buffer_on(native());
        const mtl::id encoder = mtl::blit_encoder(commands);
        mtl::fill(encoder, metal::memory(to), {to.offset, (to.bytes + 3) / 4 * 4},
                  std::to_integer<std::uint8_t>(value));
        mtl::end_encoding(encoder);
        mtl::commit(commands);
    }
    void open() override { mtl::send<"setSignaledValue:", void(std::uint64_t)>(event_.get(), std::uint64_t{1}); }

private:
    mtl::owned queue_;
    mtl::owned event_;
};

}  // namespace unibuf::contract
