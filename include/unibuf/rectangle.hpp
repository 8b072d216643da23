// unibuf/rectangle.hpp: a part of an array with rows that lie apart: a column, a plane, a region of an image.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "unibuf/buffer.hpp"
#include "unibuf/detail/sizes.hpp"
#include "unibuf/shape.hpp"

namespace unibuf {

namespace detail {

/// How elements lie: `strides` counts elements from one index to the next along each axis of `extents`.
struct layout {
    shape extents;
    std::array<std::size_t, shape::max_rank> strides{};

    template <std::integral... Indices>
    std::size_t offset_of(Indices... indices) const noexcept {
        std::size_t axis = 0;
        std::size_t offset = 0;
        ((offset += static_cast<std::size_t>(indices) * strides[axis++]), ...);
        return offset;
    }

    /// Calls visit(offset) for each element, in row-major order.
    template <class Visit>
    void for_each_offset(Visit visit) const {
        if (extents.rank() == 0) return visit(std::size_t{0});
        if (extents.elements() == 0) return;
        const std::size_t last = extents.rank() - 1;
        std::array<std::size_t, shape::max_rank> index{};  // along all axes but the last
        for (std::size_t row = 0;;) {
            for (std::size_t i = 0; i < extents[last]; ++i) visit(row + i * strides[last]);
            std::size_t axis = last;
            for (bool is_at_end = true; is_at_end;) {
                if (axis == 0) return;
                --axis;
                row += strides[axis];
                is_at_end = ++index[axis] == extents[axis];
                if (is_at_end) row -= std::exchange(index[axis], 0) * strides[axis];
            }
        }
    }
};

}  // namespace detail

/// Elements that lie apart, as std::mdspan with std::layout_stride has them. It owns nothing.
template <class T>
class strided_span {
public:
    strided_span(T* data, const detail::layout& lies) noexcept : data_(data), lies_(lies) {}

    T* data() const noexcept { return data_; }
    const unibuf::shape& shape() const noexcept { return lies_.extents; }
    std::size_t extent(std::size_t axis) const noexcept { return lies_.extents[axis]; }

    /// Returns the number of elements from one index to the next along the axis.
    std::size_t stride(std::size_t axis) const noexcept { return lies_.strides[axis]; }

    /// Returns one element; there is an index for each axis. Indices are not checked.
    template <std::integral... Indices>
    T& operator()(Indices... indices) const noexcept {
        return data_[lies_.offset_of(indices...)];
    }

    /// Calls visit(T&) for each element, in row-major order.
    template <class Visit>
    void for_each(Visit visit) const {
        lies_.for_each_offset([&](std::size_t offset) { visit(data_[offset]); });
    }

private:
    T* data_;
    detail::layout lies_;
};

/// A lease of a rectangle: what lease.hpp says holds here.
template <class T>
class rectangle_lease {
public:
    rectangle_lease(lease<T> held, const detail::layout& lies) noexcept : held_(std::move(held)), lies_(lies) {}

    /// Returns the elements. Throws as lease::data does.
    strided_span<T> elements() const { return {held_.data(), lies_}; }

    /// Returns one element; there is an index for each axis. Indices are not checked. Throws as lease::data does.
    template <std::integral... Indices>
    T& operator()(Indices... indices) const {
        return held_.data()[lies_.offset_of(indices...)];
    }

    /// Returns what the API of the space calls this memory, from the first element to the last: the strides of the
    /// rectangle say where the others are.
    const native_memory& native() const { return held_.native(); }
    space where() const noexcept { return held_.where(); }
    explicit operator bool() const noexcept { return static_cast<bool>(held_); }
    void release() noexcept { held_.release(); }
    void release(fence done) { held_.release(std::move(done)); }

private:
    lease<T> held_;
    detail::layout lies_;
};

/// A handle to a rectangle of a unified_buffer, which makes one by `view`. What buffer.hpp says of handles to
/// rectangles holds here; fill, copy_from and copy_to take rectangles with steps, too, by way of the host. Movable, not
/// copyable.
template <class T>
class rectangle {
public:
    rectangle(buffer bytes, const detail::layout& lies) noexcept : bytes_(std::move(bytes)), lies_(lies) {}

