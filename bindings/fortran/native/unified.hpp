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
/// handle given out) until that is taken back, the two take turns. The device's begins after each access of the host,
/// with all that the host has: from then on the device has the newest content, as far as its shaders may write. It ends
/// before the next access of the host, after all work that was submitted until then. A pointer to the host's memory
/// ends it when it is given out; it begins again with sync_to_gpu.
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
    /// Of what acquire() gave at the host, when that has ended.
    void released(extent part) { turn_of_gpu(part); }

    void mark_host_dirty(extent part);
    void mark_device_dirty(extent part);

    /// What the device's API calls its copy, which stays in place until take_back_from_gpu().
    native_memory show_to_gpu();
    void bind_to_shader(int binding);
    void take_back_from_gpu() noexcept;

private:
    /// What all handles of one buffer know.
    struct common {
        buffer whole;
        std::atomic<int> shown = 0;  // handles that the device was shown
    };

    unified(buffer bytes, const gpu& where, std::shared_ptr<common> with)
        : bytes_(std::move(bytes)), gpu_(where), common_(std::move(with)) {}

    bool at_gpu() const noexcept { return common_->shown.load(std::memory_order_acquire) != 0; }

    /// Of its turn, the begin or the end; nothing where it has none.
    void turn_of_gpu(buffer& of, extent part);
    void turn_of_gpu(extent part) { turn_of_gpu(bytes_, part); }

    /// Where the elements of `of` lie from the element `offset` on. Throws error(out_of_range) where they do not fit.
    extent elements(std::int64_t offset, const section& of) const;

    buffer bytes_;
    gpu gpu_;
    std::shared_ptr<common> common_;
    std::mutex mutex_;  // of the copy that the device was shown by this handle
    std::optional<copy_view> shown_copy_;
};

slots<unified>& buffers() noexcept;

}  // namespace unibuf::fortran
