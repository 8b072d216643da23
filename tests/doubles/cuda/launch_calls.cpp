// tests/doubles/cuda/launch_calls.cpp: modules, which the double of NVRTC has compiled, and launches.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "doubles/cuda/calls.hpp"
#include "doubles/cuda/settings.hpp"
#include "doubles/cuda/stop.hpp"
#include "doubles/cuda/streams.hpp"
#include "doubles/nvrtc/kernel.hpp"

using namespace cuda_double;

struct CUfunc_st {
    CUmod_st* module = nullptr;
    const nvrtc_double::kernel* kernel = nullptr;
};

/// Never freed, so that late use is seen.
struct CUmod_st {
    CUctx_st* context = nullptr;
    int file = -1;            // with the image; its number names the library, so it is open for as long
    void* library = nullptr;  // null once it is unloaded
    std::map<std::string, CUfunc_st, std::less<>> functions;
    std::map<std::size_t, std::uint64_t> launched;  // the last operation, by stream
};

namespace {

constexpr result invalid_image = 200;
constexpr result unsupported_ptx_version = 222;
constexpr result not_found = 500;
constexpr unsigned most_threads = 1024;  // of a block
constexpr unsigned most_shared = 48U << 10U;

std::set<CUmod_st*>& modules() {
    static auto* const all = new std::set<CUmod_st*>;
    return *all;
}

/// Null where there is none behind the handle, or it is of another context.
CUmod_st* module_behind(const call& from, module_handle handle) {
    if (!modules().contains(handle) || handle->context != &from.context()) return nullptr;
    if (!handle->library) stop("%s of a module that was unloaded", from.name());
    return handle;
}

/// The shared library in an image, put into a file without a name; -1 where it is no image.
int file_of(const char* text) {
    std::size_t bytes = 0;
    if (std::sscanf(text, nvrtc_double::image_line, &bytes) != 1) return -1;
    const char* const library = std::strchr(text, '\n') + 1;
    const int file = ::memfd_create("kernels", MFD_CLOEXEC);
    if (::write(file, library, bytes) == static_cast<ssize_t>(bytes)) return file;
    stop("an image of %zu bytes finds no room", bytes);
}

/// The bytes of the arguments, kept until the kernel runs.
using arguments = std::vector<std::vector<std::byte>>;

bool reaches(const CUctx_st& from, const region& what) {
    if (what.what != region::kind::device || what.device == from.device) return true;
    return what.pool ? what.pool->open_to.contains(from.device) : from.peers.contains(what.device);
}

/// Finds what a pointer leads to: it becomes the host's, and all of the allocation is taken as touched.
void translate(const call& from, const nvrtc_double::parameter& as, std::vector<std::byte>& argument,
               std::vector<footprint>& touches) {
    device_pointer address = 0;
    std::memcpy(&address, argument.data(), sizeof address);
    if (address == 0) return;
    addresses& memory = from.in().memory;
    region* const found = memory.find(address);
    if (!found && chosen().reads_pageable && !memory.of_device(address)) return;
    if (!found) stop("a kernel is given 0x%llx, which is no memory of the device", address);
    if (found->freed) stop("a kernel is given 0x%llx: that memory was freed", address);
    if (!reaches(from.context(), *found)) {
        stop("a kernel on device %d is given 0x%llx, memory of device %d that it does not reach", from.context().device,
             address, found->device);
    }
    touches.push_back({found, found->begin, found->bytes, as.is_written});
    const std::byte* const bytes = memory.bytes_of(address);
    std::memcpy(argument.data(), &bytes, sizeof bytes);
}

void run(const nvrtc_double::kernel& kernel, arguments& with, nvrtc_double::dimensions grid,
         nvrtc_double::dimensions block) {
    std::vector<void*> pointers;
    for (std::vector<std::byte>& each : with) pointers.push_back(each.data());
    kernel.run(pointers.data(), grid, block);
}

bool can_be_launched(nvrtc_double::dimensions grid, nvrtc_double::dimensions block, unsigned shared) {
    for (const unsigned each : {grid.x, grid.y, grid.z, block.x, block.y, block.z}) {
        if (each == 0) return false;
    }
    const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
    return grid.x <= 0x7FFFFFFF && grid.y <= 0xFFFF && grid.z <= 0xFFFF && threads <= most_threads && block.z <= 64 &&
           shared <= most_shared;
}

}  // namespace

