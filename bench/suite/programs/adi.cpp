// suite/adi.cpp: tridiagonal systems along the rows of a square, then along its columns (PolyBench's adi).
#include <unibuf/unibuf.hpp>

#include "program.hpp"
#include "random.hpp"

namespace suite::adi_program {
namespace {

// Line i, a row or a column, begins at i * line, and its elements are `next` apart. Each line is a system, whose
// diagonal is b, and what stands beside it a: a[i] couples i with i - 1.
constexpr const char* source = R"(
kernel void eliminate(global float* x, global const float* a, global float* b, int line, int next) {
    const int begin = get_global_id(0) * line;
    const int end = begin + get_global_size(0) * next;
    for (int at = begin + next; at < end; at += next) {
        const float factor = a[at] / b[at - next];
        x[at] -= factor * x[at - next];
        b[at] -= factor * a[at];
    }
}

kernel void substitute(global float* x, global const float* a, global const float* b, int line, int next) {
    const int begin = get_global_id(0) * line;
    int at = begin + (get_global_size(0) - 1) * next;
    x[at] /= b[at];
    for (at -= next; at >= begin; at -= next) x[at] = (x[at] - a[at + next] * x[at + next]) / b[at];
}
)";

constexpr int steps = 6;
constexpr int next_in_row = 1;

class adi final : public program {
public:
    // Rows a power of two apart would share their cache lines' places: they took twice the time.
    adi(unibuf::space where, scale size) : program(where, source), side_(size == scale::full ? 2000 : 32) {
        random_numbers random;
        for (auto* each : {&x_, &a_, &b_}) *each = random.take(count_);
        for (float& each : b_) each += 8;  // the diagonal outweighs what is beside it, in each step
    }

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(result_); }

private:
    int side_;
    std::size_t count_ = static_cast<std::size_t>(side_) * static_cast<std::size_t>(side_);
    cl::Kernel eliminate_ = kernel("eliminate");
    cl::Kernel substitute_ = kernel("substitute");
    std::vector<float> x_, a_, b_;
    std::vector<float> result_ = std::vector<float>(count_);
};

void adi::published() {
    std::vector<float> b_result(count_);
    cl::Buffer x(context(), CL_MEM_READ_WRITE, count_ * sizeof(float)),
        a(context(), CL_MEM_READ_WRITE, count_ * sizeof(float)),
        b(context(), CL_MEM_READ_WRITE, count_ * sizeof(float));
    queue().enqueueWriteBuffer(a, CL_TRUE, 0, count_ * sizeof(float), a_.data());
    queue().enqueueWriteBuffer(b, CL_TRUE, 0, count_ * sizeof(float), b_.data());
    queue().enqueueWriteBuffer(x, CL_TRUE, 0, count_ * sizeof(float), x_.data());
    for (int step = 0; step < steps; ++step) {
        run(queue(), eliminate_, side_, x, a, b, side_, next_in_row);
        run(queue(), substitute_, side_, x, a, b, side_, next_in_row);
        run(queue(), eliminate_, side_, x, a, b, next_in_row, side_);
        run(queue(), substitute_, side_, x, a, b, next_in_row, side_);
    }
    queue().enqueueReadBuffer(b, CL_TRUE, 0, count_ * sizeof(float), b_result.data());
    queue().enqueueReadBuffer(x, CL_TRUE, 0, count_ * sizeof(float), result_.data());
}

