// tests/contract/opencl_fixture.hpp: what the tests of OpenCL share.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>

#include "backends/opencl/api.hpp"
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

}  // namespace unibuf::contract
