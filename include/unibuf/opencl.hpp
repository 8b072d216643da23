// unibuf/opencl.hpp: native handles of OpenCL spaces, and kernels that are run on buffers. Needs no OpenCL headers, and
// works with them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "unibuf/error.hpp"
#include "unibuf/export.hpp"
#include "unibuf/lease.hpp"
#include "unibuf/lease_together.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"

// The types behind cl_context, cl_device_id, cl_command_queue, cl_mem, cl_sampler, cl_kernel, as <CL/cl.h> declares
// them.
struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_sampler;
struct _cl_kernel;

namespace unibuf::opencl {

/// The native handles that an OpenCL space works with. The caller may use all three; the queue is in order. They live
/// as long as the space, which is usually as long as the process: see use(). Those that the caller brought are
/// retained.
struct handles {
    _cl_context* context = nullptr;
    _cl_device_id* device = nullptr;
    _cl_command_queue* queue = nullptr;
};

/// Returns the native handles of `where`. Throws error(invalid_argument) where it is no OpenCL space.
UNIBUF_API handles handles_of(space where);

/// Returns the space of the caller's own context, device and queue, which are retained; makes it, where it is not there
/// yet. Without a queue, or with one that is out of order, it is the first one of that context and device, which makes
/// a queue: see handles_of. The one that is out of order is known then, as after add_queue. Throws
/// error(invalid_argument) where they do not belong together.
///
/// Where the process has all the spaces that it can have (max_spaces), spaces end whose context and queues the program
/// has released, and where no buffer has a copy: their numbers are given again, with other names, and their contexts
/// are released. Throws error(unsupported) where there is none.
UNIBUF_API space use(_cl_context* context, _cl_device_id* device, _cl_command_queue* queue = nullptr);

/// Tells unibuf of a queue of the caller's own, of the space's context. OpenCL does not say which queues
/// there are: an access that names no queue waits only for work on the space's own queue, and on queues that a lease or
/// this function has named before. Throws error(invalid_argument).
UNIBUF_API void add_queue(space where, _cl_command_queue* native);

/// Returns a queue of the space's context as the queue that a lease's work is on. It may be out of order: what the
/// lease brings, and waits for, comes before all that is put on it from then on, by a barrier; its end is a marker.
inline queue queue_of(_cl_command_queue* native) noexcept { return {native}; }

/// Returns the cl_mem of a copy. The copy's first byte is at `copy.offset` inside it.
UNIBUF_API _cl_mem* memory(const native_memory& copy);

/// Returns the cl_mem of a lease, whose first byte is at `lease.native().offset` inside it.
template <class Lease>
_cl_mem* memory(const Lease& lease) {
    return memory(lease.native());
}

/// The number of work items that a kernel is run with, in one to three dimensions, and of those in a work group:
/// `n`, `{width, height}`, `{{width, height}, {16, 16}}`. Without groups the driver chooses them.
class nd_range {
public:
    struct extent {
        template <std::integral... Sizes>
            requires(sizeof...(Sizes) >= 1 && sizeof...(Sizes) <= 3)
        extent(Sizes... sizes) : in{checked(sizes)...}, dimensions(sizeof...(Sizes)) {}

        std::array<std::size_t, 3> in;
        std::uint32_t dimensions;
    };

    template <std::integral... Sizes>
        requires(sizeof...(Sizes) >= 1 && sizeof...(Sizes) <= 3)
    nd_range(Sizes... sizes) : items_(sizes...) {}
    explicit nd_range(extent items) : items_(items) {}
    nd_range(extent items, extent group) : items_(items), group_(group) {
        if (items.dimensions == group.dimensions) return;
        throw error(error_code::invalid_argument, "work items and groups of them have different numbers of dimensions");
    }

    const extent& items() const noexcept { return items_; }
    const std::optional<extent>& group() const noexcept { return group_; }

private:
    static std::size_t checked(std::integral auto size) {
        if constexpr (std::signed_integral<decltype(size)>) {
            if (size < 0) throw error(error_code::invalid_argument, "a negative number of work items was asked for");
        }
        return static_cast<std::size_t>(size);
    }

