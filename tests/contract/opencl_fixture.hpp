// tests/contract/opencl_fixture.hpp: what the tests of OpenCL share.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "backends/opencl/api.hpp"
#include "backends/opencl/event.hpp"
#include "backends/spaces.hpp"
#include "contract/contract.hpp"
#include "system/loader.hpp"
#include "unibuf/error.hpp"
#include "unibuf/opencl.hpp"
#include "unibuf/space.hpp"

namespace unibuf::contract {

/// Throws std::runtime_error where a call has failed that a test makes itself.
inline void ok(backends::cl::cl_int status) {
    if (status != backends::cl::success) throw std::runtime_error(backends::cl::name_of(status));
}

inline backends::cl::cl_command_queue made_queue(backends::cl::cl_context in, backends::cl::cl_device_id on,
                                                 backends::cl::cl_bitfield properties) {
    backends::cl::cl_int status = backends::cl::success;
    const backends::cl::cl_command_queue made = backends::cl::api().clCreateCommandQueue(in, on, properties, &status);
    ok(status);
    return made;
}

/// Finds opencl:0, or skips the test.
class on_opencl : public ::testing::Test {
protected:
    void SetUp() override {
        try {
            where_ = space("opencl:0");
        } catch (const error& missing) {
            GTEST_SKIP() << missing.what();
        }
    }

    backends::device& device() const { return backends::device_of(where_); }
    backends::cl::cl_context context() const { return opencl::handles_of(where_).context; }

    /// Makes a second queue of the space's own context, and names it, as each access of a buffer does first.
    backends::cl::cl_command_queue new_queue(backends::cl::cl_bitfield properties = 0) const {
        const opencl::handles known = opencl::handles_of(where_);
        const backends::cl::cl_command_queue made = made_queue(known.context, known.device, properties);
        device().identify(opencl::queue_of(made));
        return made;
    }

    space where_;
};

/// Events that the caller completes.
class user_events {
public:
    user_events() {
        const system::library opencl({"libOpenCL.so.1"});
        opencl.find("clCreateUserEvent", create_);
        opencl.find("clSetUserEventStatus", set_);
    }

    backends::cl::event make(backends::cl::cl_context context) const {
        backends::cl::event made;
        backends::cl::cl_int status = backends::cl::success;
        *made.out() = create_(context, &status);
        ok(status);
        return made;
    }
    void set(backends::cl::cl_event event, backends::cl::cl_int status) const { ok(set_(event, status)); }

private:
    backends::cl::cl_event (*create_)(backends::cl::cl_context, backends::cl::cl_int*) = nullptr;
    backends::cl::cl_int (*set_)(backends::cl::cl_event, backends::cl::cl_int) = nullptr;
};

/// Holds back all later work on a queue until it is opened, or goes.
class gate {
public:
    gate(backends::cl::cl_context context, backends::cl::cl_command_queue queue) : event_(events_.make(context)) {
        ok(backends::cl::api().clEnqueueBarrierWithWaitList(queue, 1, &event_.native(), nullptr));
        ok(backends::cl::api().clFlush(queue));
    }
    ~gate() { open(); }
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;

    void open() {
        if (!opened_) events_.set(event_.native(), backends::cl::complete);
        opened_ = true;
    }

private:
    user_events events_;
    backends::cl::event event_;
    bool opened_ = false;
};

/// A context as a program would make it, which it releases at the end.
class callers_own {
public:
    callers_own() : device_(opencl::handles_of("opencl:0").device) {
        backends::cl::cl_int status = backends::cl::success;
        context_ = backends::cl::api().clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
        ok(status);
    }
    ~callers_own() {
        for (const backends::cl::cl_command_queue each : queues_) backends::cl::api().clReleaseCommandQueue(each);
        backends::cl::api().clReleaseContext(context_);
    }
    callers_own(const callers_own&) = delete;
    callers_own& operator=(const callers_own&) = delete;

    backends::cl::cl_context context() const { return context_; }
    backends::cl::cl_device_id device() const { return device_; }

    backends::cl::cl_command_queue queue(backends::cl::cl_bitfield properties = 0) {
        return queues_.emplace_back(made_queue(context_, device_, properties));
    }

private:
    backends::cl::cl_device_id device_;
    backends::cl::cl_context context_;
    std::vector<backends::cl::cl_command_queue> queues_;
};

/// Returns a space of a context that the caller has released since. It may end where a test takes all spaces there are.
inline space adopted_opencl() {
    static std::optional<space> known;
    const auto has_ended = [] {
        try {
            opencl::handles_of(*known);
            return false;
        } catch (const error&) {
            return true;
        }
    };
    if (known && !has_ended()) return *known;
    callers_own mine;
    known = opencl::use(mine.context(), mine.device(), mine.queue());
    return *known;
}

class held_opencl_queue final : public held_queue {
public:
    held_opencl_queue(space where, backends::cl::cl_bitfield properties)
        : made_(made_queue(opencl::handles_of(where).context, opencl::handles_of(where).device, properties)),
          closed_(opencl::handles_of(where).context, made_) {}
    ~held_opencl_queue() override {
        closed_.open();
        backends::cl::api().clReleaseCommandQueue(made_);
    }
    held_opencl_queue(const held_opencl_queue&) = delete;
    held_opencl_queue& operator=(const held_opencl_queue&) = delete;

    queue name() const override { return opencl::queue_of(made_); }
    void set(const native_memory& to, std::byte value) override {
        ok(backends::cl::api().clEnqueueFillBuffer(made_, opencl::memory(to), &value, 1, to.offset, to.bytes, 0,
                                                   nullptr, nullptr));
        ok(backends::cl::api().clFlush(made_));
    }
    void open() override { closed_.open(); }

private:
    backends::cl::cl_command_queue made_;
    gate closed_;
};

inline constexpr const char* no_unordered_queues = "the device has no out-of-order queues";

inline bool has_unordered_queues(backends::cl::cl_device_id device) {
    constexpr backends::cl::cl_uint queue_properties_on_host = 0x102A;
    backends::cl::cl_bitfield can = 0;
    ok(backends::cl::api().clGetDeviceInfo(device, queue_properties_on_host, sizeof can, &can, nullptr));
    return (can & backends::cl::queue_out_of_order) != 0;
}

class opencl_queues : public on_opencl {
protected:
    void TearDown() override {
        for (const backends::cl::cl_command_queue each : made_) backends::cl::api().clReleaseCommandQueue(each);
    }

    /// Makes a queue that goes with the test.
    backends::cl::cl_command_queue a_queue(backends::cl::cl_bitfield properties = 0) {
        return made_.emplace_back(new_queue(properties));
    }

private:
    std::vector<backends::cl::cl_command_queue> made_;
};

}  // namespace unibuf::contract
