// examples/oversubscribe: a film of four times the memory that its device may use goes through several stages.
//
// No line of this program moves anything: what a stage needs comes, and what was used least recently makes room.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/arguments.hpp"
#include "common/opencl_api.hpp"
#include "unibuf/unibuf.hpp"

namespace {

namespace cl = examples::cl;

using pixel = std::uint32_t;

constexpr const char* kernel = R"(
kernel void blend(global const uint* before, global const uint* now, global uint* to, uint stage) {
    const size_t at = get_global_id(0);
    to[at] = now[at] * (2 * stage + 3) + (before[at] ^ (now[at] >> 7));
}
)";

/// Blends two pixels on the host as the kernel does. Whole numbers make every bit of the result known.
constexpr pixel blend(pixel before, pixel now, pixel stage) { return now * (2 * stage + 3) + (before ^ (now >> 7)); }

constexpr pixel original(std::size_t frame, std::size_t at) {
    return static_cast<pixel>(frame * 2654435761U + at * 40503U);
}

struct film {
    std::size_t frames = 16;
    std::size_t pixels = std::size_t{1} << 20;
    pixel stages = 4;

    std::uint64_t frame_bytes() const { return pixels * sizeof(pixel); }

    /// Returns the size of the film before a stage and after it.
    std::uint64_t bytes() const { return 2 * frames * frame_bytes(); }
};

/// Returns the frame that a stage takes next. Stages go there and back in turns, as the frames that came last are still
/// there.
std::size_t frame_of(std::size_t i, pixel stage, const film& of) { return stage % 2 == 0 ? i : of.frames - 1 - i; }

using frame = unibuf::unified_buffer<pixel>;

/// Makes one frame of two. It has all three on the device at once.
class stage_runner {
public:
    stage_runner(unibuf::space where, const film& of) : where_(where), pixels_(of.pixels) {
        if (where.name().starts_with("opencl:")) {
            kernel_.emplace(unibuf::opencl::handles_of(where), kernel, "blend");
        } else if (!where.name().starts_with("debug:")) {
            throw std::runtime_error(where.name() + " has no kernel here: take debug:0 or an OpenCL device");
        }
    }

    void run(const frame& before, const frame& now, frame& to, pixel stage) const {
        if (kernel_) {
            return unibuf::opencl::enqueue(where_, kernel_->native(), pixels_, read(before), read(now), write(to),
                                           stage);
        }
        const auto a = before.read(where_);
        const auto b = now.read(where_);
        const auto c = to.write(where_);
        std::ranges::transform(a, b, c.begin(), [=](pixel x, pixel y) { return blend(x, y, stage); });
    }

private:
    unibuf::space where_;
    std::size_t pixels_;
    std::optional<cl::kernel_program> kernel_;
};

std::vector<std::vector<pixel>> run(unibuf::space where, const film& of) {
    const stage_runner device(where, of);
    unibuf::buffer_options options;
    options.device = where;
    options.hint = unibuf::memory_hint::gpu_preferred;  // asks for a mirrored copy, also where the device could use the
                                                        // host's memory
    std::vector<frame> now;
    std::vector<frame> next;
    for (std::size_t i = 0; i < of.frames; ++i) {
        now.emplace_back(unibuf::shape{of.pixels}, options);
        next.emplace_back(unibuf::shape{of.pixels}, options);
        std::size_t at = 0;
        for (pixel& each : now.back().write(unibuf::host)) each = original(i, at++);
    }
    for (pixel stage = 0; stage < of.stages; ++stage) {
        for (std::size_t i = 0; i < of.frames; ++i) {
            const std::size_t t = frame_of(i, stage, of);
            device.run(now[t == 0 ? 0 : t - 1], now[t], next[t], stage);
        }
        std::swap(now, next);
    }
    std::vector<std::vector<pixel>> result;
    for (const frame& each : now) each.copy_to(result.emplace_back(of.pixels));
    return result;
}

/// Checks the result by plain memory, pixel by pixel.
void check(const std::vector<std::vector<pixel>>& result, const film& of) {
    std::vector<pixel> column(of.frames);
    for (std::size_t at = 0; at < of.pixels; ++at) {
        for (std::size_t t = 0; t < of.frames; ++t) column[t] = original(t, at);
        for (pixel stage = 0; stage < of.stages; ++stage) {
            for (std::size_t t = of.frames; t-- > 0;) column[t] = blend(column[t == 0 ? 0 : t - 1], column[t], stage);
        }
        for (std::size_t t = 0; t < of.frames; ++t) {
            if (result[t][at] == column[t]) continue;
            throw std::runtime_error(
                fmt::format("frame {}, pixel {} is {} instead of {}", t, at, result[t][at], column[t]));
        }
    }
}

void report(const std::string& where, const film& of, bool as_json) {
    const unibuf::statistics total = unibuf::total_statistics();
    const unibuf::memory_usage memory = unibuf::memory_in(where);
    if (as_json) {
        const nlohmann::ordered_json row = {{"space", where},
                                            {"data_bytes", of.bytes()},
                                            {"limit_bytes", memory.limit},
                                            {"peak_bytes", memory.peak},
                                            {"bytes_moved", total.bytes_moved()},
                                            {"evictions", total.evictions}};
        fmt::print("{}\n", row.dump(2));
        return;
    }
    fmt::print("{} frames of {} pixels through {} stages on {}, each bit as it should be\n", of.frames, of.pixels,
               of.stages, where);
    fmt::print("{:>14} bytes of data\n{:>14} bytes at most on the device\n{:>14} bytes there at its peak\n", of.bytes(),
               memory.limit, memory.peak);
    fmt::print("{:>14} bytes moved\n{:>14} evictions\n", total.bytes_moved(), total.evictions);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        film of;
        std::string where = "debug:0";
        std::optional<std::uint64_t> limit;
        bool as_json = false;
        examples::arguments told("A film goes through several stages on a device that has room for a quarter of it");
        told.text("--space", where, "debug:0, or an OpenCL device");
        told.number("--frames", of.frames, 1, 1 << 12);
        told.number("--pixels", of.pixels, 1, 1 << 26, "Of each frame");
        told.number("--stages", of.stages, 1, 1 << 10);
        told.number("--limit", limit, "Bytes on the device; a quarter of the data, where it is not given");
        told.flag("--json", as_json);
        if (const auto status = told.read(argc, argv)) return *status;
        unibuf::limit_memory(where, limit.value_or(of.bytes() / 4));
        check(run(where, of), of);
        report(where, of, as_json);
    } catch (const std::exception& failed) {
        std::fputs((std::string("oversubscribe: ") + failed.what() + '\n').c_str(), stderr);
        return 1;
    }
    return 0;
}
