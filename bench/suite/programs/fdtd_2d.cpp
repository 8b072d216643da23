// suite/fdtd_2d.cpp: electric and magnetic fields in a square, step by step (PolyBench's fdtd-2d).
#include <unibuf/unibuf.hpp>

#include "program.hpp"
#include "random.hpp"

namespace suite::fdtd_2d_program {
namespace {

constexpr const char* source = R"(
kernel void step_ey(global const float* pulse, global float* ey, global const float* hz, int step) {
    const int column = get_global_id(0);
    const int row = get_global_id(1);
    const int columns = get_global_size(0);
    const int at = row * columns + column;
    ey[at] = row == 0 ? pulse[step] : ey[at] - 0.5f * (hz[at] - hz[at - columns]);
}

kernel void step_ex(global float* ex, global const float* hz) {
    const int column = get_global_id(0);
    const int at = get_global_id(1) * get_global_size(0) + column;
    if (column > 0) ex[at] -= 0.5f * (hz[at] - hz[at - 1]);
}

kernel void step_hz(global const float* ex, global const float* ey, global float* hz) {
    const int column = get_global_id(0);
    const int row = get_global_id(1);
    const int columns = get_global_size(0);
    const int rows = get_global_size(1);
    const int at = row * columns + column;
    if (row < rows - 1 && column < columns - 1) hz[at] -= 0.7f * (ex[at + 1] - ex[at] + ey[at + columns] - ey[at]);
}
)";

class fdtd_2d final : public program {
public:
    fdtd_2d(unibuf::space where, scale size)
        : program(where, source), side_(size == scale::full ? 1024 : 32), steps_(size == scale::full ? 200 : 10) {
        random_numbers random;
        for (int step = 0; step < steps_; ++step) pulse_.push_back(static_cast<float>(step));
        for (auto* each : {&ex_, &ey_, &hz_}) *each = random.take(side_ * side_);
    }

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(result_); }

private:
    std::size_t side_;
    int steps_;
    cl::Kernel step_ey_ = kernel("step_ey");
    cl::Kernel step_ex_ = kernel("step_ex");
    cl::Kernel step_hz_ = kernel("step_hz");
    std::vector<float> pulse_, ex_, ey_, hz_;
    std::vector<float> result_ = std::vector<float>(side_ * side_);
};

void fdtd_2d::published() {
    cl::Buffer pulse(context(), CL_MEM_READ_WRITE, pulse_.size() * sizeof(float)),
        ex(context(), CL_MEM_READ_WRITE, ex_.size() * sizeof(float)),
        ey(context(), CL_MEM_READ_WRITE, ey_.size() * sizeof(float)),
        hz(context(), CL_MEM_READ_WRITE, hz_.size() * sizeof(float));
    queue().enqueueWriteBuffer(pulse, CL_TRUE, 0, pulse_.size() * sizeof(float), pulse_.data());
    queue().enqueueWriteBuffer(ex, CL_TRUE, 0, ex_.size() * sizeof(float), ex_.data());
    queue().enqueueWriteBuffer(ey, CL_TRUE, 0, ey_.size() * sizeof(float), ey_.data());
    queue().enqueueWriteBuffer(hz, CL_TRUE, 0, hz_.size() * sizeof(float), hz_.data());
    for (int step = 0; step < steps_; ++step) {
        run(queue(), step_ey_, {side_, side_}, pulse, ey, hz, step);
        run(queue(), step_ex_, {side_, side_}, ex, hz);
        run(queue(), step_hz_, {side_, side_}, ex, ey, hz);
    }
    queue().enqueueReadBuffer(hz, CL_TRUE, 0, hz_.size() * sizeof(float), result_.data());
}

