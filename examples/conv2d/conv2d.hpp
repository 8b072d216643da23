// conv2d/conv2d.hpp: the convolution of a picture, on one memory and in one way, measured.
//
// All modes are timed alike: the application writes the first line of its picture anew, as a camera would; the picture
// is convolved; the application reads all of the result. The modes copying and careful work on arrays of the host,
// zero-copy works on two unified buffers. Pictures are planes of luminance, one float a pixel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "filter.hpp"
#include "picture.hpp"
#include "unibuf/space.hpp"

namespace conv2d {

enum class mode : std::uint8_t {
    copying,    // fresh temporaries and device buffers every time
    careful,    // buffers that are kept, and one copy each way
    zero_copy,  // two unified buffers
};

/// Returns "copying", "careful", "zero-copy".
std::string_view to_string(mode how) noexcept;

/// A picture to convolve, and the result that must come out.
class problem {
public:
    /// Works out the result with a plain loop.
    problem(picture input, const filter& by);

    const picture& input() const noexcept { return input_; }
    const filter& by() const noexcept { return *by_; }

    /// Throws std::runtime_error where a pixel is off by more than 1e-5, and says where.
    void check(std::span<const float> result) const;

private:
    picture input_;
    const filter* by_;
    std::vector<float> expected_;
};

struct measurement {
    double milliseconds = 0;       // median
    double bytes_copied = 0;       // each time
    double fence_waits = 0;        // each time
    std::uint64_t peak_bytes = 0;  // held at once, by the host and the device together
    std::uint32_t checksum = 0;    // sum of the bits of the result
};

using viewer = std::function<void(std::span<const float>)>;

/// Runs once to warm up and `repeat` times for the clock, checks the result, and shows it to `show` where it lies.
/// Throws unibuf::error or std::runtime_error.
measurement run(unibuf::space where, mode how, const problem& what, int repeat, const viewer& show = {});

}  // namespace conv2d
