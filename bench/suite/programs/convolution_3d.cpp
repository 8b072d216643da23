// suite/convolution_3d.cpp: a convolution of a box of numbers, plane by plane (PolyBench's 3DConvolution).
#include <unibuf/unibuf.hpp>

#include "program.hpp"
#include "random.hpp"

namespace suite::convolution_3d_program {
namespace {

constexpr const char* source = R"(
kernel void convolve(global const float* from, global float* to, ulong plane, ulong planes) {
    const int column = get_global_id(0);
    const int row = get_global_id(1);
    const int columns = get_global_size(0);
    const int rows = get_global_size(1);
    const int size = rows * columns;
    const int at = plane * size + row * columns + column;
    float sum = 0;
    if (plane > 0 && plane < planes - 1 && row > 0 && row < rows - 1 && column > 0 && column < columns - 1) {
        global const float* below = from + at - size;
        global const float* here = from + at;
        global const float* above = from + at + size;
        sum = -below[-columns - 1] + 2 * below[-columns + 1] - 3 * here[-columns] + 4 * above[-columns + 1] +
              5 * below[1] + 6 * here[0] + 7 * above[1] - 8 * below[columns + 1] - 9 * here[columns] +
              10 * above[columns + 1] + 21 * above[-columns - 1];
    }
    to[at] = sum;
}
)";

constexpr std::size_t planes = 64;

class convolution_3d final : public program {
public:
    convolution_3d(unibuf::space where, scale size)
        : program(where, source),
          side_(size == scale::full ? 512 : 16),
          from_(random_numbers().take(planes * plane_)) {}

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(to_); }

private:
    std::size_t side_;
    std::size_t plane_ = side_ * side_;
    cl::Kernel convolve_ = kernel("convolve");
    std::vector<float> from_;
    std::vector<float> to_ = std::vector<float>(from_.size());
};

void convolution_3d::published() {
    cl::Buffer from(context(), CL_MEM_READ_WRITE, from_.size() * sizeof(float)),
        to(context(), CL_MEM_READ_WRITE, to_.size() * sizeof(float));
    queue().enqueueWriteBuffer(from, CL_TRUE, 0, from_.size() * sizeof(float), from_.data());
    queue().enqueueWriteBuffer(to, CL_TRUE, 0, to_.size() * sizeof(float), to_.data());
    for (std::size_t plane = 0; plane < planes; ++plane)
        run(queue(), convolve_, {side_, side_}, from, to, plane, planes);
    queue().enqueueReadBuffer(to, CL_TRUE, 0, to_.size() * sizeof(float), to_.data());
}

void convolution_3d::copy_all() {
    cl::Buffer from(context(), CL_MEM_READ_WRITE, from_.size() * sizeof(float)),
        to(context(), CL_MEM_READ_WRITE, to_.size() * sizeof(float));
    for (std::size_t plane = 0; plane < planes; ++plane) {
        queue().enqueueWriteBuffer(from, CL_TRUE, 0, from_.size() * sizeof(float), from_.data());
        queue().enqueueWriteBuffer(to, CL_TRUE, 0, to_.size() * sizeof(float), to_.data());
        run(queue(), convolve_, {side_, side_}, from, to, plane, planes);
        queue().enqueueReadBuffer(to, CL_TRUE, 0, to_.size() * sizeof(float), to_.data());
    }
}

void convolution_3d::expert() {
    cl::Buffer from(context(), CL_MEM_READ_WRITE, from_.size() * sizeof(float)),
        to(context(), CL_MEM_READ_WRITE, to_.size() * sizeof(float));
    queue().enqueueWriteBuffer(from, CL_TRUE, 0, from_.size() * sizeof(float), from_.data());
    for (std::size_t plane = 0; plane < planes; ++plane)
        run(queue(), convolve_, {side_, side_}, from, to, plane, planes);
    queue().enqueueReadBuffer(to, CL_TRUE, 0, to_.size() * sizeof(float), to_.data());
}

void convolution_3d::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> from({from_.size()}, options), to({to_.size()}, options);
    from.copy_from(from_, where());
    for (std::size_t plane = 0; plane < planes; ++plane) {
        opencl::enqueue(convolve_(), {side_, side_}, read(from), write(to, {.offset = plane * plane_, .count = plane_}),
                        plane, planes);
    }
    to.copy_to(to_, where());
}

void convolution_3d::touches(ledger& told) const {
    told.make("from", from_.size(), sizeof(float));
    told.make("to", to_.size(), sizeof(float));
    told.host_writes("from");
    for (std::size_t plane = 0; plane < planes; ++plane) {
        const bool is_inside = plane > 0 && plane < planes - 1;
        if (is_inside) told.device_reads({{"from", (plane - 1) * plane_, 3 * plane_}});
        told.device_writes({{"to", plane * plane_, plane_}});
    }
    told.host_reads("to");
}

const registered entry_of_convolution_3d({.name = "convolution_3d",
                                          .origin = "PolyBench",
                                          .problem = "a convolution of 64 planes of 512 x 512 numbers",
                                          .make = made<convolution_3d>});

}  // namespace
}  // namespace suite::convolution_3d_program
