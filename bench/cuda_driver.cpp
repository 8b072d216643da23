// bench/cuda_driver.cpp
#include <dlfcn.h>
#include <fmt/format.h>
#include <unibuf/error.hpp>

#include <stdexcept>

#include "cuda.hpp"

namespace bench::cuda {
namespace {

using device_pointer = unsigned long long;

/// CUDA_MEMCPY2D.
struct plane {
    struct end {
        std::size_t column = 0;
        std::size_t row = 0;
        int memory = 0;
        void* host = nullptr;
        device_pointer device = 0;
        void* array = nullptr;
        std::size_t pitch = 0;
    };
    end source{};
    end target{};
    std::size_t width = 0;
    std::size_t height = 0;
};

void check(int status, const char* name) {
    if (status != 0) throw std::runtime_error(fmt::format("{} answered {}", name, status));
}

/// A function of the driver, which unibuf has loaded already.
template <class... Arguments>
class function {
public:
    explicit function(const char* name) : name_(name) {
        void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
        void* const found = driver ? ::dlsym(driver, name) : nullptr;
        if (!found) throw std::runtime_error(fmt::format("libcuda.so.1 has no {}", name));
        call_ = reinterpret_cast<int (*)(Arguments...)>(found);
    }

    void operator()(Arguments... arguments) const { check(call_(arguments...), name_); }

private:
    const char* name_;
    int (*call_)(Arguments...) = nullptr;
};

struct functions {
    function<CUctx_st*> push{"cuCtxPushCurrent_v2"};
    function<CUctx_st**> pop{"cuCtxPopCurrent_v2"};
    function<CUstream_st**, unsigned> create{"cuStreamCreate"};
    function<CUstream_st*> destroy{"cuStreamDestroy_v2"};
    function<CUstream_st*> wait{"cuStreamSynchronize"};
    function<device_pointer, const void*, std::size_t, CUstream_st*> to_device{"cuMemcpyHtoDAsync_v2"};
    function<void*, device_pointer, std::size_t, CUstream_st*> to_host{"cuMemcpyDtoHAsync_v2"};
    function<const plane*, CUstream_st*> copy_plane{"cuMemcpy2DAsync_v2"};
    function<device_pointer, unsigned char, std::size_t, CUstream_st*> set{"cuMemsetD8Async"};
};

const functions& driver() {
    static const functions once;
    return once;
}

plane::end at_host(const rows& all) {
    constexpr int host_memory = 1;
    return {.memory = host_memory, .host = all.host, .pitch = all.host_pitch};
}

plane::end on_device(const rows& all) {
    constexpr int device_memory = 2;
    return {.memory = device_memory, .device = all.device, .pitch = all.device_pitch};
}

unibuf::space device() {
    try {
        return unibuf::space("cuda:0");
    } catch (const unibuf::error& missing) {
        throw unibuf::error(missing.code(), "no CUDA device");  // `unibuf devices` says why
    }
}

}  // namespace

unibuf::space device_for(std::size_t bytes) {
    const unibuf::space found = device();
    for (const unibuf::space where : {found, unibuf::host}) {
        const std::uint64_t free = unibuf::memory_of(where).free.value_or(0);
        if (bytes <= free / 4) continue;
        throw unibuf::error(
            unibuf::error_code::device_unavailable,
            fmt::format("{} has {} MiB free, of which a quarter may be taken", where.name(), free / mib));
    }
    return found;
}

stream::stream() {
    constexpr unsigned non_blocking = 1;
    driver().push(unibuf::cuda::handles_of("cuda:0").context);
    driver().create(&native_, non_blocking);
}

stream::~stream() {
    try {
        CUctx_st* popped = nullptr;
        driver().destroy(native_);
        driver().pop(&popped);
    } catch (const std::exception&) {  // the measurement is over
    }
}

void stream::to_device(std::uintptr_t to, std::span<const std::byte> from) const {
    driver().to_device(to, from.data(), from.size(), native_);
}

void stream::to_host(std::span<std::byte> to, std::uintptr_t from) const {
    driver().to_host(to.data(), from, to.size(), native_);
}

void stream::to_device(const rows& all) const {
    const plane copy{.source = at_host(all), .target = on_device(all), .width = all.bytes, .height = all.count};
    driver().copy_plane(&copy, native_);
}

void stream::to_host(const rows& all) const {
    const plane copy{.source = on_device(all), .target = at_host(all), .width = all.bytes, .height = all.count};
    driver().copy_plane(&copy, native_);
}

void stream::set(std::uintptr_t to, std::size_t bytes) const { driver().set(to, 0, bytes, native_); }

void stream::wait() const { driver().wait(native_); }

}  // namespace bench::cuda
