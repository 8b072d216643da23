// common/opencl_api.cpp: looks the functions up, and builds kernels.
#include "opencl_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace examples::cl {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
    void* const address = library ? ::dlsym(library, name) : nullptr;
    if (!address) throw std::runtime_error(fmt::format("libOpenCL.so.1 has no {}", name));
    function = reinterpret_cast<Function>(address);
}

functions load() {
    void* const library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    functions found{};
    find(library, "clCreateProgramWithSource", found.clCreateProgramWithSource);
    find(library, "clBuildProgram", found.clBuildProgram);
    find(library, "clGetProgramBuildInfo", found.clGetProgramBuildInfo);
    find(library, "clReleaseProgram", found.clReleaseProgram);
    find(library, "clCreateKernel", found.clCreateKernel);
    find(library, "clReleaseKernel", found.clReleaseKernel);
    find(library, "clSetKernelArg", found.clSetKernelArg);
    find(library, "clEnqueueNDRangeKernel", found.clEnqueueNDRangeKernel);
    find(library, "clCreateBuffer", found.clCreateBuffer);
    find(library, "clReleaseMemObject", found.clReleaseMemObject);
    find(library, "clEnqueueWriteBuffer", found.clEnqueueWriteBuffer);
    find(library, "clEnqueueReadBuffer", found.clEnqueueReadBuffer);
    return found;
}

}  // namespace

const functions& api() {
    static const functions loaded = load();
    return loaded;
}

void check(status answer, const char* what) {
    if (answer != 0) throw std::runtime_error(fmt::format("{} failed: OpenCL status {}", what, answer));
}

kernel_program::kernel_program(const unibuf::opencl::handles& on, const char* source, const char* name) : on_(on) {
    status answer = 0;
    program_ = api().clCreateProgramWithSource(on_.context, 1, &source, nullptr, &answer);
    check(answer, "clCreateProgramWithSource");
    try {
        build();
        kernel_ = api().clCreateKernel(program_, name, &answer);
        check(answer, "clCreateKernel");
    } catch (...) {
        api().clReleaseProgram(program_);
        throw;
    }
}

kernel_program::~kernel_program() {
    api().clReleaseKernel(kernel_);
    api().clReleaseProgram(program_);
}

void kernel_program::build() const {
    if (api().clBuildProgram(program_, 1, &on_.device, "", nullptr, nullptr) == 0) return;
    std::string log(4096, '\0');
    std::size_t length = 0;
    api().clGetProgramBuildInfo(program_, on_.device, build_log, log.size(), log.data(), &length);
    log.resize(std::min(length, log.size()));
    throw std::runtime_error("the OpenCL kernel does not compile: " + log);
}

void kernel_program::enqueue(std::size_t across, std::size_t down) const {
    const std::array items = {across, down};
    check(api().clEnqueueNDRangeKernel(on_.queue, kernel_, 2, nullptr, items.data(), nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
}

}  // namespace examples::cl
