// backends/metal/kernels.cpp: does what Metal's copy engine does not: bytes that are no whole words, rows, patterns.
#include "backends/metal/kernels.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace unibuf::backends::metal {
namespace {

// These structs are declared alike in the kernels.
struct copy_plan {
    std::uint64_t from, to, from_row, to_row, from_slice, to_slice, items;
};
struct fill_plan {
    std::uint64_t to, items, pattern;
};

constexpr const char* prelude = R"(
#include <metal_stdlib>
using namespace metal;

// Sizes and offsets are in items.
struct copy_plan {
    ulong from, to, from_row, to_row, from_slice, to_slice, items;
};
struct fill_plan {
    ulong to, items, pattern;
};
)";

std::string copy_source(const char* name, const char* item) {
    return std::string("kernel void ") + name + "(device const " + item + "* from [[buffer(0)]], device " + item + R"(*
                 to [[buffer(1)]], constant copy_plan& plan [[buffer(2)]], uint3 at [[thread_position_in_grid]]) {
    if (at.x >= plan.items) return;
    to[plan.to + at.z * plan.to_slice + at.y * plan.to_row + at.x] =
        from[plan.from + at.z * plan.from_slice + at.y * plan.from_row + at.x];
}
)";
}

std::string fill_source(const char* name, const char* item) {
    return std::string("kernel void ") + name + "(device " + item + "* to [[buffer(0)]], device const " + item + R"(*
                 pattern [[buffer(1)]], constant fill_plan& plan [[buffer(2)]], uint3 at [[thread_position_in_grid]]) {
    if (at.x >= plan.items) return;
    to[plan.to + at.x] = pattern[at.x % plan.pattern];
}
)";
}

// A thread's index has 32 bits.
constexpr std::size_t most_threads = std::size_t{1} << 30;
constexpr ns_uinteger threads_of_group = 64;  // any device has as many

/// Runs `items` times `rows` times `slices` threads.
template <class Plan>
void run(id commands, id pipeline, id first, id second, const Plan& plan, std::size_t items, std::size_t rows,
         std::size_t slices) {
    const id encoder = compute_encoder(commands);
    if (!encoder) throw error(error_code::transfer_failed, "Metal makes no compute encoder");
    set_pipeline(encoder, pipeline);
    set_buffer(encoder, first, 0, 0);
    set_buffer(encoder, second, 0, 1);
    set_bytes(encoder, &plan, sizeof plan, 2);
    dispatch(encoder, {(items + threads_of_group - 1) / threads_of_group, rows, slices}, {threads_of_group, 1, 1});
    end_encoding(encoder);
}

/// Returns whether all are multiples of `unit`.
template <class... Sizes>
bool are_multiples(std::size_t unit, Sizes... sizes) {
    return ((sizes % unit == 0) && ...);
}

}  // namespace

void kernels::compile() {
    const std::string source = prelude + copy_source("copy_bytes", "uchar") + copy_source("copy_words", "uint") +
                               copy_source("copy_vectors", "uint4") + fill_source("fill_bytes", "uchar") +
                               fill_source("fill_words", "uint");
    const auto check = [](const owned& made, id failure) {
        if (made) return;
        throw error(error_code::transfer_failed,
                    "Metal does not compile unibuf's kernels: " + description_of(failure, "no reason was given"));
    };
    id failure = nullptr;
    const owned library = new_library(device_, string_of(source), &failure);
    check(library, failure);
    static constexpr std::array names{"copy_bytes", "copy_words", "copy_vectors", "fill_bytes", "fill_words"};
    std::array<owned, count> made;
    for (std::size_t i = 0; i < count; ++i) {
        const owned function = new_function(library.get(), string_of(names[i]));
        check(function, nullptr);
        made[i] = new_pipeline(device_, function.get(), &failure);
        check(made[i], failure);
    }
    made_ = std::move(made);
}

id kernels::pipeline(kind which) {
    const std::lock_guard lock(mutex_);
    if (!made_[which]) compile();
    return made_[which].get();
}

void kernels::copy(id commands, id from, id to, const slab& rows) {
    const auto fits = [&](std::size_t unit) {
        return are_multiples(unit, rows.row_bytes, rows.here.offset, rows.here.row_pitch, rows.here.slice_pitch,
                             rows.there.offset, rows.there.row_pitch, rows.there.slice_pitch);
    };
    const std::size_t unit = fits(16) ? 16 : fits(4) ? 4 : 1;
    const id used = pipeline(unit == 16 ? copy_vectors : unit == 4 ? copy_words : copy_bytes);
    const std::size_t items = rows.row_bytes / unit;
    for (std::size_t done = 0; done < items; done += most_threads) {
        const std::size_t part = std::min(most_threads, items - done);
        const copy_plan plan{.from = rows.there.offset / unit + done,
                             .to = rows.here.offset / unit + done,
                             .from_row = rows.there.row_pitch / unit,
                             .to_row = rows.here.row_pitch / unit,
                             .from_slice = rows.there.slice_pitch / unit,
                             .to_slice = rows.here.slice_pitch / unit,
                             .items = part};
        run(commands, used, from, to, plan, part, rows.rows, rows.slices);
    }
}

void kernels::fill(id commands, id to, std::size_t offset, std::size_t bytes, id pattern, std::size_t pattern_bytes) {
    const std::size_t unit = are_multiples(sizeof(std::uint32_t), offset, bytes, pattern_bytes) ? 4 : 1;
    const id used = pipeline(unit == 4 ? fill_words : fill_bytes);
    const std::size_t items = bytes / unit;
    const std::size_t repeated = pattern_bytes / unit;
    const std::size_t most = std::max(repeated, most_threads / repeated * repeated);  // each part begins a pattern
    for (std::size_t done = 0; done < items; done += most) {
        const std::size_t part = std::min(most, items - done);
        const fill_plan plan{.to = offset / unit + done, .items = part, .pattern = repeated};
        run(commands, used, to, pattern, plan, part, 1, 1);
    }
}

}  // namespace unibuf::backends::metal
