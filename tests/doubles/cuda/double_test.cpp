// tests/doubles/cuda/double_test.cpp: the double finds what it is there to find.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "doubles/cuda/loaded.hpp"

namespace cuda_double::double_test {
namespace {

namespace api = unibuf::backends::cuda;
using api::device_pointer;
using api::result;
using api::stream_handle;

constexpr std::size_t size = 4096;

class double_test : public ::testing::Test {
protected:
    double_test() {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (!loaded()) return;
        api::context_handle context = nullptr;
        EXPECT_EQ(driver_function<result(unsigned)>("cuInit")(0), 0);
        EXPECT_EQ(driver_function<result(api::context_handle*, int)>("cuDevicePrimaryCtxRetain")(&context, 0), 0);
        EXPECT_EQ(driver_function<result(api::context_handle)>("cuCtxPushCurrent")(context), 0);
    }
    ~double_test() override {
        if (!loaded()) return;
        api::context_handle popped = nullptr;
        EXPECT_EQ(driver_function<result(api::context_handle*)>("cuCtxPopCurrent")(&popped), 0);
    }

    void SetUp() override {
        if (!loaded()) GTEST_SKIP() << "a real driver is asked for";
    }

    static stream_handle stream(unsigned flags = api::stream_non_blocking) {
        stream_handle made = nullptr;
        EXPECT_EQ(driver_function<result(stream_handle*, unsigned)>("cuStreamCreate")(&made, flags), 0);
        return made;
    }
    static device_pointer allocate(std::size_t bytes = size) {
        device_pointer made = 0;
        EXPECT_EQ(driver_function<result(device_pointer*, std::size_t)>("cuMemAlloc")(&made, bytes), 0);
        return made;
    }
    static void free(device_pointer address) { driver_function<result(device_pointer)>("cuMemFree")(address); }
    static int set(stream_handle on, device_pointer to, unsigned char value, std::size_t bytes = size) {
        return driver_function<result(device_pointer, unsigned char, std::size_t, stream_handle)>("cuMemsetD8Async")(
            to, value, bytes, on);
    }
    static int get(stream_handle on, device_pointer from, void* to, std::size_t bytes = size) {
        return driver_function<result(void*, device_pointer, std::size_t, stream_handle)>("cuMemcpyDtoHAsync")(
            to, from, bytes, on);
    }
    static void order(stream_handle first, stream_handle second) {
        api::event_handle event = nullptr;
        driver_function<result(api::event_handle*, unsigned)>("cuEventCreate")(&event, 0);
        driver_function<result(api::event_handle, stream_handle)>("cuEventRecord")(event, first);
        driver_function<result(stream_handle, api::event_handle, unsigned)>("cuStreamWaitEvent")(second, event, 0);
        driver_function<result(api::event_handle)>("cuEventDestroy")(event);
    }
    static void wait(stream_handle on) { driver_function<result(stream_handle)>("cuStreamSynchronize")(on); }

