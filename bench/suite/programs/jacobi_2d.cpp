// suite/jacobi_2d.cpp: means of neighbours in a square, again and again (PolyBench's jacobi-2d).
#include <unibuf/unibuf.hpp>

#include "program.hpp"
#include "random.hpp"

namespace suite::jacobi_2d_program {
namespace {

constexpr const char* source = R"(
kernel void smooth(global const float* from, global float* to) {
    const int column = get_global_id(0);
    const int row = get_global_id(1);
    const int columns = get_global_size(0);
    const int rows = get_global_size(1);
    const int at = row * columns + column;
    const bool is_inside = row > 0 && row < rows - 1 && column > 0 && column < columns - 1;
    to[at] = is_inside ? 0.2f * (from[at] + from[at - 1] + from[at + 1] + from[at + columns] + from[at - columns])
                       : from[at];
}
)";

constexpr int steps = 40;

class jacobi_2d final : public program {
public:
    jacobi_2d(unibuf::space where, scale size)
        : program(where, source),
          side_(size == scale::full ? 2048 : 32),
          start_(random_numbers().take(side_ * side_)) {}

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(result_); }

private:
    std::size_t side_;
    cl::Kernel smooth_ = kernel("smooth");
    std::vector<float> start_;
    std::vector<float> result_ = std::vector<float>(start_.size());
};

void jacobi_2d::published() {
    std::vector<float> b = start_;
    cl::Buffer device_a(context(), CL_MEM_READ_WRITE, start_.size() * sizeof(float)),
        device_b(context(), CL_MEM_READ_WRITE, start_.size() * sizeof(float));
    queue().enqueueWriteBuffer(device_a, CL_TRUE, 0, start_.size() * sizeof(float), start_.data());
    queue().enqueueWriteBuffer(device_b, CL_TRUE, 0, start_.size() * sizeof(float), b.data());
    for (int step = 0; step < steps; ++step) {
        run(queue(), smooth_, {side_, side_}, device_a, device_b);
        run(queue(), smooth_, {side_, side_}, device_b, device_a);
    }
    queue().enqueueReadBuffer(device_a, CL_TRUE, 0, start_.size() * sizeof(float), result_.data());
    queue().enqueueReadBuffer(device_b, CL_TRUE, 0, start_.size() * sizeof(float), b.data());
}

void jacobi_2d::copy_all() {
    std::vector<float> b(start_.size());
    cl::Buffer device_a(context(), CL_MEM_READ_WRITE, start_.size() * sizeof(float)),
        device_b(context(), CL_MEM_READ_WRITE, start_.size() * sizeof(float));
    result_ = start_;
    for (int step = 0; step < steps; ++step) {
        queue().enqueueWriteBuffer(device_a, CL_TRUE, 0, start_.size() * sizeof(float), result_.data());
        queue().enqueueWriteBuffer(device_b, CL_TRUE, 0, start_.size() * sizeof(float), b.data());
        run(queue(), smooth_, {side_, side_}, device_a, device_b);
        queue().enqueueReadBuffer(device_b, CL_TRUE, 0, start_.size() * sizeof(float), b.data());
        queue().enqueueWriteBuffer(device_a, CL_TRUE, 0, start_.size() * sizeof(float), result_.data());
        queue().enqueueWriteBuffer(device_b, CL_TRUE, 0, start_.size() * sizeof(float), b.data());
        run(queue(), smooth_, {side_, side_}, device_b, device_a);
        queue().enqueueReadBuffer(device_a, CL_TRUE, 0, start_.size() * sizeof(float), result_.data());
    }
}

void jacobi_2d::expert() {
    cl::Buffer a(context(), CL_MEM_READ_WRITE, start_.size() * sizeof(float)),
        b(context(), CL_MEM_READ_WRITE, start_.size() * sizeof(float));
    queue().enqueueWriteBuffer(a, CL_TRUE, 0, start_.size() * sizeof(float), start_.data());
    for (int step = 0; step < steps; ++step) {
        run(queue(), smooth_, {side_, side_}, a, b);
        run(queue(), smooth_, {side_, side_}, b, a);
    }
    queue().enqueueReadBuffer(a, CL_TRUE, 0, start_.size() * sizeof(float), result_.data());
}

void jacobi_2d::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> a({start_.size()}, options), b({start_.size()}, options);
    a.copy_from(start_, where());
    for (int step = 0; step < steps; ++step) {
        opencl::enqueue(smooth_(), {side_, side_}, read(a), write(b));
        opencl::enqueue(smooth_(), {side_, side_}, read(b), write(a));
    }
    a.copy_to(result_, where());
}

void jacobi_2d::touches(ledger& told) const {
    for (const char* each : {"a", "b"}) told.make(each, start_.size(), sizeof(float));
    told.host_writes("a");
    for (int step = 0; step < steps; ++step) {
        told.device_reads({"a"});
        told.device_writes({"b"});
        told.device_reads({"b"});
        told.device_writes({"a"});
    }
    told.host_reads("a");
}

const registered entry_of_jacobi_2d({.name = "jacobi_2d",
                                     .origin = "PolyBench",
                                     .problem = "40 double steps of Jacobi's method on 2,048 x 2,048 numbers",
                                     .make = made<jacobi_2d>});

}  // namespace
}  // namespace suite::jacobi_2d_program
