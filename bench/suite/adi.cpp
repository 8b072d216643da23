// suite/adi.cpp: tridiagonal systems along the rows of a square, then along its columns (PolyBench's adi).
#include <unibuf/unibuf.hpp>

#include "program.hpp"
#include "random.hpp"

namespace suite {
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
    _cl_kernel* eliminate_ = kernels_["eliminate"];
    _cl_kernel* substitute_ = kernels_["substitute"];
    std::vector<float> x_, a_, b_;
    std::vector<float> result_ = std::vector<float>(count_);
};

void adi::published() {
    std::vector<float> b_result(count_);
    device_array<float> x(on_, count_), a(on_, count_), b(on_, count_);
    a.write(a_);
    b.write(b_);
    x.write(x_);
    for (int step = 0; step < steps; ++step) {
        run(on_, eliminate_, side_, x, a, b, side_, next_in_row);
        run(on_, substitute_, side_, x, a, b, side_, next_in_row);
        run(on_, eliminate_, side_, x, a, b, next_in_row, side_);
        run(on_, substitute_, side_, x, a, b, next_in_row, side_);
    }
    b.read(b_result);
    x.read(result_);
}

void adi::copy_all() {
    std::vector<float> b = b_;
    result_ = x_;
    device_array<float> device_x(on_, count_), device_a(on_, count_), device_b(on_, count_);
    const auto sweep = [&](int line, int next) {
        device_x.write(result_);
        device_a.write(a_);
        device_b.write(b);
        run(on_, eliminate_, side_, device_x, device_a, device_b, line, next);
        device_x.read(result_);
        device_b.read(b);
        device_x.write(result_);
        device_a.write(a_);
        device_b.write(b);
        run(on_, substitute_, side_, device_x, device_a, device_b, line, next);
        device_x.read(result_);
    };
    for (int step = 0; step < steps; ++step) {
        sweep(side_, next_in_row);
        sweep(next_in_row, side_);
    }
}

void adi::expert() {
    device_array<float> x(on_, count_), a(on_, count_), b(on_, count_);
    x.write(x_);
    a.write(a_);
    b.write(b_);
    for (int step = 0; step < steps; ++step) {
        run(on_, eliminate_, side_, x, a, b, side_, next_in_row);
        run(on_, substitute_, side_, x, a, b, side_, next_in_row);
        run(on_, eliminate_, side_, x, a, b, next_in_row, side_);
        run(on_, substitute_, side_, x, a, b, next_in_row, side_);
    }
    x.read(result_);
}

void adi::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> x({count_}, options), a({count_}, options), b({count_}, options);
    x.copy_from(x_, where_);
    a.copy_from(a_, where_);
    b.copy_from(b_, where_);
    for (int step = 0; step < steps; ++step) {
        opencl::enqueue(eliminate_, side_, read_write(x), read(a), read_write(b), side_, next_in_row);
        opencl::enqueue(substitute_, side_, read_write(x), read(a), read(b), side_, next_in_row);
        opencl::enqueue(eliminate_, side_, read_write(x), read(a), read_write(b), next_in_row, side_);
        opencl::enqueue(substitute_, side_, read_write(x), read(a), read(b), next_in_row, side_);
    }
    x.copy_to(result_, where_);
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
}  // namespace suite
