// bench/fortran.cpp: the calls of Fortran programs, in bench/fortran_calls.f90.
#include <unibuf/unibuf.hpp>

#include <cstdint>

#include "default_device.hpp"
#include "race.hpp"

extern "C" {
int bench_fortran_make(std::int64_t count, int device);
void bench_fortran_destroy();
void bench_fortran_bind();
void bench_fortran_get_cpu_pointer();
void bench_fortran_write_buffer();
void bench_fortran_assign();
void bench_fortran_sync();
void bench_fortran_mark_and_sync();
extern void* bench_fortran_pointer;
}

namespace {

/// The devices, as fortran_calls numbers them.
enum device { host, debug, opengl };

/// Makes the buffer of fortran_calls, and ends it.
class fortran_buffer {
public:
    fortran_buffer(std::int64_t count, device at) {
        if (at == opengl) static_cast<void>(unibuf::space("opengl:0"));  // says why, where it is not there
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

const bench::declared pointer({.name = "fortran.get_cpu_pointer",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(7),
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