void fdtd_2d::copy_all() {
    std::vector<float> ex = ex_, ey = ey_;
    result_ = hz_;
    cl::Buffer device_pulse(context(), CL_MEM_READ_WRITE, pulse_.size() * sizeof(float)),
        device_ex(context(), CL_MEM_READ_WRITE, ex.size() * sizeof(float)),
        device_ey(context(), CL_MEM_READ_WRITE, ey.size() * sizeof(float));
    cl::Buffer device_hz(context(), CL_MEM_READ_WRITE, result_.size() * sizeof(float));
    for (int step = 0; step < steps_; ++step) {
        queue().enqueueWriteBuffer(device_pulse, CL_TRUE, 0, pulse_.size() * sizeof(float), pulse_.data());
        queue().enqueueWriteBuffer(device_ey, CL_TRUE, 0, ey.size() * sizeof(float), ey.data());
        queue().enqueueWriteBuffer(device_hz, CL_TRUE, 0, result_.size() * sizeof(float), result_.data());
        run(queue(), step_ey_, {side_, side_}, device_pulse, device_ey, device_hz, step);
        queue().enqueueReadBuffer(device_ey, CL_TRUE, 0, ey.size() * sizeof(float), ey.data());
        queue().enqueueWriteBuffer(device_ex, CL_TRUE, 0, ex.size() * sizeof(float), ex.data());
        queue().enqueueWriteBuffer(device_hz, CL_TRUE, 0, result_.size() * sizeof(float), result_.data());
        run(queue(), step_ex_, {side_, side_}, device_ex, device_hz);
        queue().enqueueReadBuffer(device_ex, CL_TRUE, 0, ex.size() * sizeof(float), ex.data());
        queue().enqueueWriteBuffer(device_ex, CL_TRUE, 0, ex.size() * sizeof(float), ex.data());
        queue().enqueueWriteBuffer(device_ey, CL_TRUE, 0, ey.size() * sizeof(float), ey.data());
        queue().enqueueWriteBuffer(device_hz, CL_TRUE, 0, result_.size() * sizeof(float), result_.data());
        run(queue(), step_hz_, {side_, side_}, device_ex, device_ey, device_hz);
        queue().enqueueReadBuffer(device_hz, CL_TRUE, 0, result_.size() * sizeof(float), result_.data());
    }
}

void fdtd_2d::expert() {
    cl::Buffer pulse(context(), CL_MEM_READ_WRITE, pulse_.size() * sizeof(float)),
        ex(context(), CL_MEM_READ_WRITE, ex_.size() * sizeof(float)),
        ey(context(), CL_MEM_READ_WRITE, ey_.size() * sizeof(float)),
        hz(context(), CL_MEM_READ_WRITE, hz_.size() * sizeof(float));
    queue().enqueueWriteBuffer(pulse, CL_TRUE, 0, pulse_.size() * sizeof(float), pulse_.data());
    queue().enqueueWriteBuffer(ex, CL_TRUE, 0, ex_.size() * sizeof(float), ex_.data());
    queue().enqueueWriteBuffer(ey, CL_TRUE, side_ * sizeof(float), (ey_.size() - side_) * sizeof(float), &ey_[side_]);
    queue().enqueueWriteBuffer(hz, CL_TRUE, 0, hz_.size() * sizeof(float), hz_.data());
    for (int step = 0; step < steps_; ++step) {
        run(queue(), step_ey_, {side_, side_}, pulse, ey, hz, step);
        run(queue(), step_ex_, {side_, side_}, ex, hz);
        run(queue(), step_hz_, {side_, side_}, ex, ey, hz);
    }
    queue().enqueueReadBuffer(hz, CL_TRUE, 0, hz_.size() * sizeof(float), result_.data());
}

void fdtd_2d::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> pulse({pulse_.size()}, options), ex({ex_.size()}, options), ey({ey_.size()}, options);
    unified_buffer<float> hz({hz_.size()}, options);
    pulse.copy_from(pulse_, where());
    ex.copy_from(ex_, where());
    ey.copy_from(std::span(ey_).subspan(side_), where(), side_);
    hz.copy_from(hz_, where());
    for (int step = 0; step < steps_; ++step) {
        opencl::enqueue(step_ey_(), {side_, side_}, read(pulse), read_write(ey), read(hz), step);
        opencl::enqueue(step_ex_(), {side_, side_}, read_write(ex), read(hz));
        opencl::enqueue(step_hz_(), {side_, side_}, read(ex), read(ey), read_write(hz));
    }
    hz.copy_to(result_, where());
}

void fdtd_2d::touches(ledger& told) const {
    told.make("pulse", pulse_.size(), sizeof(float));
    for (const char* each : {"ex", "ey", "hz"}) told.make(each, side_ * side_, sizeof(float));
    for (const char* each : {"pulse", "ex", "ey", "hz"}) told.host_writes(each);
    for (int step = 0; step < steps_; ++step) {
        told.device_reads({{"pulse", static_cast<std::size_t>(step), 1}});
        told.device_writes({{"ey", 0, side_}});
        told.device_reads({{"ey", side_, side_ * (side_ - 1)}, "hz"});
        told.device_writes({{"ey", side_, side_ * (side_ - 1)}});
        told.device_reads({"ex", "hz"});
        told.device_writes({"ex"});
        told.device_reads({"ex", "ey", "hz"});
        told.device_writes({"hz"});
    }
    told.host_reads("hz");
}

const registered entry_of_fdtd_2d({.name = "fdtd_2d",
                                   .origin = "PolyBench",
                                   .problem = "200 steps of three fields of 1,024 x 1,024 numbers",
                                   .make = made<fdtd_2d>});

}  // namespace
}  // namespace suite::fdtd_2d_program
