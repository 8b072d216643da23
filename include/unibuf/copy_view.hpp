// unibuf/copy_view.hpp: memory of one copy that may be used, and stays in place, until the view ends.
#pragma once

#include <cstddef>
#include <utility>

#include "unibuf/detail/gate.hpp"
#include "unibuf/detail/view_tag.hpp"
#include "unibuf/export.hpp"
#include "unibuf/holder.hpp"
#include "unibuf/options.hpp"

namespace unibuf {

/// A view of one copy, which keeps the copy where it is: the copy is neither evicted, nor discarded, nor freed, also
/// where the buffer is gone. A copy_view is no lease, and excludes nobody. What is written through one of a device the
/// program says by buffer::mark_dirty; a copy_view of the host is to read; what is written through a host_view is
/// found. Where CUDA and OpenGL take turns with one memory, the view ends when the other's turn begins, as handles of
/// device() do.
///
/// Movable. One view is used by one thread at a time.
class copy_view {
public:
    copy_view(detail::gate& of, const native_memory& native, std::byte* data, detail::view_tag tag) noexcept
        : gate_(&of), native_(native), data_(data), tag_(tag) {}
    copy_view(copy_view&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)),
          native_(std::exchange(other.native_, {})),
          data_(std::exchange(other.data_, nullptr)),
          tag_(other.tag_) {}
    copy_view& operator=(copy_view&& other) noexcept {
        if (this == &other) return *this;
        release();
        gate_ = std::exchange(other.gate_, nullptr);
        native_ = std::exchange(other.native_, {});
        data_ = std::exchange(other.data_, nullptr);
        tag_ = other.tag_;
        return *this;
    }
    ~copy_view() { release(); }

    /// Returns what the API of the space calls the copy; of no bytes when the view has ended.
    const native_memory& native() const noexcept { return native_; }

    /// Returns the first byte; null where the host cannot address it, and when the view has ended.
    std::byte* data() const noexcept { return data_; }

    /// Names the holder, who is asked from now on to let go of the view where it is in the way. A new holder takes the
    /// place of one that was named before. Costs about 100 ns. Throws error(invalid_argument) where the view has ended.
    UNIBUF_API void held_by(holder who);

    /// Ends the view now. Ending it twice does nothing.
    UNIBUF_API void release() noexcept;

private:
    detail::gate* gate_;
    native_memory native_;
    std::byte* data_;
    detail::view_tag tag_;
};

}  // namespace unibuf