    static std::vector<unsigned char> contents(stream_handle on, device_pointer from) {
        std::vector<unsigned char> got(size);
        EXPECT_EQ(get(on, from, got.data()), 0);
        return got;
    }
};

TEST_F(double_test, keeps_what_is_in_order) {
    const stream_handle first = stream();
    const stream_handle second = stream();
    const device_pointer memory = allocate();
    for (unsigned char i = 0; i < 20; ++i) {
        set(first, memory, i);
        order(first, second);
        EXPECT_EQ(contents(second, memory), std::vector<unsigned char>(size, i));
    }
    wait(second);
    set(first, memory, 1);
    wait(first);
    EXPECT_EQ(contents(second, memory), std::vector<unsigned char>(size, 1));
    free(memory);
}

TEST_F(double_test, orders_the_legacy_stream_with_blocking_ones) {
    const stream_handle blocking = stream(0);
    const device_pointer memory = allocate();
    for (unsigned char i = 0; i < 20; ++i) {
        set(blocking, memory, i);
        set(nullptr, memory + size / 2, i, size / 2);
        set(api::per_thread_stream, memory, i, 10);
        EXPECT_EQ(contents(nullptr, memory), std::vector<unsigned char>(size, i));
    }
    free(memory);
    EXPECT_DEATH(
        {
            const device_pointer other = allocate();
            set(stream(), other, 1);
            set(nullptr, other, 2);
        },
        "missing order: cuMemsetD8Async");
}

TEST_F(double_test, finds_missing_order) {
    const auto after = [](bool first_writes, bool second_writes, std::size_t offset) {
        const device_pointer memory = allocate();
        const auto touch = [&](bool writes, std::size_t at) {
            const touched what{memory + at, 100, writes};
            EXPECT_EQ(loaded()->launch(stream(), [](void*) {}, nullptr, &what, 1), 0);
        };
        touch(first_writes, 0);
        touch(second_writes, offset);
    };
    EXPECT_DEATH(after(true, true, 99), "missing order: .* writes bytes \\[99, 199\\).* writes bytes \\[0, 100\\)");
    EXPECT_DEATH(after(true, false, 0), "missing order: .* reads .* writes");
    EXPECT_DEATH(after(false, true, 50), "missing order: .* writes .* reads");
    after(true, true, 100);
    after(false, false, 10);
}

TEST_F(double_test, finds_use_after_free) {
    EXPECT_DEATH(
        {
            const device_pointer memory = allocate();
            free(memory);
            set(nullptr, memory, 1);
        },
        "that memory was freed");
    EXPECT_DEATH(
        {
            const device_pointer memory = allocate();
            free(memory);
            free(memory);
        },
        "cuMemFree of memory that was freed");
    EXPECT_DEATH(
        {
            const device_pointer memory = allocate();
            set(stream(), memory, 1);
            driver_function<result(device_pointer, stream_handle)>("cuMemFreeAsync")(memory, stream());
        },
        "missing order: cuMemFreeAsync");
}

TEST_F(double_test, keeps_the_host_off_device_memory) {
    EXPECT_DEATH(std::memset(reinterpret_cast<void*>(allocate()), 0, 1), "");
}

TEST_F(double_test, finds_contexts_that_were_not_popped) { EXPECT_DEATH(std::exit(0), "pushed and not popped"); }

TEST_F(double_test, finds_streams_that_are_gone_or_of_another_context) {
    EXPECT_DEATH(
        {
            const stream_handle gone = stream();
            driver_function<result(stream_handle)>("cuStreamDestroy")(gone);
            wait(gone);
        },
        "a stream that was destroyed");
    EXPECT_DEATH(
        {
            const stream_handle mine = stream();
            api::context_handle other = nullptr;
            driver_function<result(api::context_handle*, int)>("cuDevicePrimaryCtxRetain")(&other, 1);
            driver_function<result(api::context_handle)>("cuCtxPushCurrent")(other);
            wait(mine);
        },
        "belongs to another context");
}

TEST_F(double_test, finds_memory_unpinned_too_early) {
    EXPECT_DEATH(driver_function<result(void*)>("cuMemHostUnregister")(this), "not the begin of registered memory");
    EXPECT_DEATH(
        {
            std::vector<char> host(3 * size);
            const stream_handle on = stream();
            driver_function<result(void*, std::size_t, unsigned)>("cuMemHostRegister")(host.data(), host.size(), 0);
            get(on, allocate(), host.data());
            driver_function<result(void*)>("cuMemHostUnregister")(host.data());
        },
        "missing order: cuMemHostUnregister");
}

TEST_F(double_test, refuses_as_the_driver_does) {
    std::vector<char> host(3 * size);
    auto* const pin = driver_function<result(void*, std::size_t, unsigned)>("cuMemHostRegister");
    EXPECT_EQ(pin(host.data(), host.size(), 0), 0);
    EXPECT_EQ(pin(host.data() + size, size, 0), api::host_memory_already_registered);
    EXPECT_EQ(driver_function<result(void*)>("cuMemHostUnregister")(host.data()), 0);
    EXPECT_EQ(set(nullptr, 12345, 1), api::invalid_value);
    const device_pointer memory = allocate();
    EXPECT_EQ(set(nullptr, memory + 1, 1), api::invalid_value);  // one byte too many
    free(memory);
    EXPECT_EQ(driver_function<result(device_pointer*, std::size_t)>("cuMemAlloc")(nullptr, std::size_t{1} << 50),
              api::out_of_memory);
    api::context_handle current = nullptr;
    driver_function<result(api::context_handle*)>("cuCtxPopCurrent")(&current);
    EXPECT_EQ(set(nullptr, memory, 1), api::invalid_context);
    driver_function<result(api::context_handle)>("cuCtxPushCurrent")(current);
}

}  // namespace
}  // namespace cuda_double::double_test
