// bench/c.cpp: calls of the C API beside the same calls in C++.
#include <unibuf/unibuf.h>

#include <cstddef>
#include <new>
#include <span>
#include <unibuf/unibuf.hpp>

#include "default_device.hpp"
#include "race.hpp"

namespace bench::c_bench {
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

/// The limit is the same in C++ behind a function of the same form, as a call of C is one.
template <class InC, class InCpp>
bench::figures calls(const InC& in_c, const InCpp& in_cpp) {
    const bench::default_device debug("debug:0");
    buffers both;
    return bench::in_ns(
        bench::race(bench::repeat([&] { in_c(both.in_c()); }), bench::repeat([&] { in_cpp(both.in_cpp); })));
}

[[gnu::noinline]] int host_of(unibuf::buffer& of, std::byte** pointer) {
    *pointer = of.host();
    return 0;
}
[[gnu::noinline]] int host_of(const unibuf::buffer& of, const std::byte** pointer) {
    *pointer = of.host();
    return 0;
}
[[gnu::noinline]] int device_of(unibuf::buffer& of, unibuf::native_memory* native) {
    *native = of.device();
    return 0;
}
[[gnu::noinline]] void acquire(unibuf::buffer& of, unibuf::space where, unibuf::access what, unibuf::byte_lease& to) {
    to = of.acquire(where, what, {});
}
[[gnu::noinline]] void release(unibuf::byte_lease& of) { of.end(); }

bench::figures host() {
    return calls(
        [](unibuf_buffer* buffer) {
            void* pointer = nullptr;
            unibuf_host(buffer, &pointer);
            DoNotOptimize(pointer);
        },
        [](unibuf::buffer& buffer) {
            std::byte* pointer = nullptr;
            host_of(buffer, &pointer);
            DoNotOptimize(pointer);
        });
}

bench::figures host_to_read() {
    return calls(
        [](unibuf_buffer* buffer) {
            const void* pointer = nullptr;
            unibuf_host_to_read(buffer, &pointer);
            DoNotOptimize(pointer);
        },
        [](const unibuf::buffer& buffer) {
            const std::byte* pointer = nullptr;
            host_of(buffer, &pointer);
            DoNotOptimize(pointer);
        });
}

bench::figures device() {
    return calls(
        [](unibuf_buffer* buffer) {
            unibuf_native native;
            unibuf_device(buffer, &native);
            DoNotOptimize(native);
        },
        [](unibuf::buffer& buffer) {
            unibuf::native_memory native{};
            device_of(buffer, &native);
            DoNotOptimize(native);
        });
}

bench::figures lease(unibuf_space at, unibuf_access what) {
    const unibuf::space where = unibuf::space::from_id(static_cast<std::uint8_t>(at));
    const auto in_cpp = static_cast<unibuf::access>(what);
    return calls(
        [at, what](unibuf_buffer* buffer) {
            unibuf_lease lease;
            unibuf_acquire(buffer, at, what, nullptr, &lease);
            DoNotOptimize(lease.data);
            unibuf_release(&lease);
        },
        [where, in_cpp](unibuf::buffer& buffer) {
            unibuf::byte_lease lease;
            acquire(buffer, where, in_cpp, lease);
            DoNotOptimize(lease.address());
            release(lease);
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

const bench::declared call(
    {.name = "c.call",
     .unit = "ns",
     .goal = bench::ratio_at_most(2.5),
     .cases = {{"unibuf_host", host},
               {"unibuf_host_to_read", host_to_read},
               {"unibuf_device", device},
               {"a read lease at the host", [] { return lease(UNIBUF_HOST, UNIBUF_READ); }},
               {"a read_write lease at the host", [] { return lease(UNIBUF_HOST, UNIBUF_READ_WRITE); }},
               {"a lease at debug:0", [] { return lease(unibuf::space("debug:0").id(), UNIBUF_READ); }},
               {"unibuf_state", state},
               {"unibuf_mark_host_dirty", mark}}});

}  // namespace
}  // namespace bench::c_bench