    extent items_;
    std::optional<extent> group_;
};

/// Memory of each work group, for an argument that the kernel declares `__local`.
struct local_memory {
    std::size_t bytes;
};

/// One argument of a kernel. What it is made of has to live as long as it.
class argument {
public:
    argument(const wanted_access& access) noexcept : wanted_(&access) {}
    argument(const byte_lease& held) : memory_(&held.native()) {}
    template <class T>
    argument(const lease<T>& held) : memory_(&held.native()) {}
    argument(local_memory of) noexcept : bytes_(of.bytes) {}

    /// Makes an argument of a value: a number, a vector, a struct, a cl_mem or a cl_sampler.
    template <class Value>
        requires std::is_trivially_copyable_v<Value> &&
                     (!std::is_pointer_v<Value> || std::same_as<Value, _cl_mem*> || std::same_as<Value, _cl_sampler*>)
    argument(const Value& value) noexcept : value_(&value), bytes_(sizeof value) {}

    /// Makes an argument of a value that is so many bytes, as another language has it.
    static argument of_bytes(std::span<const std::byte> value) noexcept {
        argument result(local_memory{value.size()});
        result.value_ = value.data();
        return result;
    }

    // These mean nothing to a kernel.
    argument(std::nullptr_t) = delete;
    argument(const native_memory&) = delete;
    argument(const wanted_byte_lease&) = delete;
    template <class T>
    argument(const wanted_lease<T>&) = delete;
    template <class T, std::size_t Extent>
    argument(const std::span<T, Extent>&) = delete;

    const wanted_access* wanted() const noexcept { return wanted_; }
    const native_memory* memory() const noexcept { return memory_; }
    const void* value() const noexcept { return value_; }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    const wanted_access* wanted_ = nullptr;
    const native_memory* memory_ = nullptr;
    const void* value_ = nullptr;
    std::size_t bytes_ = 0;
};

namespace detail {

UNIBUF_API void set_arguments(_cl_kernel* kernel, std::span<const argument> arguments);
UNIBUF_API void enqueue(space where, _cl_kernel* kernel, const nd_range& items, std::span<const argument> arguments);

}  // namespace detail

/// Returns the space that a kernel runs in: the one of its context. Throws error(invalid_argument) where there is none,
/// or more than one.
UNIBUF_API space space_of(_cl_kernel* kernel);

/// Sets all arguments of a kernel: leases that are held at a space of its context, and begin where their copies do;
/// values; local_memory. Throws error(invalid_argument), which names the argument. A kernel is used by one thread at a
/// time, as OpenCL has it.
template <class... Arguments>
void set_arguments(_cl_kernel* kernel, const Arguments&... arguments) {
    const std::array<argument, sizeof...(Arguments)> all{argument(arguments)...};
    detail::set_arguments(kernel, all);
}

/// Runs a kernel on buffers: takes a lease for each access, sets the arguments, which are these and values, puts the
/// kernel on the queue of `where` and starts it, and ends the leases. The host does not wait, and later accesses wait
/// for the kernel.
///
///     unibuf::opencl::enqueue(saxpy, n, read(x), read_write(y), 3.0f);
///
/// An argument begins where its buffer does, or its view, which has to be a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN.
/// The range that an access names is what the kernel touches of it. Throws what leases and set_arguments throw; where
/// it throws, no content has changed.
template <class... Arguments>
UNIBUF_INLINED inline void enqueue(space where, _cl_kernel* kernel, const nd_range& items,
                                   const Arguments&... arguments) {
    const std::array<argument, sizeof...(Arguments)> all{argument(arguments)...};
    detail::enqueue(where, kernel, items, all);
}

/// Does the same in the space of the kernel's context.
template <class... Arguments>
UNIBUF_INLINED inline void enqueue(_cl_kernel* kernel, const nd_range& items, const Arguments&... arguments) {
    enqueue(space_of(kernel), kernel, items, arguments...);
}

}  // namespace unibuf::opencl

namespace unibuf::detail {

/// Names a folder that has another OpenCL loader, libOpenCL*.so*: it is taken where the system has none, or one without
/// a platform. For the Python package, which names that of PyOpenCL before anybody looks for devices.
UNIBUF_API void also_load_opencl_from(std::string folder);

}  // namespace unibuf::detail
