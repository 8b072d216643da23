// suite/device.hpp: the device that the suite's programs run on, and what those that move their data by hand have
// around the driver's calls: as short as it gets, so that their code is compared at its best.
#pragma once

#include <unibuf/opencl.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "common/opencl_api.hpp"
#include "opencl.hpp"

namespace suite {

/// The bytes that device_arrays have moved.
std::uint64_t moved_by_hand() noexcept;

namespace detail {

void count_moved(std::size_t bytes) noexcept;

}  // namespace detail

/// An array in an OpenCL device's memory. Its functions wait until the bytes are there, but for `fill`.
template <class T>
class device_array {
public:
    device_array(const unibuf::opencl::handles& on, std::size_t count)
        : queue_(on.queue), count_(count), memory_(on.context, count * sizeof(T)) {}

    void write(std::span<const T> from, std::size_t offset = 0) {
        bench::opencl::write(queue_, memory_.get(), std::as_bytes(from), offset * sizeof(T));
        detail::count_moved(from.size_bytes());
    }
    void read(std::span<T> to, std::size_t offset = 0) const {
        bench::opencl::read(queue_, memory_.get(), std::as_writable_bytes(to), offset * sizeof(T));
        detail::count_moved(to.size_bytes());
    }
    void fill(T value) { fill(value, 0, count_); }
    void fill(T value, std::size_t offset, std::size_t count) {
        bench::opencl::fill(queue_, memory_.get(), offset * sizeof(T), count * sizeof(T), value);
    }

    _cl_mem* native() const noexcept { return memory_.get(); }

private:
    _cl_command_queue* queue_;
    std::size_t count_;
    bench::opencl::owned memory_;
};

template <class T>
_cl_mem* as_argument(const device_array<T>& of) noexcept {
    return of.native();
}
template <class T>
    requires std::is_arithmetic_v<T>
T as_argument(T value) noexcept {
    return value;
}

/// Queues a kernel for so many work items.
void start(const unibuf::opencl::handles& on, _cl_kernel* kernel, const unibuf::opencl::nd_range& items);

/// Sets the arguments of a kernel, arrays and numbers, and queues it.
template <class... Arguments>
void run(const unibuf::opencl::handles& on, _cl_kernel* kernel, const unibuf::opencl::nd_range& items,
         const Arguments&... arguments) {
    std::uint32_t index = 0;
    const auto set = [&](auto value) {
        examples::cl::check(examples::cl::api().clSetKernelArg(kernel, index++, sizeof value, &value),
                            "clSetKernelArg");
    };
    (set(as_argument(arguments)), ...);
    start(on, kernel, items);
}

/// Copies an array to another of the device.
void copy(const unibuf::opencl::handles& on, _cl_mem* from, _cl_mem* to, std::size_t bytes);
template <class T>
void copy(const unibuf::opencl::handles& on, const device_array<T>& from, device_array<T>& to, std::size_t count) {
    copy(on, from.native(), to.native(), count * sizeof(T));
}

/// The kernels of one source, by name.
class kernels {
public:
    kernels(const unibuf::opencl::handles& on, const char* source) : on_(on), source_(source) {}

    /// Returns a kernel, which is built when it is asked for first.
    _cl_kernel* operator[](const char* name);

private:
    unibuf::opencl::handles on_;
    const char* source_;
    std::map<std::string, std::unique_ptr<examples::cl::kernel_program>> built_;
};

}  // namespace suite