    const unibuf::shape& shape() const noexcept { return lies_.extents; }
    std::size_t size() const noexcept { return lies_.extents.elements(); }

    /// Returns the number of elements from one index to the next along the axis.
    std::size_t stride(std::size_t axis) const noexcept { return lies_.strides[axis]; }

    UNIBUF_INLINED rectangle_lease<const T> read(space where, const access_options& options = {}) const {
        return {acquire<const T>(where, access::read, options), lies_};
    }
    UNIBUF_INLINED rectangle_lease<T> write(space where, const access_options& options = {}) {
        return {acquire<T>(where, access::write, options), lies_};
    }
    UNIBUF_INLINED rectangle_lease<T> read_write(space where, const access_options& options = {}) {
        return {acquire<T>(where, access::read_write, options), lies_};
    }

    // Each of these describes a lease that lease_together is to take: from the first element to the last.
    wanted_lease<const T> to_read(space where, const access_options& options = {}) const noexcept {
        return {{&bytes_, where, access::read, options}};
    }
    wanted_lease<T> to_write(space where, const access_options& options = {}) noexcept {
        return {{&bytes_, where, access::write, options}};
    }
    wanted_lease<T> to_read_write(space where, const access_options& options = {}) noexcept {
        return {{&bytes_, where, access::read_write, options}};
    }

    /// Returns the elements of a pointer to the first.
    template <class Element>
        requires std::same_as<std::remove_const_t<Element>, T>
    strided_span<Element> elements_of(Element* first) const noexcept {
        return {first, lies_};
    }

    UNIBUF_INLINED strided_span<T> host() { return {reinterpret_cast<T*>(bytes_.host()), lies_}; }
    UNIBUF_INLINED strided_span<const T> host() const { return {reinterpret_cast<const T*>(bytes_.host()), lies_}; }
    UNIBUF_INLINED unibuf::host_view<T> host_view() { return unibuf::host_view<T>(bytes_.hold_host(0, rest)); }
    UNIBUF_INLINED unibuf::host_view<T> io_view(access what = access::write) {
        return unibuf::host_view<T>(bytes_.hold_for_io(what, 0, rest));
    }
    UNIBUF_INLINED native_memory device() { return bytes_.device(); }
    UNIBUF_INLINED unibuf::copy_view copy_view(space where) { return bytes_.copy_view(where); }
    UNIBUF_INLINED standing_hold bind(space where, access what, const standing_options& options = {}) {
        return bytes_.bind(where, what, options);
    }
    void release_host() { bytes_.release_host(); }
    void release_device() { bytes_.release_device(); }

    UNIBUF_INLINED void sync_to_host() { bytes_.sync_to_host(); }
    UNIBUF_INLINED void sync_to_device() { bytes_.sync_to_device(); }
    UNIBUF_INLINED void prefetch(space where, const access_options& options = {}) { bytes_.prefetch(where, options); }
    UNIBUF_INLINED void mark_host_dirty() { bytes_.mark_host_dirty(); }
    UNIBUF_INLINED void mark_device_dirty() { bytes_.mark_device_dirty(); }
    UNIBUF_INLINED void mark_dirty(space where, const access_options& options = {}) {
        bytes_.mark_dirty(where, options);
    }
    UNIBUF_INLINED void discard(space where) { bytes_.discard(where); }
    UNIBUF_INLINED void discard_content() { bytes_.discard_content(); }

    UNIBUF_INLINED void fill(const T& value) {
        if (!has_steps()) return bytes_.fill(std::as_bytes(std::span(&value, 1)));
        read_write(unibuf::host).elements().for_each([&](T& each) { each = value; });
    }

    /// Throws error(unsupported) for a rectangle with steps at a device.
    UNIBUF_INLINED void fill(const T& value, space where) {
        if (has_steps() && where == unibuf::host) return fill(value);
        bytes_.fill(std::as_bytes(std::span(&value, 1)), where);
    }

