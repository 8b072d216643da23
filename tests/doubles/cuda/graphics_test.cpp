// tests/doubles/cuda/graphics_test.cpp: buffer objects of OpenGL: who may touch them when.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "backends/opengl/api.hpp"
#include "backends/opengl/egl.hpp"
#include "contract/callers_context.hpp"
#include "doubles/cuda/loaded.hpp"

namespace cuda_double::graphics_test {
namespace {

namespace api = unibuf::backends::cuda;
using api::device_pointer;
using api::result;

constexpr std::size_t size = 4096;

class graphics_test : public ::testing::Test {
protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (!loaded()) GTEST_SKIP() << "a real driver is asked for";
        if (!unibuf::backends::egl::get().why().empty()) GTEST_SKIP() << unibuf::backends::egl::get().why();
        try {
            opengl_.emplace();
        } catch (const std::exception& missing) {
            GTEST_SKIP() << missing.what();
        }
        ASSERT_EQ(gl_.load(&unibuf::backends::egl::function), "");
        gl_.create_buffers(1, &buffer_);
        const std::vector<unsigned char> content(size, 7);
        gl_.buffer_storage(buffer_, size, content.data(), unibuf::backends::gl::dynamic_storage);

        api::context_handle context = nullptr;
        call<result(unsigned)>("cuInit", 0u);
        call<result(api::context_handle*, int)>("cuDevicePrimaryCtxRetain", &context, 0);
        call<result(api::context_handle)>("cuCtxPushCurrent", context);
        pushed_ = true;
        ASSERT_EQ((call<result(api::resource_handle*, unsigned, unsigned)>("cuGraphicsGLRegisterBuffer", &made_,
                                                                           buffer_, 0u)),
                  0);
    }
    void TearDown() override {
        api::context_handle popped = nullptr;
        if (pushed_) call<result(api::context_handle*)>("cuCtxPopCurrent", &popped);
    }

    template <class Function, class... Arguments>
    static int call(const char* name, Arguments... arguments) {
        return driver_function<Function>(name)(arguments...);
    }

    using on_resources = result(unsigned, api::resource_handle*, api::stream_handle);
    int map() { return call<on_resources>("cuGraphicsMapResources", 1u, &made_, nullptr); }
    int unmap() { return call<on_resources>("cuGraphicsUnmapResources", 1u, &made_, nullptr); }
    int unregister() { return call<result(api::resource_handle)>("cuGraphicsUnregisterResource", made_); }
    int find(device_pointer& address) const {
        std::size_t bytes = 0;
        return call<result(device_pointer*, std::size_t*, api::resource_handle)>("cuGraphicsResourceGetMappedPointer",
                                                                                 &address, &bytes, made_);
    }
    static int set(device_pointer at, unsigned char value) {
        return call<result(device_pointer, unsigned char, std::size_t, api::stream_handle)>("cuMemsetD8Async", at,
                                                                                            value, size, nullptr);
    }
    unsigned char first() const {
        unsigned char got = 0;
        gl_.get_buffer_sub_data(buffer_, 0, 1, &got);
        return got;
    }

    std::optional<unibuf::contract::callers_context> opengl_;
    unibuf::backends::gl_api gl_;
    unsigned buffer_ = 0;
    api::resource_handle made_ = nullptr;
    bool pushed_ = false;
};

TEST_F(graphics_test, carries_bytes_to_and_fro) {
    device_pointer before = 0;
    for (unsigned char value = 7; value < 10; ++value) {
        EXPECT_EQ(first(), value);
        ASSERT_EQ(map(), 0);
        EXPECT_NE(first(), value);
        device_pointer address = 0;
        ASSERT_EQ(find(address), 0);
        EXPECT_NE(address, before);
        EXPECT_EQ(*loaded()->address(address), std::byte{value});
        EXPECT_EQ(set(address, static_cast<unsigned char>(value + 1)), 0);
        ASSERT_EQ(unmap(), 0);
        before = address;
    }
    EXPECT_EQ(first(), 10);
    EXPECT_EQ(unregister(), 0);
}

TEST_F(graphics_test, answers_as_a_driver_does) {
    device_pointer address = 0;
    EXPECT_EQ(find(address), 211);
    EXPECT_EQ(unmap(), 211);
    EXPECT_EQ(map(), 0);
    EXPECT_EQ(map(), 208);
    opengl_->release();
    EXPECT_EQ(unmap(), api::invalid_graphics_context);
    int device = 0;
    unsigned count = 0;
    EXPECT_EQ((call<result(unsigned*, int*, unsigned, int)>("cuGLGetDevices", &count, &device, 1u, 1)),
              api::invalid_graphics_context);
    opengl_->make_current();
    EXPECT_EQ((call<result(unsigned*, int*, unsigned, int)>("cuGLGetDevices", &count, &device, 1u, 1)), 0);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(unmap(), 0);
    EXPECT_EQ(unregister(), 0);
}

TEST_F(graphics_test, ends_a_program_that_touches_the_buffer_out_of_turn) {
    device_pointer address = 0;
    ASSERT_EQ(map(), 0);
    ASSERT_EQ(find(address), 0);
    EXPECT_DEATH(
        {
            const unsigned char one = 1;
            gl_.buffer_sub_data(buffer_, 0, 1, &one);
            unmap();
        },
        "OpenGL has written");
    EXPECT_DEATH(unregister(), "is mapped");
    ASSERT_EQ(unmap(), 0);
    EXPECT_DEATH(set(address, 1), "was freed");
    ASSERT_EQ(unregister(), 0);
    EXPECT_DEATH(map(), "was unregistered");
}

}  // namespace
}  // namespace cuda_double::graphics_test
