// unibuf/copy_view.hpp: a handle of a copy that keeps the copy in place until it ends.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "unibuf/detail/gate.hpp"
#include "unibuf/detail/view_tag.hpp"
#include "unibuf/export.hpp"
#include "unibuf/holder.hpp"
#include "unibuf/options.hpp"

namespace unibuf {

/// A view of one copy, which keeps the copy where it is: the copy is neither evicted, nor discarded, nor freed, also
/// where the buffer is gone. A copy_view is no lease, and excludes nobody. The program says by buffer::mark_dirty what
/// it wrote through the handle; for writing at the host there is host_view. Where CUDA and OpenGL take turns with one
/// memory, the view ends when the other's turn begins, as handles of device() do.
///
/// Movable. One view is used by one thread at a time.
class copy_view {
public:
    copy_view(detail::gate& of, const native_memory& native, std::byte* data, detail::view_tag tag) noexcept
        : gate_(&of), native_(native), data_(data), tag_(tag) {}
    copy_view(copy_view&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), native_(other.native_), data_(other.data_), tag_(other.tag_) {}
    copy_view& operator=(copy_view&& other) noexcept {
        if (this == &other) return *this;
        release();
        std::construct_at(this, std::move(other));
        return *this;
    }
    ~copy_view() { release(); }

    /// Returns what the API of the space calls the copy; it is good until the view ends.
    const native_memory& native() const noexcept { return native_; }

    /// Returns the first byte, or null where the host cannot address it.
    std::byte* data() const noexcept { return data_; }

    /// Names the holder, who is asked from now on to let go of the view: see host_view::held_by.
    UNIBUF_API void held_by(holder who);

    /// Ends the view now.
    UNIBUF_API void release() noexcept;

private:
    detail::gate* gate_;
    native_memory native_;
    std::byte* data_;
    detail::view_tag tag_;
};

}  // namespace unibuf
