// unibuf/host_view.hpp: elements of the host's copy that may be used until the view ends.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "unibuf/detail/gate.hpp"
#include "unibuf/detail/view_tag.hpp"
#include "unibuf/export.hpp"
#include "unibuf/holder.hpp"

namespace unibuf {

namespace detail {

/// A view of bytes of the host's copy; host_view<T> gives it a type. It keeps the buffer.
class host_bytes {
public:
    host_bytes(gate& of, std::byte* data, std::size_t offset, std::size_t bytes, view_tag tag) noexcept
        : gate_(&of), data_(data), offset_(offset), bytes_(bytes), tag_(tag) {}
    host_bytes(host_bytes&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)),
          data_(other.data_),
          offset_(other.offset_),
          bytes_(other.bytes_),
          tag_(other.tag_) {}
    host_bytes& operator=(host_bytes&& other) noexcept {
        if (this == &other) return *this;
        end();
        std::construct_at(this, std::move(other));
        return *this;
    }
    ~host_bytes() { end(); }

    UNIBUF_API void end() noexcept;
    UNIBUF_API void held_by(holder who);

    std::byte* data() const noexcept { return gate_ ? data_ : nullptr; }
    std::size_t bytes() const noexcept { return gate_ ? bytes_ : 0; }

private:
    gate* gate_;
    std::byte* data_;
    std::size_t offset_;
    std::size_t bytes_;
    view_tag tag_;
};

}  // namespace detail

/// A view of elements of the host's copy, which may be read and written at any time until it ends. A host_view is no
/// lease, and excludes nobody. The next access elsewhere finds what was written, and only that moves. When the last
/// view of a range has ended, and host() has given no pointer to it, one last look is taken, and accesses are plain
/// checks again.
///
/// A view is movable. It keeps the buffer's memory, also where the buffer is gone. It is used by one thread at a time.
template <class T>
class host_view {
public:
    explicit host_view(detail::host_bytes held) noexcept : held_(std::move(held)) {}

    T* data() const noexcept { return reinterpret_cast<T*>(held_.data()); }
    std::size_t size() const noexcept { return held_.bytes() / sizeof(T); }
    T* begin() const noexcept { return data(); }
    T* end() const noexcept { return data() + size(); }
    T& operator[](std::size_t index) const noexcept { return data()[index]; }
    std::span<T> span() const noexcept { return {data(), size()}; }

    /// Names the holder, who is asked from now on to let go of the view where it is in the way. A new holder takes the
    /// place of one that was named before. Costs about 100 ns. Throws error(invalid_argument) where the view has ended.
    void held_by(holder who) { held_.held_by(std::move(who)); }

    /// Ends the view now. It is empty from then on; ending it twice does nothing.
    void release() noexcept { held_.end(); }

private:
    detail::host_bytes held_;
};

}  // namespace unibuf
