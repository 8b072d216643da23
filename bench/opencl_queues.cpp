// bench/opencl_queues.cpp: what is left of queues that a program has named and released, and where copies begin.
#include <unibuf/opencl.hpp>
#include <unibuf/unibuf.hpp>

#include <cstddef>
#include <vector>

#include "opencl.hpp"
#include "race.hpp"

namespace bench::opencl_bench {
namespace {

/// A buffer of 4 KiB at a device, which the host writes in between.
class in_turns {
public:
    explicit in_turns(unibuf::space device) : device_(device), buffer_(content_.size(), {.hint = mirrored}) {}

    void operator()() {
        buffer_.copy_from(content_);
        buffer_.read(device_).release();
    }

    void on(bench::opencl::queue named) { buffer_.read(device_, {.on = unibuf::opencl::queue_of(named)}).release(); }

private:
    static constexpr unibuf::memory_hint mirrored = unibuf::memory_hint::gpu_preferred;
    unibuf::space device_;
    std::vector<std::byte> content_{4096};
    unibuf::buffer buffer_;
};

/// Measures an access at a space where 10,000 queues have been named and released. The limit is one at a space of the
/// same device where none has been.
bench::figures access_after_many_queues() {
    const unibuf::space plain("opencl:0");
    const unibuf::opencl::handles known = unibuf::opencl::handles_of(plain);
    _cl_context* const context = bench::opencl::create_context(known.device);
    const unibuf::space many = unibuf::opencl::use(context, known.device);
    bench::opencl::release(context);  // the space keeps it
    in_turns at_many(many);
    in_turns at_plain(plain);
    at_many();
    for (int i = 0; i != 10'000; ++i) {
        bench::opencl::queue const named = bench::opencl::create_queue(context, known.device);
        at_many.on(named);
        bench::opencl::release(named);
    }
    return bench::in_ns(bench::race(bench::repeat([&] { at_many(); }), bench::repeat([&] { at_plain(); })));
}

const bench::declared many_queues({.name = "opencl.many_queues",
                                   .unit = "ns",
                                   .goal = bench::ratio_at_most(2),
                                   .cases = {{"4 KiB to opencl:adopted after 10,000", access_after_many_queues}}});

}  // namespace
}  // namespace bench::opencl_bench
