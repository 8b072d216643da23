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
#include "handles.hpp"
#include "section.hpp"
#include "turns.hpp"

namespace unibuf::fortran {

/// Of optional arguments. Throws error(out_of_range) for negative ones.
extent extent_of(const std::int64_t* offset, const std::int64_t* bytes);

/// A lease of a range of the whole buffer, which takes part in the turns.
class leased {
public:
    leased(detail::lease_bytes bytes, extent part, std::shared_ptr<turns> with);
    ~leased() { leave(); }
    leased(const leased&) = delete;
    leased& operator=(const leased&) = delete;

    const detail::lease_bytes& bytes() const noexcept { return bytes_; }

    /// Where it was not at the device, that has its turn then.
    void end();

private:
    bool leave() noexcept;

    detail::lease_bytes bytes_;
    extent part_;
    std::shared_ptr<turns> turns_;
    bool elsewhere_;  // and known to the turns
};

/// A buffer, or a part of one, with the device that it is for.
///
/// It and the host take turns: see turns. A pointer to the host's memory makes it the host's turn when it is given out;
/// the device's begins again with sync_to_gpu.
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
    void write(const section& from, std::int64_t offset);
    void read(const section& to, std::int64_t offset);
    void fill(const section& pattern);

    void sync_to_gpu(extent part);
    void sync_from_gpu(extent part);
    std::unique_ptr<leased> acquire(space where, access what, const access_options& options);

    void mark_host_dirty(extent part);
    void mark_device_dirty(extent part);

    /// What the device's API calls its copy, which stays in place until take_back_from_gpu().
    native_memory show_to_gpu();
    void bind_to_shader(int binding);
    /// After what it was given to do. Throws as an access does, and changes nothing then.
    void take_back_from_gpu();

    /// The handle is of no use then.
    void release_to(memory_pool& pool);

private:
    unified(buffer bytes, std::size_t begin, const gpu& where, std::shared_ptr<turns> with)
        : bytes_(std::move(bytes)), begin_(begin), gpu_(where), turns_(std::move(with)) {}

    /// The place of a part of this handle in the whole buffer. The first throws error(out_of_range) where it is not all
    /// there.
    extent in_whole(extent part);
    extent placed(extent part) const noexcept;

    void turn_of_gpu(extent part);
    native_memory show();  // under the mutex
    void forget_copy() noexcept;

    /// Where the elements of `of` lie from the element `offset` on. Throws error(out_of_range) where they do not fit.
    extent elements(std::int64_t offset, const section& of) const;

    buffer bytes_;
    std::size_t begin_ = 0;  // in the whole buffer
    gpu gpu_;
    std::shared_ptr<turns> turns_;
    std::mutex mutex_;  // of the copy that the device was shown by this handle
    std::optional<copy_view> shown_copy_;
};

slots<unified>& buffers() noexcept;

}  // namespace unibuf::fortran