    // These copy all elements, in row-major order; throw error(out_of_range) or error(unsupported) for another number.
    UNIBUF_INLINED void copy_from(std::span<const T> data) {
        if (!has_steps() || data.size() != size()) return bytes_.copy_from(std::as_bytes(data));
        const T* next = data.data();
        read_write(unibuf::host).elements().for_each([&](T& each) { each = *next++; });
    }
    UNIBUF_INLINED void copy_to(std::span<T> data) const {
        if (!has_steps() || data.size() != size()) return bytes_.copy_to(std::as_writable_bytes(data));
        T* next = data.data();
        read(unibuf::host).elements().for_each([&](const T& each) { *next++ = each; });
    }

    // These copy all elements past the host's copy; throw error(unsupported), too, for a rectangle with steps at a
    // device.
    UNIBUF_INLINED void copy_from(std::span<const T> data, space where) {
        if (has_steps() && where == unibuf::host) return copy_from(data);
        bytes_.copy_from(std::as_bytes(data), where);
    }
    UNIBUF_INLINED void copy_to(std::span<T> data, space where) const {
        if (has_steps() && where == unibuf::host) return copy_to(data);
        bytes_.copy_to(std::as_writable_bytes(data), where);
    }
    space current_at() const { return bytes_.current_at(); }

    // These copy all elements where they are: see buffer::copy_from.
    UNIBUF_INLINED void copy_from(const buffer& source) { bytes_.copy_from(source); }
    UNIBUF_INLINED void copy_to(buffer& target) const { bytes_.copy_to(target); }

    /// Returns the handle to the rectangle, as bytes.
    unibuf::buffer& bytes() noexcept { return bytes_; }
    const unibuf::buffer& bytes() const noexcept { return bytes_; }

private:
    template <class Element>
    UNIBUF_INLINED lease<Element> acquire(space where, access what, const access_options& options) const {
        return {detail::acquired_by{}, [&]() UNIBUF_INLINED { return bytes_.acquire(where, what, options); }};
    }

    bool has_steps() const noexcept { return bytes_.size_bytes() != size() * sizeof(T); }

    buffer bytes_;
    detail::layout lies_;
};

namespace detail {

inline slice slice_of(const slice& along) noexcept { return along; }
template <std::integral Index>
slice slice_of(Index index) noexcept {
    const auto at = static_cast<std::size_t>(index);
    return {at, at + 1, 1};
}

/// Adds an axis to the elements of a rectangle; an index takes its axis away.
inline void add_axis(std::array<std::size_t, shape::max_rank>& extents, layout& lies, std::size_t& rank,
                     const slice& along, std::size_t extent, std::size_t pitch) noexcept {
    const std::size_t stop = along.stop == rest ? extent : along.stop;
    const std::size_t step = along.step == 0 ? 1 : along.step;
    extents[rank] = stop > along.start ? (stop - along.start - 1) / step + 1 : 0;
    lies.strides[rank++] = product(step, pitch).value_or(0);  // of one index: a longer axis lies within the buffer
}

/// Returns how the elements of a rectangle of an array lie.
template <class... Slices>
layout layout_of(const shape& array, const Slices&... along) {
    std::array<std::size_t, sizeof...(Slices)> pitches{};
    std::size_t pitch = 1;
    for (std::size_t axis = sizeof...(Slices); axis-- != 0;) {
        pitches[axis] = pitch;
        pitch *= axis < array.rank() ? array[axis] : 1;
    }
    layout result;
    std::array<std::size_t, shape::max_rank> extents{};
    std::size_t rank = 0;
    std::size_t axis = 0;
    const auto add = [&](const auto& each) {
        if constexpr (!std::integral<std::remove_cvref_t<decltype(each)>>) {
            add_axis(extents, result, rank, each, axis < array.rank() ? array[axis] : 1, pitches[axis]);
        }
        ++axis;
    };
    (add(along), ...);
    result.extents = shape::of(std::span(extents).first(rank));
    return result;
}

template <class Along>
concept slice_or_index = std::same_as<Along, slice> || std::integral<Along>;

}  // namespace detail

}  // namespace unibuf
