// tests/contract/opengl_fixture.hpp: the functions that the tests of OpenGL share.
#pragma once

#include "backends/opengl/api.hpp"
#include "backends/opengl/device.hpp"
#include "contract/contract.hpp"
#include "unibuf/opengl.hpp"

namespace unibuf::contract {

namespace gl = backends::gl;

/// Finds a function of OpenGL that unibuf does not use.
template <class Function>
Function* find(space where, const char* name) {
    return reinterpret_cast<Function*>(opengl::function(where, name));
}

/// Doubles the floats of a buffer, in a compute shader, on the context of `where`. Uses no barriers or fences: those
/// are for unibuf.
void double_on_device(space where, std::uint32_t buffer, std::size_t count);

inline backends::gl_device& gl_device_of(space where) {
    return dynamic_cast<backends::gl_device&>(backends::device_of(where));
}

/// Tests on unibuf's own context.
class opengl_test : public ::testing::Test {
protected:
    void SetUp() override {
        try {
            where_ = space("opengl:0");
        } catch (const error& missing) {
            GTEST_SKIP() << missing.what();
        }
    }

    backends::device& device() const { return backends::device_of(where_); }
    const backends::gl_api& api() const { return gl_device_of(where_).context().gl(); }

    unsigned gl_error() const {
        unsigned result = 0;
        opengl::run(where_, [&] { result = api().get_error(); });
        return result;
    }

    space where_;
};

}  // namespace unibuf::contract
