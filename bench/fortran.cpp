// bench/fortran.cpp: the calls of Fortran programs, in bench/fortran_calls.f90.
#include <unibuf/opencl.hpp>
#include <unibuf/opengl.hpp>
#include <unibuf/unibuf.hpp>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "default_device.hpp"
#include "opencl.hpp"
#include "race.hpp"

extern "C" {
int bench_fortran_make(std::int64_t count, int device);
void bench_fortran_destroy();
void bench_fortran_create_and_destroy(std::int64_t bytes, int device);
void bench_fortran_show();
void bench_fortran_write_one();
void bench_fortran_sync_from();
void bench_fortran_bind();
void bench_fortran_get_cpu_pointer();
void bench_fortran_write_buffer();
void bench_fortran_assign();
void bench_fortran_sync();
void bench_fortran_mark_and_sync();
extern void* bench_fortran_pointer;
}

namespace bench::fortran_bench {
namespace {

namespace cl = bench::opencl;

/// The devices, as fortran_calls numbers them.
enum device { host, debug, opengl, opencl };

/// Says why a device is not there.
void check(device at) {
    if (at == opengl) static_cast<void>(unibuf::space("opengl:0"));
    if (at == opencl) static_cast<void>(unibuf::space("opencl:0"));
}

/// Makes the buffer of fortran_calls, and ends it.
class fortran_buffer {
public:
    fortran_buffer(std::int64_t count, device at) {
        check(at);
        if (bench_fortran_make(count, at) != 0) {
            throw unibuf::error(unibuf::error_code::device_unavailable, "the Fortran module has made no buffer");
        }
    }
    ~fortran_buffer() { bench_fortran_destroy(); }
    fortran_buffer(const fortran_buffer&) = delete;
    fortran_buffer& operator=(const fortran_buffer&) = delete;
};

[[gnu::noinline]] std::byte* host_of(unibuf::buffer& of) { return of.host(); }

bench::figures get_cpu_pointer() {
    const fortran_buffer buffer(1024, opengl);
    unibuf::buffer in_cpp(4096);
    bench_fortran_get_cpu_pointer();
    return bench::in_ns(bench::race(bench::repeat([] {
                                        bench_fortran_get_cpu_pointer();
                                        benchmark::DoNotOptimize(bench_fortran_pointer);
                                    }),
                                    bench::repeat([&] { benchmark::DoNotOptimize(host_of(in_cpp)); })));
}

bench::figures write_buffer(std::int64_t bytes, device at) {
    const fortran_buffer buffer(bytes / 4, at);
    return bench::in_ns(bench::race(bench::repeat([] { bench_fortran_write_buffer(); }),
                                    bench::repeat([] { bench_fortran_assign(); })));
}

/// Measures a sync where the GPU has nothing to do: what is left is who has what, and a fence.
bench::figures idle_sync() {
    const fortran_buffer buffer(std::int64_t{1} << 20, opengl);
    bench_fortran_bind();
    return bench::in_ns(bench::race(bench::repeat([] { bench_fortran_sync(); }), bench::repeat([] {
                                        const unibuf::space gl("opengl:0");
                                        unibuf::record_fence(gl).wait();
                                    })));
}

/// Measures a sync of a cache line that moves, against the same in C++.
bench::figures small_sync() {
    const fortran_buffer buffer(16, debug);
    const bench::default_device there("debug:0");
    unibuf::buffer in_cpp(64);
    in_cpp.write(unibuf::host).release();
    return bench::in_ns(bench::race(bench::repeat([] { bench_fortran_mark_and_sync(); }), bench::repeat([&] {
                                        in_cpp.mark_host_dirty();
                                        in_cpp.sync_to_device();
                                    })));
}

/// Makes a buffer object, maps it and deletes it, on OpenGL's thread.
void create_in_opengl(unibuf::space where, std::size_t bytes) {
    constexpr unsigned how = 0x0002 | 0x0001 | 0x0040 | 0x0080;  // written and read, persistently, coherently
    unibuf::opengl::run(where, [&] {
        const auto call = [&]<class... Arguments>(const char* name, Arguments... given) {
            return reinterpret_cast<void* (*)(Arguments...)>(unibuf::opengl::function(where, name))(given...);
        };
        unsigned made = 0;
        call("glCreateBuffers", 1, &made);
        call("glNamedBufferStorage", made, static_cast<std::ptrdiff_t>(bytes), static_cast<const void*>(nullptr), how);
        benchmark::DoNotOptimize(
            call("glMapNamedBufferRange", made, std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(bytes), how));
        call("glDeleteBuffers", 1, static_cast<const unsigned*>(&made));
    });
}

bench::figures create(std::int64_t bytes, device at) {
    check(at);
    const auto by_library = bench::repeat([bytes, at] { bench_fortran_create_and_destroy(bytes, at); });
    const auto size = static_cast<std::size_t>(bytes);
    if (at == opengl) {
        const unibuf::space where("opengl:0");
        return bench::in_ns(bench::race(by_library, bench::repeat([where, size] { create_in_opengl(where, size); })));
    }
    _cl_context* const context = unibuf::opencl::handles_of("opencl:0").context;
    return bench::in_ns(bench::race(by_library, bench::repeat([context, size] {
                                        std::free(std::calloc(1, size));
                                        cl::release(cl::create(context, size));
                                    })));
}

/// Measures what unibuf adds to OpenCL's own calls where the program has the device's handle, and may use it at any
/// time: so many bytes are written there, and so many are read.
bench::figures small_call(void (*in_fortran)(), std::size_t written, std::size_t read) {
    const fortran_buffer buffer(1024, opencl);
    bench_fortran_show();
    const unibuf::opencl::handles native = unibuf::opencl::handles_of("opencl:0");
    const cl::owned there(native.context, 4096);
    std::vector<std::byte> plain(4096);
    return bench::in_ns(bench::in_typical_turns(2000, in_fortran, [&] {
        if (written != 0) cl::write(native.queue, there.get(), std::span(plain).first(written));
        if (read != 0) cl::read(native.queue, there.get(), std::span(plain).first(read));
    }));
}

// The goal is that of the document that the module implements: 0.1 ms.
const bench::declared creation({.name = "fortran.create",
                                .unit = "ns",
                                .goal = bench::at_most(100'000),
                                .cases = {{"4 KiB, opengl:0", [] { return create(4096, opengl); }},
                                          {"1 MiB, opengl:0", [] { return create(1 << 20, opengl); }},
                                          {"4 KiB, opencl:0", [] { return create(4096, opencl); }},
                                          {"1 MiB, opencl:0", [] { return create(1 << 20, opencl); }}}});

// A pointer to so few bytes, whose writes are found by comparing, has them written to the device after its turn.
const bench::declared small_calls(
    {.name = "fortran.opencl",
     .unit = "ns",
     .goal = bench::ratio_at_most(1.2),
     .cases = {{"write_buffer of 4 bytes, sync_to_gpu", [] { return small_call(bench_fortran_write_one, 4, 0); }},
               {"sync_from_gpu", [] { return small_call(bench_fortran_sync_from, 0, 4096); }},
               {"get_cpu_pointer", [] { return small_call(bench_fortran_get_cpu_pointer, 4096, 4096); }}}});

const bench::declared pointer({.name = "fortran.get_cpu_pointer",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(9),
                               .cases = {{"of a current buffer", get_cpu_pointer}}});

const bench::declared writes({.name = "fortran.write_buffer",
                              .unit = "ns",
                              .goal = bench::ratio_at_most(1.05),
                              .cases = {{"1 MiB, shared with OpenGL", [] { return write_buffer(1 << 20, opengl); }},
                                        {"16 MiB, shared with OpenGL", [] { return write_buffer(1 << 24, opengl); }},
                                        {"1 MiB, the host's", [] { return write_buffer(1 << 20, host); }}}});

const bench::declared syncs({.name = "fortran.sync",
                             .unit = "ns",
                             .goal = bench::ratio_at_most(3),
                             .cases = {{"to and from an idle GPU, 4 MiB bound to a shader", idle_sync}}});

const bench::declared small_syncs({.name = "fortran.sync.small",
                                   .unit = "ns",
                                   .goal = bench::ratio_at_most(1.5),
                                   .cases = {{"64 bytes to debug:0", small_sync}}});

}  // namespace
}  // namespace bench::fortran_bench
