// tests/contract/cuda/fixture.hpp: the functions that the tests of CUDA share, and the program's own streams.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "contract/contract.hpp"
#include "doubles/cuda/loaded.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/cuda.hpp"

namespace unibuf::contract {

namespace driver = backends::cuda;
using driver::device_pointer;
using driver::stream_handle;

inline void ok(driver::result status) {
    if (status != driver::success) throw std::runtime_error("the driver answered " + std::to_string(status));
}

/// The program's side. Its context is current while this exists, and its streams go with it.
class program {
public:
    explicit program(space where = "cuda:0") { ok(push_(cuda::handles_of(where).context)); }
    ~program() {
        for (const stream_handle each : streams_) destroy_(each);
        driver::context_handle popped = nullptr;
        pop_(&popped);
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    stream_handle stream(unsigned flags = driver::stream_non_blocking) {
        stream_handle made = nullptr;
        ok(create_(&made, flags));
        streams_.push_back(made);
        return made;
    }

    /// Destroys a stream. Its work goes on.
    void destroy(stream_handle stream) {
        ok(destroy_(stream));
        std::erase(streams_, stream);
    }

    /// These do the work of kernels.
    void set(stream_handle on, device_pointer to, unsigned char value, std::size_t count) const {
        ok(set_(to, value, count, on));
    }
    void copy(stream_handle on, device_pointer to, device_pointer from, std::size_t count) const {
        ok(copy_(to, from, count, on));
    }
    void call(stream_handle on, void (*function)(void*), void* data) const { ok(call_(on, function, data)); }

private:
    template <class Function>
    static Function* find(const char* name) {
        return cuda_double::driver_function<Function>(name);
    }

    std::vector<stream_handle> streams_;
    driver::result (*push_)(driver::context_handle) = find<driver::result(driver::context_handle)>("cuCtxPushCurrent");
    driver::result (*pop_)(driver::context_handle*) = find<driver::result(driver::context_handle*)>("cuCtxPopCurrent");
    driver::result (*create_)(stream_handle*,
                              unsigned) = find<driver::result(stream_handle*, unsigned)>("cuStreamCreate");
    driver::result (*destroy_)(stream_handle) = find<driver::result(stream_handle)>("cuStreamDestroy");
    driver::result (*set_)(device_pointer, unsigned char, std::size_t, stream_handle) =
        find<driver::result(device_pointer, unsigned char, std::size_t, stream_handle)>("cuMemsetD8Async");
    driver::result (*copy_)(device_pointer, device_pointer, std::size_t, stream_handle) =
        find<driver::result(device_pointer, device_pointer, std::size_t, stream_handle)>("cuMemcpyDtoDAsync");
    driver::result (*call_)(stream_handle, void (*)(void*),
                            void*) = find<driver::result(stream_handle, void (*)(void*), void*)>("cuLaunchHostFunc");
};

/// Holds back all later work on a stream until it is opened, or goes.
class gate {
public:
    gate(const program& by, stream_handle on) {
        by.call(on, [](void* self) { static_cast<gate*>(self)->pass(); }, this);
    }
    ~gate() {
        open();
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return passed_; });
    }
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;

    void open() {
        const std::scoped_lock lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    void pass() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
        passed_ = true;
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
    bool passed_ = false;
};

/// What was captured, to be launched.
class graph {
public:
    explicit graph(void* captured) {
        const driver::result status = make_(&made_, captured, 0);
        forget_(captured);
        ok(status);
    }
    ~graph() { destroy_(made_); }
    graph(const graph&) = delete;
    graph& operator=(const graph&) = delete;

    void launch(stream_handle on) const { ok(launch_(made_, on)); }

private:
    void* made_ = nullptr;
    driver::result (*make_)(void**, void*, unsigned long long) =
        cuda_double::driver_function<driver::result(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags");
    driver::result (*forget_)(void*) = cuda_double::driver_function<driver::result(void*)>("cuGraphDestroy");
    driver::result (*launch_)(void*, stream_handle) =
        cuda_double::driver_function<driver::result(void*, stream_handle)>("cuGraphLaunch");
    driver::result (*destroy_)(void*) = cuda_double::driver_function<driver::result(void*)>("cuGraphExecDestroy");
};

/// Captures a stream.
class capture {
public:
    static constexpr int global = 0;
    static constexpr int relaxed = 2;

    explicit capture(stream_handle of, int mode = global) : of_(of) { ok(begin_(of, mode)); }
    ~capture() { end(); }
    capture(const capture&) = delete;
    capture& operator=(const capture&) = delete;

    /// Ends the capture; returns whether it was left whole.
    bool end() {
        if (!of_) return true;
        void* captured = nullptr;
        const bool whole = end_(std::exchange(of_, nullptr), &captured) == driver::success;
        if (whole) forget_(captured);
        return whole;
    }

    /// Ends the capture, which has to be whole, and returns what was captured.
    graph end_as_graph() {
        void* captured = nullptr;
        ok(end_(std::exchange(of_, nullptr), &captured));
        return graph(captured);
    }

private:
    stream_handle of_;
    driver::result (*begin_)(stream_handle, int) =
        cuda_double::driver_function<driver::result(stream_handle, int)>("cuStreamBeginCapture");
    driver::result (*end_)(stream_handle, void**) =
        cuda_double::driver_function<driver::result(stream_handle, void**)>("cuStreamEndCapture");
    driver::result (*forget_)(void*) = cuda_double::driver_function<driver::result(void*)>("cuGraphDestroy");
};

class cuda_test : public ::testing::Test {
protected:
    void SetUp() override {
        try {
            where_ = space("cuda:0");
        } catch (const error& missing) {
            GTEST_SKIP() << missing.what();
        }
    }

    backends::device& device() const { return backends::device_of(where_); }

    /// Returns whether the driver can wait for a context only by stopping the host, as before 12.5.
    static bool stops_the_host_for_all() { return !driver::api().cuCtxRecordEvent; }

    /// Finds the second device, or skips the test.
    void find_second() {
        try {
            second_ = space("cuda:1");
        } catch (const error& missing) {
            GTEST_SKIP() << missing.what();
        }
    }

    static device_pointer address_of(const native_memory& copy) { return copy.handle + copy.offset; }
    template <class Lease>
    static device_pointer address_of(const Lease& lease) {
        return address_of(lease.native());
    }

    static bytes host_reads(const buffer& from) {
        const auto lease = from.read(host);
        return bytes(lease.begin(), lease.end());
    }
    static void host_writes(buffer& to, std::span<const std::byte> content) {
        const auto lease = to.write(host);
        std::ranges::copy(content, lease.begin());
    }

    static buffer mirrored(std::size_t count) {
        buffer_options options;
        options.hint = memory_hint::gpu_preferred;
        return buffer(count, options);
    }
    static buffer shared(std::size_t count) {
        buffer_options options;
        options.hint = memory_hint::cpu_preferred;
        return buffer(count, options);
    }

    space where_;
    space second_;
};

/// Asks the double itself: a real driver skips these.
class on_the_double : public cuda_test {
protected:
    void SetUp() override {
        cuda_test::SetUp();
        if (IsSkipped()) return;
        if (!cuda_double::loaded()) GTEST_SKIP() << "a real driver does not fail when it is told to";
        cuda::handles_of(where_);
        control().reset();
    }
    void TearDown() override {
        if (cuda_double::loaded()) control().reset();
    }

    static const cuda_double::control& control() { return *cuda_double::loaded(); }
};

}  // namespace unibuf::contract
