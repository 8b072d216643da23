// bench/opencl_queues.cpp: what is left of queues that a program has named and released, and where copies begin.
#include <unibuf/opencl.hpp>
#include <unibuf/unibuf.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
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

// A place gets from each person what it counts, and is asked how busy it is, as in a model of agents.
const char* const send = R"(
kernel void send(global const uint* place_of, global const float* busy, global int* hazards, global int* counts,
                 global float* got) {
    const size_t person = get_global_id(0);
    float sum = 0;
    for (int slot = 0; slot < 16; ++slot) {
        const uint place = place_of[person * 16 + slot];
        atomic_add(&hazards[place], 1);
        atomic_inc(&counts[place]);
        sum += busy[place];
    }
    got[person] = sum;
})";

/// Measures a kernel on arrays that a processor uses in place, against one on memory that the driver has allocated.
bench::figures kernel_in_place() {
    constexpr std::size_t people = 200'000, places = 50'000, slots = 16;
    const std::array<std::size_t, 5> sizes{4 * slots * people, 4 * places, 4 * places, 4 * places, 4 * people};
    const unibuf::space where("opencl:0");
    const unibuf::opencl::handles known = unibuf::opencl::handles_of(where);
    const bench::opencl::kernel run(known.context, known.device, send, "send");
    std::vector<std::uint32_t> place_of(slots * people);
    std::minstd_rand random(1);
    for (std::uint32_t& each : place_of) each = static_cast<std::uint32_t>(random() % places);
    const std::span content = std::as_bytes(std::span(place_of));
    std::vector<unibuf::buffer> buffers;
    std::vector<std::unique_ptr<bench::opencl::owned>> plain;
    for (const std::size_t bytes : sizes) {
        buffers.emplace_back(bytes, unibuf::buffer_options{.device = where}).fill(std::array{std::byte{0}});
        plain.push_back(std::make_unique<bench::opencl::owned>(known.context, bytes));
        bench::opencl::fill(known.queue, plain.back()->get(), 0, bytes, 0);
    }
    buffers[0].copy_from(content);
    bench::opencl::write(known.queue, plain[0]->get(), content);
    std::array<bench::opencl::memory, 5> ours{}, theirs{};
    std::vector<unibuf::lease<std::byte>> leases;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        leases.push_back(buffers[i].read_write(where));
        ours[i] = unibuf::opencl::memory(leases.back());
        theirs[i] = plain[i]->get();
    }
    return bench::in_ns(bench::race(bench::repeat([&] { run.run(known.queue, people, ours); }),
                                    bench::repeat([&] { run.run(known.queue, people, theirs); })));
}

const bench::declared staggered({.name = "opencl.staggered",
                                 .unit = "ns",
                                 .goal = bench::ratio_at_most(1.15),
                                 .cases = {{"atomics and loads on five arrays", kernel_in_place}}});

}  // namespace
}  // namespace bench::opencl_bench
