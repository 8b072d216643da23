// bench/batch.cpp: small writes of many buffers, sent together.
#include <unibuf/unibuf.hpp>

#include <cstring>
#include <span>
#include <vector>

#include "cuda.hpp"
#include "default_device.hpp"
#include "race.hpp"

namespace bench::batch_bench {
namespace {

constexpr std::size_t buffers = 10'000;
constexpr std::size_t bytes = 1024;
constexpr unibuf::buffer_options mirrored{.hint = unibuf::memory_hint::gpu_preferred};

/// Mirrored buffers, with the content that is written to them.
struct many {
    explicit many(unibuf::space where) : there(where) {
        for (std::size_t i = 0; i < buffers; ++i) {
            all.emplace_back(bytes, mirrored);
            all.back().read(where).release();
        }
    }

    std::span<const std::byte> part(std::size_t i) const { return std::span(content).subspan(i * bytes, bytes); }

    void write_together() {
        unibuf::batch updates(there);
        for (std::size_t i = 0; i < buffers; ++i) updates.write(all[i], part(i));
        updates.submit();
    }

    void write_alone() {
        for (std::size_t i = 0; i < buffers; ++i) {
            all[i].copy_from(part(i));
            all[i].sync_to_device();
        }
    }

    unibuf::space there;
    std::vector<unibuf::buffer> all;
    std::vector<std::byte> content = std::vector<std::byte>(buffers * bytes, std::byte{1});
};

bench::figures one_by_one(unibuf::space where) {
    const bench::default_device device(where);
    many small(where);
    return bench::in_ns(
        bench::race(bench::repeat([&] { small.write_together(); }), bench::repeat([&] { small.write_alone(); })));
}

/// Measures against a program that writes its content to pinned memory, and has the driver copy each part to the memory
/// of its own: the best that a loop of the driver's calls can do.
bench::figures by_loop_of_cuda() {
    const unibuf::space where = bench::cuda::device_for(buffers * bytes);
    many small(where);
    unibuf::buffer pinned(buffers * bytes, {.hint = unibuf::memory_hint::gpu_preferred, .pinned = true});
    const auto array = pinned.write(unibuf::host);
    std::vector<std::uintptr_t> targets;
    targets.reserve(buffers);
    for (unibuf::buffer& each : small.all) targets.push_back(each.read(where).native().handle);
    const bench::cuda::stream plain;
    return bench::in_ns(bench::race(bench::repeat([&] { small.write_together(); }), bench::repeat([&] {
                                        for (std::size_t i = 0; i < buffers; ++i) {
                                            const std::span part =
                                                std::span(array.data(), array.size()).subspan(i * bytes, bytes);
                                            std::memcpy(part.data(), small.part(i).data(), bytes);
                                            plain.to_device(targets[i], part);
                                        }
                                        plain.wait();
                                    })));
}

const bench::declared batches({.name = "pool.batch_10000",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(0.1),
                               .cases = {{"10,000 of 1 KiB to opencl:0", [] { return one_by_one("opencl:0"); }}}});

const bench::declared by_cuda({.name = "cuda.batch_10000",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(0.2),
                               .cases = {{"10,000 of 1 KiB to cuda:0", by_loop_of_cuda}}});

}  // namespace
}  // namespace bench::batch_bench
