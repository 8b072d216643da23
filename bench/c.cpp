// bench/c.cpp: calls of the C API beside the same calls in C++.
#include <unibuf/unibuf.h>

#include <cstddef>
#include <new>
#include <span>
#include <unibuf/unibuf.hpp>

#include "default_device.hpp"
#include "race.hpp"

namespace {

using benchmark::DoNotOptimize;

constexpr std::size_t bytes = 4096;

/// One buffer for C and one for C++, both current at the host and at the default device.
class buffers {
public:
    buffers() : in_cpp(bytes) {
        if (unibuf_create(bytes, nullptr, &in_c_) != UNIBUF_OK) throw std::bad_alloc();
        const char one = 1;
        unibuf_fill(in_c_, &one, 1);
        unibuf_sync_to_device(in_c_, 0, UNIBUF_REST);
        in_cpp.fill(std::as_bytes(std::span(&one, 1)));
        in_cpp.sync_to_device();
    }
    ~buffers() { unibuf_destroy(in_c_); }
    buffers(const buffers&) = delete;
    buffers& operator=(const buffers&) = delete;

    unibuf_buffer* in_c() const noexcept { return in_c_; }

    unibuf::buffer in_cpp;

private:
    unibuf_buffer* in_c_ = nullptr;
};

template <class InC, class InCpp>
bench::figures calls(const InC& in_c, const InCpp& in_cpp) {
    const bench::default_device debug("debug:0");
    buffers both;
    return bench::in_ns(
        bench::race(bench::repeat([&] { in_c(both.in_c()); }), bench::repeat([&] { in_cpp(both.in_cpp); })));
}

bench::figures host() {
    return calls(
        [](unibuf_buffer* buffer) {
            void* pointer = nullptr;
            unibuf_host(buffer, &pointer);
            DoNotOptimize(pointer);
        },
        [](unibuf::buffer& buffer) { DoNotOptimize(buffer.host()); });
}

bench::figures host_to_read() {
    return calls(
        [](unibuf_buffer* buffer) {
            const void* pointer = nullptr;
            unibuf_host_to_read(buffer, &pointer);
            DoNotOptimize(pointer);
        },
        [](const unibuf::buffer& buffer) { DoNotOptimize(buffer.host()); });
}

bench::figures device() {
    return calls(
        [](unibuf_buffer* buffer) {
            unibuf_native native;
            unibuf_device(buffer, &native);
            DoNotOptimize(native);
        },
        [](unibuf::buffer& buffer) {
            unibuf::native_memory native = buffer.device();
            DoNotOptimize(native);
        });
}

template <unibuf_access Access>
bench::figures host_lease() {
    return calls(
        [](unibuf_buffer* buffer) {
            unibuf_lease lease;
            unibuf_acquire(buffer, UNIBUF_HOST, Access, nullptr, &lease);
            DoNotOptimize(lease.data);
            unibuf_release(&lease);
        },
        [](unibuf::buffer& buffer) {
            if constexpr (Access == UNIBUF_READ) {
                const auto lease = buffer.read(unibuf::host);
                DoNotOptimize(lease.data());
            } else {
                const auto lease = buffer.read_write(unibuf::host);
                DoNotOptimize(lease.data());
            }
        });
}

/// Measures a lease at a device, which takes the lock.
bench::figures device_lease() {
    const unibuf::space where("debug:0");
    return calls(
        [where](unibuf_buffer* buffer) {
            unibuf_lease lease;
            unibuf_acquire(buffer, where.id(), UNIBUF_READ, nullptr, &lease);
            DoNotOptimize(lease.data);
            unibuf_release(&lease);
        },
        [where](unibuf::buffer& buffer) {
            const auto lease = buffer.read(where);
            DoNotOptimize(lease.data());
        });
}

bench::figures state() {
    return calls(
        [](unibuf_buffer* buffer) {
            unibuf_buffer_state state = UNIBUF_UNINITIALIZED;
            unibuf_state(buffer, &state);
            DoNotOptimize(state);
        },
        [](unibuf::buffer& buffer) { DoNotOptimize(buffer.state()); });
}

bench::figures mark() {
    return calls([](unibuf_buffer* buffer) { unibuf_mark_host_dirty(buffer, 0, UNIBUF_REST); },
                 [](unibuf::buffer& buffer) { buffer.mark_host_dirty(); });
}

const bench::declared call({.name = "c.call",
                            .unit = "ns",
                            .goal = bench::more_at_most(5),
                            .cases = {{"unibuf_host", host},
                                      {"unibuf_host_to_read", host_to_read},
                                      {"unibuf_device", device},
                                      {"a read lease at the host", host_lease<UNIBUF_READ>},
                                      {"a read_write lease at the host", host_lease<UNIBUF_READ_WRITE>},
                                      {"a lease at debug:0", device_lease},
                                      {"unibuf_state", state},
                                      {"unibuf_mark_host_dirty", mark}}});

}  // namespace
