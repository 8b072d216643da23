// unified.hpp: what a type(unified_buffer) stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unibuf/buffer.hpp>
#include <unibuf/memory_pool.hpp>
#include <vector>

#include "bindings.hpp"
#include "gpu.hpp"
#include "gpu_holds.hpp"
#include "handles.hpp"
#include "pointers.hpp"
#include "section.hpp"

namespace unibuf::fortran {

/// Returns the range of two optional arguments. Throws error(out_of_range) for negative ones.
extent extent_of(const std::int64_t* offset, const std::int64_t* bytes);

/// A buffer, or a part of one, with the device that it is for.
///
/// A shader may run at any time. So the device has a standing hold of the buffer from when it was shown the buffer
/// (bound to a shader, or its handle given out) until the buffer is taken back: see gpu_holds.
class unified {
public:
    /// Makes both copies at once, as a failure does no harm yet.
    unified(buffer bytes, space where);
    ~unified();
    unified(const unified&) = delete;
    unified& operator=(const unified&) = delete;

    std::unique_ptr<unified> view(extent part);

    /// Makes a handle to a section of the buffer, seen as an array of `shape` in Fortran's order: from `lower` to
    /// `upper`, both of which it has, counted from 1.
    std::unique_ptr<unified> view_section(const CFI_cdesc_t& shape, const CFI_cdesc_t& lower, const CFI_cdesc_t& upper,
                                          std::size_t element);

    /// Returns how the elements of a section lie that do not follow each other; else null.
    const section_layout* layout() const noexcept { return layout_ ? &*layout_ : nullptr; }

    std::size_t size() const noexcept { return bytes_.size_bytes(); }
    std::string name() const {
        return "buffer #" + std::to_string(bytes_.id()) + " (" + std::to_string(size()) + " bytes)";
    }
    buffer& bytes() noexcept { return bytes_; }

    placement_info placement() const { return bytes_.placement(gpu_.where); }

    std::byte* host_pointer();

    /// Notes that the host's memory is an array of the program's own: its name stays good until the buffer ends.
    void keep_host_pointer() {
        holds_->keep_pointers();
        host_pointer();
    }

    void release_host_pointers();
    void begin_io(access what);
    void end_io() noexcept;
    void write(const section& from, std::int64_t offset);
    void read(const section& to, std::int64_t offset);
    void fill(const section& pattern);

    const gpu& device() const noexcept { return gpu_; }

    /// Returns what a shader does with the buffer: the access mode says what the host does.
    access use_of_shader() const noexcept;

    void sync_to_gpu(extent part);
    void sync_from_gpu(extent part);
    byte_lease acquire(space where, access what, const access_options& options);

    /// Is called before bytes() is used without this class.
    void before_access() { holds_->before_access(); }

    /// Returns the place of this handle in the whole buffer, which the holds are about.
    extent part() const noexcept { return placed({}); }
    const std::shared_ptr<gpu_holds>& holds() const noexcept { return holds_; }

    void mark_host_dirty(extent part);
    void mark_device_dirty(extent part);

    /// Shows the buffer to the device. Returns what the device's API calls its copy, which stays in place until
    /// release_gpu_handle().
    native_memory show_to_gpu();
    void bind_to_shader(int binding);

    /// Takes the buffer back from the device. Later accesses see what the device was given to do until now. Returns
    /// false where the device was not shown the buffer.
    bool take_back_from_gpu();

    /// Does so, and notes that the program no longer has the device's handle.
    void release_gpu_handle();

    /// Puts the buffer back into the pool. The handle is of no use from then on.
    void release_to(memory_pool& pool);

private:
    unified(buffer bytes, std::size_t begin, const gpu& where, std::shared_ptr<gpu_holds> with)
        : bytes_(std::move(bytes)), begin_(begin), gpu_(where), holds_(std::move(with)) {}

    /// Returns the place of a part of this handle in the whole buffer.
    extent placed(extent part) const noexcept;

    /// Returns the bytes of `part`, which the program's pointers have from now on.
    std::byte* read_by_pointer(extent part);
    void show();  // needs the mutex

    /// Shows the buffer anew, to those who have bound it as well.
    void show_again(const std::shared_ptr<bound_storage>& bound);
    bool end_hold() noexcept;

    /// Returns where the elements of `of` lie from the element `offset` on. Throws error(out_of_range) where they do
    /// not fit.
    extent elements(std::int64_t offset, const section& of) const;

    buffer bytes_;
    std::size_t begin_ = 0;  // offset in the whole buffer
    std::optional<section_layout> layout_;
    gpu gpu_;
    std::shared_ptr<gpu_holds> holds_;
    std::mutex mutex_;  // guards what the device was shown by this handle
    std::shared_ptr<standing_hold> shown_;
    std::shared_ptr<bound_storage> storage_;  // what shaders use, while `shown_` is there
    std::vector<copy_view> io_;               // what begin_io has begun
    std::optional<copy_view> shown_at_host_;  // used in place of `shown_` where the host is the device
};

slots<unified>& buffers() noexcept;

}  // namespace unibuf::fortran
