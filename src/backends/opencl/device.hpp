// backends/opencl/device.hpp: one OpenCL device, as a space.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/backend.hpp"
#include "backends/opencl/allocation.hpp"
#include "backends/opencl/context.hpp"

namespace unibuf::backends::cl {

/// The facts that a device tells of itself, without a context.
struct facts {
    traits about;
    std::size_t largest_allocation = 0;
    std::size_t alias_alignment = 0;  // alignment of host memory that the device uses in place
};

/// Returns the facts of a device; `platform` is the name of its platform. Throws error(device_unavailable), with the
/// reason, for a device that cannot be used.
facts facts_of(cl_device_id device, const std::string& platform);

class compute_device final : public device {
public:
    /// The context is made at first use: drivers take their time, and listing devices should not.
    compute_device(cl_device_id native, facts known) : native_(native), known_(std::move(known)) {}

    /// Makes a device of a context that the caller made.
    compute_device(const opencl::handles& callers, facts known);

    const traits& about() const noexcept override { return known_.about; }
    std::unique_ptr<memory> allocate(const allocation_request& what) override;
    std::unique_ptr<memory> alias(std::span<std::byte> host, const allocation_request& what) override;
    void move_many(direction way, std::span<const move_of> moves, fences& done) override;
    std::uint64_t identify(queue on) override;
    fence record(queue on) override;
    fence record_later(queue on) override;
    queue own_queue() override;
    bool order(const fence& before, queue on) override;

    /// Returns the context, which is made at first use. Throws error(device_unavailable) where it has ended, or cannot
    /// be made.
    context& in();

    /// Returns whether the caller brought the context.
    bool is_adopted() const noexcept { return is_adopted_; }

    /// Returns the context, or null where nobody has used this device yet.
    context* in_use() const noexcept { return context_.load(std::memory_order_acquire); }

    /// Releases the context that the caller brought. The device is of no use from then on: in() throws.
    void leave() {
        is_adopted_ = false;
        has_ended_ = true;
        gone_ = context_.exchange(nullptr);
        gone_->release();
    }

    /// Returns whether memory of the host that the device uses is one with the host's, without a word to the driver. It
    /// is tried once, for devices that are a CPU.
    bool works_in_place();

    /// Makes a cl_mem.
    numbered_mem create_buffer(std::size_t bytes, cl_bitfield flags, void* host);

private:
    bool try_in_place();

    cl_device_id native_;
    facts known_;
    std::once_flag tried_in_place_;
    bool works_in_place_ = false;
    bool is_adopted_ = false;
    std::atomic<bool> has_ended_ = false;
    context* gone_ = nullptr;  // what was released: fences may refer to it
    std::mutex mutex_;
    std::atomic<context*> context_ = nullptr;  // never freed: see context.hpp
};

/// Returns the device of an OpenCL space. Throws error(invalid_argument) for another space.
compute_device& device_at(space where);

/// Returns the spaces that work in that context.
std::vector<space> spaces_of(cl_context known);

/// Returns what a device answers, or `otherwise` where it does not.
template <class Value>
Value info(cl_device_id device, cl_uint what, Value otherwise) {
    Value value{};
    const cl_int status = api().clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
    return status == success ? value : otherwise;
}

}  // namespace unibuf::backends::cl
