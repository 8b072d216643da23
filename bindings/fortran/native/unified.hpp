// unified.hpp: what a type(unified_buffer) stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unibuf/buffer.hpp>
#include <unibuf/memory_pool.hpp>

#include "gpu.hpp"
#include "gpu_holds.hpp"
#include "handles.hpp"
#include "section.hpp"

namespace unibuf::fortran {

/// Of optional arguments. Throws error(out_of_range) for negative ones.
extent extent_of(const std::int64_t* offset, const std::int64_t* bytes);

/// A buffer, or a part of one, with the device that it is for.
///
/// Nobody tells when a shader runs. So from when the device was shown the buffer (bound to a shader, or its handle
/// given out) until that is taken back, the device has a standing hold of it.
class unified {
public:
    /// Makes its copies at once, where that can still fail without harm.
    unified(buffer bytes, space where);
    ~unified();
    unified(const unified&) = delete;
    unified& operator=(const unified&) = delete;

    std::unique_ptr<unified> view(extent part);

    std::size_t size() const noexcept { return bytes_.size_bytes(); }
    buffer& bytes() noexcept { return bytes_; }

    placement_info placement() const { return bytes_.placement(gpu_.where); }

    std::byte* host_pointer();
    void release_host_pointers();
    void write(const section& from, std::int64_t offset);
    void read(const section& to, std::int64_t offset);
    void fill(const section& pattern);

    void sync_to_gpu(extent part);
    void sync_from_gpu(extent part);
    detail::lease_bytes acquire(space where, access what, const access_options& options);

    void mark_host_dirty(extent part);
    void mark_device_dirty(extent part);

    /// What the device's API calls its copy, which stays in place until take_back_from_gpu().
    native_memory show_to_gpu();
    void bind_to_shader(int binding);
    /// What it was given to do until now is seen by later accesses. False where it was not shown the buffer.
    bool take_back_from_gpu();

    /// The handle is of no use then.
    void release_to(memory_pool& pool);

private:
    unified(buffer bytes, std::size_t begin, const gpu& where, std::shared_ptr<gpu_holds> with)
        : bytes_(std::move(bytes)), begin_(begin), gpu_(where), holds_(std::move(with)) {}

    /// The place of a part of this handle in the whole buffer.
    extent placed(extent part) const noexcept;

    /// The bytes of `part`, which pointers have from now on.
    std::byte* read_by_pointer(extent part);
    native_memory show();  // under the mutex
    bool end_hold() noexcept;

    /// Where the elements of `of` lie from the element `offset` on. Throws error(out_of_range) where they do not fit.
    extent elements(std::int64_t offset, const section& of) const;

    buffer bytes_;
    std::size_t begin_ = 0;  // in the whole buffer
    gpu gpu_;
    std::shared_ptr<gpu_holds> holds_;
    std::mutex mutex_;  // of what the device was shown by this handle
    std::shared_ptr<standing_hold> shown_;
    std::optional<copy_view> shown_at_host_;  // where the host is in the place of the device
};

slots<unified>& buffers() noexcept;

}  // namespace unibuf::fortran
