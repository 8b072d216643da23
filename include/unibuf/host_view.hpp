// unibuf/host_view.hpp: elements of the host's copy that may be used until the view ends.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "unibuf/copy_view.hpp"

namespace unibuf {

/// A view of elements of the host's copy, which may be read and written at any time until it ends. The next access
/// elsewhere finds what was written, and only that moves. When the last view of a range has ended, and host() has given
/// no pointer to it, one last look is taken, and accesses are plain checks again.
template <class T>
class host_view : public copy_view {
public:
    T* data() const noexcept { return reinterpret_cast<T*>(copy_view::data()); }
    std::size_t size() const noexcept { return native().bytes / sizeof(T); }
    T* begin() const noexcept { return data(); }
    T* end() const noexcept { return data() + size(); }
    T& operator[](std::size_t index) const noexcept { return data()[index]; }
    std::span<T> span() const noexcept { return {data(), size()}; }

private:
    friend class buffer;
    template <class>
    friend class unified_buffer;
    template <class>
    friend class rectangle;

    explicit host_view(copy_view held) noexcept : copy_view(std::move(held)) {}
};

}  // namespace unibuf