CUDA_DOUBLE_CALL cuModuleLoadData(module_handle* module, const void* image) {
    const call from("cuModuleLoadData", call::needs::safety);
    if (from.refused() != success) return from.refused();
    if (!module || !image) return invalid_value;
    const auto* text = static_cast<const char*>(image);
    if (int version = 0; std::sscanf(text, nvrtc_double::ptx_line, &version) == 1) {
        if (version > chosen().version) return unsupported_ptx_version;
        text = std::strchr(text, '\n') + 1;
    }
    const int file = file_of(text);
    if (file < 0) return invalid_image;
    void* const library = ::dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) stop("an image cannot be loaded: %s", ::dlerror());
    *module = *modules().insert(new CUmod_st).first;
    (*module)->context = &from.context();
    (*module)->file = file;
    (*module)->library = library;
    return success;
}

CUDA_DOUBLE_CALL cuModuleUnload(module_handle module) {
    const call from("cuModuleUnload", call::needs::safety);
    if (from.refused() != success) return from.refused();
    CUmod_st* const gone = module_behind(from, module);
    if (!gone) return invalid_handle;
    for (const auto& [stream, number] : gone->launched) {
        if (from.in().host.has_seen(stream, number)) continue;
        stop("missing order: cuModuleUnload, and its kernel, operation %llu of stream %zu, may still run",
             static_cast<unsigned long long>(number), stream);
    }
    ::dlclose(gone->library);
    ::close(gone->file);
    gone->library = nullptr;
    return success;
}

CUDA_DOUBLE_CALL cuModuleGetFunction(function_handle* function, module_handle module, const char* name) {
    const call from("cuModuleGetFunction", call::needs::context);
    if (from.refused() != success) return from.refused();
    if (!function || !name) return invalid_value;
    CUmod_st* const in = module_behind(from, module);
    if (!in) return invalid_handle;
    const void* const found = ::dlsym(in->library, (std::string(nvrtc_double::kernel_prefix) + name).c_str());
    if (!found) return not_found;
    *function = &in->functions[name];
    **function = {.module = in, .kernel = static_cast<const nvrtc_double::kernel*>(found)};
    return success;
}

CUDA_DOUBLE_CALL cuLaunchKernel(function_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                stream_handle stream, void** parameters, void** extra) {
    call from("cuLaunchKernel", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUmod_st* const module = function ? module_behind(from, function->module) : nullptr;
    CUstream_st* const on = stream_behind(from, stream);
    if (!module || !on) return invalid_handle;
    const nvrtc_double::dimensions grid{grid_x, grid_y, grid_z};
    const nvrtc_double::dimensions block{block_x, block_y, block_z};
    const nvrtc_double::kernel& kernel = *function->kernel;
    if (!can_be_launched(grid, block, shared) || (kernel.count > 0 && !parameters)) return invalid_value;
    if (extra) return not_supported;

    arguments with;
    std::vector<footprint> touches;
    for (std::size_t i = 0; i < kernel.count; ++i) {
        const nvrtc_double::parameter& as = kernel.parameters[i];
        const auto* const given = static_cast<const std::byte*>(parameters[i]);
        with.emplace_back(given, given + as.bytes);
        if (as.is_pointer) translate(from, as, with.back(), touches);
    }
    const result status =
        submit(from, *on, touches, [&kernel, with, grid, block]() mutable { ::run(kernel, with, grid, block); });
    if (status == success && on->capture == capture_none) module->launched[on->number] = on->operations;
    return status;
}

/// NVRTC asks for tables that are in no document, and crashes where it cannot ask.
CUDA_DOUBLE_CALL cuGetExportTable(const void** table, const void*) {
    *table = nullptr;
    return not_found;
}
