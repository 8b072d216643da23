// backends/opencl/allocation.hpp: a cl_mem, and what can be done with it.
#pragma once

#include <cstdint>

#include "backends/backend.hpp"
#include "backends/opencl/context.hpp"
#include "backends/opencl/native_copies.hpp"

namespace unibuf::backends::cl {

/// A cl_mem with its number: the later it was made in the process, the greater is the number.
struct numbered_mem {
    cl_mem native = nullptr;
    std::uint64_t number = 0;
};

/// Memory of a device, or the base class of its use of the host's memory.
class allocation : public memory {
public:
    /// Takes `native`, which is of the context `in`; none where it is set later.
    allocation(context& in, numbered_mem native, std::size_t bytes) noexcept : in_(in), native_(native), bytes_(bytes) {
        in.count_memory(1);
    }
    ~allocation() override {
        release_native();
        in_.count_memory(-1);
    }
    allocation(const allocation&) = delete;
    allocation& operator=(const allocation&) = delete;

    std::uintptr_t handle() const noexcept override { return reinterpret_cast<std::uintptr_t>(native_.native); }

    std::uint64_t number() const noexcept { return native_.number; }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override;
    fence read(std::size_t offset, std::span<std::byte> to, queue on) override;
    void write_parts(std::span<const part> parts, const std::byte* host, queue on, fences& done) override;
    void read_parts(std::span<const part> parts, std::byte* host, queue on, fences& done) override;
    bool takes_from(const memory& other) const noexcept override;
    fence write_from(memory& other, std::size_t from, std::size_t offset, std::size_t bytes, queue on) override;
    fence write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) override;
    fence read_rectangle(const rectangle_copy& what, std::byte* host, queue on) override;
    fence write_rectangle_from(memory& other, const rectangle_copy& what, queue on) override;
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override;

protected:
    context& in() const noexcept { return in_; }
    cl_mem native() const noexcept { return reinterpret_cast<cl_mem>(handle()); }
    void set_native(numbered_mem made) const noexcept { native_ = made; }
    void release_native() noexcept {
        if (native_.native && usable()) api().clReleaseMemObject(native_.native);
        native_ = {};
    }
    std::size_t bytes() const noexcept { return bytes_; }

    /// Returns "<device>: <what was asked> of <bytes> bytes at <offset>", for errors.
    std::string asked(const char* what, std::size_t offset, std::size_t bytes) const;

private:
    bool copy_at_once(std::span<const part> parts, std::byte* host, direction way, queue on, fences& done);
    fence copy_rows(const rectangle_copy& what, std::byte* host, direction way, queue on);
    [[noreturn]] static void fail_behind(event& last, cl_int status, const std::string& asked_for);
    template <class Enqueue>
    void slab_by_slab(const rectangle_copy& what, const char* asked_for, event& last, const Enqueue& enqueue) const;
    void fill_piece(cl_command_queue queue, std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern,
                    event& last);
    void double_up(cl_command_queue queue, std::size_t offset, std::size_t bytes, std::size_t done, event& last);

    context& in_;
    mutable numbered_mem native_;  // some memory gets it at first use
    std::size_t bytes_;
};

/// Returns whether OpenCL can fill with one command.
constexpr bool fillable(std::size_t offset, std::size_t bytes, std::size_t pattern) noexcept {
    const bool has_size = pattern != 0 && pattern <= 128 && (pattern & (pattern - 1)) == 0;
    return has_size && offset % pattern == 0 && bytes % pattern == 0;
}

}  // namespace unibuf::backends::cl
