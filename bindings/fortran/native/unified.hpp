// unified.hpp: what a type(unified_buffer) stands for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unibuf/buffer.hpp>

#include "gpu.hpp"
#include "handles.hpp"
#include "section.hpp"

namespace unibuf::fortran {

/// A range in bytes.
struct extent {
    std::size_t offset = 0;
    std::size_t bytes = rest;
};

/// Of optional arguments. Throws error(out_of_range) for negative ones.
extent extent_of(const std::int64_t* offset, const std::int64_t* bytes);

/// A buffer, or a part of one, with the device that it is for.
///
/// Nobody tells when a shader runs. So from the moment that the device was shown the buffer (bound to a shader, or its
/// handle given out) until that is taken back, the host takes turns with it: before each access of the host, all work
/// that was submitted to the device counts as having used the buffer, and after each the device is made current.
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
    space where() const noexcept { return gpu_.where; }

    placement_info placement() const { return bytes_.placement(gpu_.where); }

    std::byte* host_pointer();
    void write(const section& from, std::int64_t offset);
    void read(const section& to, std::int64_t offset);
    void fill(const section& pattern);

    void sync_to_gpu(extent part);
    void sync_from_gpu(extent part);
    detail::lease_bytes acquire(space where, access what, const access_options& options);
    /// After the host has written: the device that was shown the buffer gets what is new.
    void show_what_is_new(extent part = {});

    void mark_host_dirty(extent part);
    void mark_device_dirty(extent part);

    /// What the device's API calls its copy, which stays in place until take_back_from_gpu().
    native_memory show_to_gpu();
    void bind_to_shader(int binding);
    void take_back_from_gpu() noexcept;

private:
    /// Of all handles of one buffer: how many of them the device was shown.
    using shown_count = std::shared_ptr<std::atomic<int>>;

    unified(buffer bytes, const gpu& where, shown_count shown)
        : bytes_(std::move(bytes)), gpu_(where), shown_(std::move(shown)) {}

    bool at_gpu() const noexcept { return shown_->load(std::memory_order_acquire) != 0; }
    void end_turn_of_gpu(extent part);

    /// Where the elements of `of` lie from the element `offset` on. Throws error(out_of_range) where they do not fit.
    extent elements(std::int64_t offset, const section& of) const;

    buffer bytes_;
    gpu gpu_;
    shown_count shown_;
    std::mutex mutex_;  // of the copy that the device was shown by this handle
    std::optional<copy_view> shown_copy_;
};

slots<unified>& buffers() noexcept;

}  // namespace unibuf::fortran
