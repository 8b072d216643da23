// tests/contract/opencl_fixture.hpp: what the tests of OpenCL share.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>

#include "backends/opencl/api.hpp"
#include "backends/opencl/event.hpp"
#include "system/loader.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::contract {

/// Throws std::runtime_error where a call has failed that a test makes itself.
inline void ok(backends::cl::cl_int status) {
    if (status != backends::cl::success) throw std::runtime_error(backends::cl::name_of(status));
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

}  // namespace unibuf::contract