void adi::copy_all() {
    std::vector<float> b = b_;
    result_ = x_;
    cl::Buffer device_x(context(), CL_MEM_READ_WRITE, count_ * sizeof(float)),
        device_a(context(), CL_MEM_READ_WRITE, count_ * sizeof(float)),
        device_b(context(), CL_MEM_READ_WRITE, count_ * sizeof(float));
    const auto sweep = [&](int line, int next) {
        queue().enqueueWriteBuffer(device_x, CL_TRUE, 0, count_ * sizeof(float), result_.data());
        queue().enqueueWriteBuffer(device_a, CL_TRUE, 0, count_ * sizeof(float), a_.data());
        queue().enqueueWriteBuffer(device_b, CL_TRUE, 0, count_ * sizeof(float), b.data());
        run(queue(), eliminate_, side_, device_x, device_a, device_b, line, next);
        queue().enqueueReadBuffer(device_x, CL_TRUE, 0, count_ * sizeof(float), result_.data());
        queue().enqueueReadBuffer(device_b, CL_TRUE, 0, count_ * sizeof(float), b.data());
        queue().enqueueWriteBuffer(device_x, CL_TRUE, 0, count_ * sizeof(float), result_.data());
        queue().enqueueWriteBuffer(device_a, CL_TRUE, 0, count_ * sizeof(float), a_.data());
        queue().enqueueWriteBuffer(device_b, CL_TRUE, 0, count_ * sizeof(float), b.data());
        run(queue(), substitute_, side_, device_x, device_a, device_b, line, next);
        queue().enqueueReadBuffer(device_x, CL_TRUE, 0, count_ * sizeof(float), result_.data());
    };
    for (int step = 0; step < steps; ++step) {
        sweep(side_, next_in_row);
        sweep(next_in_row, side_);
    }
}

void adi::expert() {
    cl::Buffer x(context(), CL_MEM_READ_WRITE, count_ * sizeof(float)),
        a(context(), CL_MEM_READ_WRITE, count_ * sizeof(float)),
        b(context(), CL_MEM_READ_WRITE, count_ * sizeof(float));
    queue().enqueueWriteBuffer(x, CL_TRUE, 0, count_ * sizeof(float), x_.data());
    queue().enqueueWriteBuffer(a, CL_TRUE, 0, count_ * sizeof(float), a_.data());
    queue().enqueueWriteBuffer(b, CL_TRUE, 0, count_ * sizeof(float), b_.data());
    for (int step = 0; step < steps; ++step) {
        run(queue(), eliminate_, side_, x, a, b, side_, next_in_row);
        run(queue(), substitute_, side_, x, a, b, side_, next_in_row);
        run(queue(), eliminate_, side_, x, a, b, next_in_row, side_);
        run(queue(), substitute_, side_, x, a, b, next_in_row, side_);
    }
    queue().enqueueReadBuffer(x, CL_TRUE, 0, count_ * sizeof(float), result_.data());
}

void adi::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> x({count_}, options), a({count_}, options), b({count_}, options);
    x.copy_from(x_, where());
    a.copy_from(a_, where());
    b.copy_from(b_, where());
    for (int step = 0; step < steps; ++step) {
        opencl::enqueue(eliminate_(), side_, read_write(x), read(a), read_write(b), side_, next_in_row);
        opencl::enqueue(substitute_(), side_, read_write(x), read(a), read(b), side_, next_in_row);
        opencl::enqueue(eliminate_(), side_, read_write(x), read(a), read_write(b), next_in_row, side_);
        opencl::enqueue(substitute_(), side_, read_write(x), read(a), read(b), next_in_row, side_);
    }
    x.copy_to(result_, where());
}

void adi::touches(ledger& told) const {
    for (const char* each : {"x", "a", "b"}) {
        told.make(each, count_, sizeof(float));
        told.host_writes(each);
    }
    for (int sweep = 0; sweep < 2 * steps; ++sweep) {
        told.device_reads({"x", "a", "b"});
        told.device_writes({"x", "b"});
        told.device_reads({"x", "a", "b"});
        told.device_writes({"x"});
    }
    told.host_reads("x");
}

const registered entry_of_adi({.name = "adi",
                               .origin = "PolyBench",
                               .problem = "6 steps of an implicit method on 2,000 x 2,000 numbers",
                               .make = made<adi>});

}  // namespace
}  // namespace suite::adi_program
