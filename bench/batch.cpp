// bench/batch.cpp: small writes of many buffers, sent together.
#include <unibuf/unibuf.hpp>

#include <cstring>
#include <span>
#include <vector>

#include "by_hand.hpp"
#include "cuda.hpp"
#include "default_device.hpp"
#include "race.hpp"

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

/// Measures against a program that has all content in one array: it writes that, and sends it in one piece.
bench::figures in_one_piece(unibuf::space where, bench::by_hand* send) {
    const bench::default_device device(where);
    many small(where);
    unibuf::buffer whole(buffers * bytes, mirrored);
    std::byte* const array = whole.host();
    const unibuf::native_memory there = whole.device();
    return bench::in_ns(bench::race(bench::repeat([&] { small.write_together(); }), bench::repeat([&] {
                                        std::memcpy(array, small.content.data(), small.content.size());
                                        send({array, small.content.size()}, there);
                                    })));
}

/// Measures against one call of the CUDA driver, from memory as pageable as that of the small buffers.
bench::figures in_one_piece_by_cuda() {
    const unibuf::space where = bench::cuda::device_for(buffers * bytes);
    many small(where);
    unibuf::buffer whole(buffers * bytes, mirrored);
    const auto lease = whole.write(where);
    std::vector<std::byte> array(buffers * bytes);
    const bench::cuda::stream plain;
    return bench::in_ns(bench::race(bench::repeat([&] { small.write_together(); }), bench::repeat([&] {
                                        std::memcpy(array.data(), small.content.data(), array.size());
                                        plain.to_device(lease.native().handle, array);
                                        plain.wait();
                                    })));
}

bench::figures one_by_one(unibuf::space where) {
    const bench::default_device device(where);
    many small(where);
    return bench::in_ns(
        bench::race(bench::repeat([&] { small.write_together(); }), bench::repeat([&] { small.write_alone(); })));
}

const bench::declared batches(
    {.name = "pool.batch_10000",
     .unit = "ns",
     .goal = bench::ratio_at_most(2),
     .cases = {{"10,000 of 1 KiB to debug:0", [] { return in_one_piece("debug:0", bench::by_memcpy); }},
               {"10,000 of 1 KiB to opencl:0", [] { return in_one_piece("opencl:0", bench::by_opencl); }}}});

const bench::declared by_cuda({.name = "cuda.batch_10000",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(2),
                               .cases = {{"10,000 of 1 KiB to cuda:0", in_one_piece_by_cuda}}});

const bench::declared alone({.name = "pool.batch_10000.alone",
                             .unit = "ns",
                             .goal = bench::ratio_at_most(0.5),
                             .cases = {{"10,000 of 1 KiB to opencl:0", [] { return one_by_one("opencl:0"); }}}});

}  // namespace
