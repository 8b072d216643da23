// suite/fdtd_2d.cpp: electric and magnetic fields in a square, step by step (PolyBench's fdtd-2d).
#include <unibuf/unibuf.hpp>

#include "program.hpp"
#include "random.hpp"

namespace suite {
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
    _cl_kernel* step_ey_ = kernels_["step_ey"];
    _cl_kernel* step_ex_ = kernels_["step_ex"];
    _cl_kernel* step_hz_ = kernels_["step_hz"];
    std::vector<float> pulse_, ex_, ey_, hz_;
    std::vector<float> result_ = std::vector<float>(side_ * side_);
};

void fdtd_2d::published() {
    device_array<float> pulse(on_, pulse_.size()), ex(on_, ex_.size()), ey(on_, ey_.size()), hz(on_, hz_.size());
    pulse.write(pulse_);
    ex.write(ex_);
    ey.write(ey_);
    hz.write(hz_);
    for (int step = 0; step < steps_; ++step) {
        run(on_, step_ey_, {side_, side_}, pulse, ey, hz, step);
        run(on_, step_ex_, {side_, side_}, ex, hz);
        run(on_, step_hz_, {side_, side_}, ex, ey, hz);
    }
    hz.read(result_);
}

void fdtd_2d::copy_all() {
    std::vector<float> ex = ex_, ey = ey_;
    result_ = hz_;
    device_array<float> device_pulse(on_, pulse_.size()), device_ex(on_, ex.size()), device_ey(on_, ey.size());
    device_array<float> device_hz(on_, result_.size());
    for (int step = 0; step < steps_; ++step) {
        device_pulse.write(pulse_);
        device_ey.write(ey);
        device_hz.write(result_);
        run(on_, step_ey_, {side_, side_}, device_pulse, device_ey, device_hz, step);
        device_ey.read(ey);
        device_ex.write(ex);
        device_hz.write(result_);
        run(on_, step_ex_, {side_, side_}, device_ex, device_hz);
        device_ex.read(ex);
        device_ex.write(ex);
        device_ey.write(ey);
        device_hz.write(result_);
        run(on_, step_hz_, {side_, side_}, device_ex, device_ey, device_hz);
        device_hz.read(result_);
    }
}

void fdtd_2d::expert() {
    device_array<float> pulse(on_, pulse_.size()), ex(on_, ex_.size()), ey(on_, ey_.size()), hz(on_, hz_.size());
    pulse.write(pulse_);
    ex.write(ex_);
    ey.write(std::span(ey_).subspan(side_), side_);
    hz.write(hz_);
    for (int step = 0; step < steps_; ++step) {
        run(on_, step_ey_, {side_, side_}, pulse, ey, hz, step);
        run(on_, step_ex_, {side_, side_}, ex, hz);
        run(on_, step_hz_, {side_, side_}, ex, ey, hz);
    }
    hz.read(result_);
}

void fdtd_2d::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> pulse({pulse_.size()}, options), ex({ex_.size()}, options), ey({ey_.size()}, options);
    unified_buffer<float> hz({hz_.size()}, options);
    pulse.copy_from(pulse_, where_);
    ex.copy_from(ex_, where_);
    ey.copy_from(std::span(ey_).subspan(side_), where_, side_);
    hz.copy_from(hz_, where_);
    for (int step = 0; step < steps_; ++step) {
        opencl::enqueue(step_ey_, {side_, side_}, read(pulse), read_write(ey), read(hz), step);
        opencl::enqueue(step_ex_, {side_, side_}, read_write(ex), read(hz));
        opencl::enqueue(step_hz_, {side_, side_}, read(ex), read(ey), read_write(hz));
    }
    hz.copy_to(result_, where_);
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
}  // namespace suite
