// conv2d/opencl_api.cpp: looks the functions up.
#include "opencl_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace conv2d::cl {
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

}  // namespace conv2d::cl
