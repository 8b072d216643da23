// bench/batch.cpp: small writes of many buffers, sent together.
#include <unibuf/opencl.hpp>
#include <unibuf/unibuf.hpp>

#include <cstring>
#include <span>
#include <vector>

#include "default_device.hpp"
#include "opencl.hpp"
#include "race.hpp"

namespace {

constexpr std::size_t buffers = 10'000;
constexpr std::size_t bytes = 1024;
constexpr unibuf::buffer_options mirrored{.hint = unibuf::memory_hint::gpu_preferred};

using by_hand = void(std::span<const std::byte> from, const unibuf::native_memory& to);

void by_memcpy(std::span<const std::byte> from, const unibuf::native_memory& to) {
    std::memcpy(reinterpret_cast<void*>(to.handle), from.data(), from.size());  // debug:0 is addressable
}

void by_opencl(std::span<const std::byte> from, const unibuf::native_memory& to) {
    bench::opencl::write(unibuf::opencl::handles_of(to.where).queue, unibuf::opencl::memory(to), from);
}

/// Against a program that has all of it in one array: writes that, and sends it in one piece.
bench::figures ten_thousand(unibuf::space where, by_hand* in_one_piece) {
    const bench::default_device device(where);
    const std::vector<std::byte> content(buffers * bytes, std::byte{1});
    std::vector<unibuf::buffer> all;
    for (std::size_t i = 0; i < buffers; ++i) {
        all.emplace_back(bytes, mirrored);
        all.back().read(where).release();
    }
    unibuf::buffer whole(buffers * bytes, mirrored);
    std::byte* const array = whole.host();
    const unibuf::native_memory there = whole.device();
    return bench::in_ns(bench::race(bench::repeat([&] {
                                        unibuf::batch updates(where);
                                        for (std::size_t i = 0; i < buffers; ++i) {
                                            updates.write(all[i], std::span(content).subspan(i * bytes, bytes));
                                        }
                                        updates.submit();
                                    }),
                                    bench::repeat([&] {
                                        std::memcpy(array, content.data(), content.size());
                                        in_one_piece({array, content.size()}, there);
                                    })));
}

const bench::declared batches(
    {.name = "pool.batch_10000",
     .unit = "ns",
     .goal = bench::ratio_at_most(2),
     .cases = {{"10,000 of 1 KiB to debug:0", [] { return ten_thousand("debug:0", by_memcpy); }},
               {"10,000 of 1 KiB to opencl:0", [] { return ten_thousand("opencl:0", by_opencl); }}}});

}  // namespace
