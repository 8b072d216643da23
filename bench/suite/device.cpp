// suite/device.cpp
#include "device.hpp"

namespace suite {
namespace {

std::uint64_t total = 0;

}  // namespace

std::uint64_t moved_by_hand() noexcept { return total; }

void detail::count_moved(std::size_t bytes) noexcept { total += bytes; }

void start(const unibuf::opencl::handles& on, _cl_kernel* kernel, const unibuf::opencl::nd_range& items) {
    const auto& all = items.items();
    const std::size_t* const group = items.group() ? items.group()->in.data() : nullptr;
    examples::cl::check(examples::cl::api().clEnqueueNDRangeKernel(on.queue, kernel, all.dimensions, nullptr,
                                                                   all.in.data(), group, 0, nullptr, nullptr),
                        "clEnqueueNDRangeKernel");
}

void copy(const unibuf::opencl::handles& on, _cl_mem* from, _cl_mem* to, std::size_t bytes) {
    bench::opencl::copy(on.queue, from, to, bytes);
}

_cl_kernel* kernels::operator[](const char* name) {
    std::unique_ptr<examples::cl::kernel_program>& built = built_[name];
    if (!built) built = std::make_unique<examples::cl::kernel_program>(on_, source_, name);
    return built->native();
}

}  // namespace suite
