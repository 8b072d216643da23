// unibuf/unified_buffer.hpp: a buffer of elements, with a shape.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "unibuf/buffer.hpp"
#include "unibuf/detail/element_name.hpp"
#include "unibuf/detail/sizes.hpp"
#include "unibuf/error.hpp"
#include "unibuf/rectangle.hpp"
#include "unibuf/shape.hpp"

namespace unibuf {

/// A row-major array of T that lives on the host and on devices at the same time. What buffer.hpp says of its functions
/// holds here, with elements in the place of bytes. Movable, not copyable: `view` gives another handle.
///
///     unified_buffer<float> image({rows, columns});
///     for (float& pixel : image.write(host)) pixel = 1;
///     auto input = image.read("opencl:0");
template <class T>
class unified_buffer {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>, "elements are copied as bytes");
    static_assert(alignof(T) <= 64, "a buffer begins with a cache line");

public:
    explicit unified_buffer(const unibuf::shape& shape, const buffer_options& options = {})
        : bytes_(bytes_of(shape), options), shape_(shape) {}

    template <std::integral Extent>
    explicit unified_buffer(std::initializer_list<Extent> extents, const buffer_options& options = {})
        : unified_buffer(unibuf::shape::of(extents), options) {}

    /// Makes a buffer of one axis over memory of the program's own: see buffer::over.
    static unified_buffer over(std::span<T> memory, std::shared_ptr<void> keep, const buffer_options& options = {}) {
        return unified_buffer(buffer::over(std::as_writable_bytes(memory), std::move(keep), options),
                              unibuf::shape(memory.size()));
    }

    /// Does so with memory for reading: nobody may write the buffer.
    template <detail::memory_for_reading<T> Memory>
    static unified_buffer over(Memory&& memory, std::shared_ptr<void> keep, const buffer_options& options = {}) {
        const std::span<const T> elements(memory);
        return unified_buffer(buffer::over(std::as_bytes(elements), std::move(keep), options),
                              unibuf::shape(elements.size()));
    }

    /// Leaves `other` with no elements and no buffer: see buffer.hpp.
    unified_buffer(unified_buffer&& other) noexcept
        : bytes_(std::move(other.bytes_)), shape_(std::exchange(other.shape_, unibuf::shape(std::size_t{0}))) {}
    unified_buffer& operator=(unified_buffer&& other) noexcept {
        bytes_ = std::move(other.bytes_);
        shape_ = this == &other ? shape_ : std::exchange(other.shape_, unibuf::shape(std::size_t{0}));
        return *this;
    }

    /// Shares the buffer with its element type and its shape, which attach() looks at: see buffer::share.
    std::string share() { return bytes_.share(detail::describe(detail::element_name_of<T>(), shape_)); }
    bool is_shared() const { return bytes_.is_shared(); }

    /// Gives a shared buffer by its name: see buffer::attach. Throws error(invalid_argument) where the elements are of
    /// another type, or their number is none of the shape that was shared.
    static unified_buffer attach(std::string_view name, const buffer_options& options = {}) {
        const std::string told = buffer::description_of(name);
        const unibuf::shape extents = detail::described_shape(told, detail::element_name_of<T>());
        buffer made = buffer::attach(name, options);
        if (bytes_of(extents) == made.size_bytes()) return unified_buffer(std::move(made), extents);
        throw error(error_code::invalid_argument,
                    "'" + std::string(name) + "' was to be attached, but its bytes are none of its shape");
    }

    const unibuf::shape& shape() const noexcept { return shape_; }
    std::size_t size() const noexcept { return shape_.elements(); }
    std::size_t size_bytes() const noexcept { return bytes_.size_bytes(); }

    /// Returns a handle to `count` elements from `offset` on, in row-major order, as an array of one axis.
    unified_buffer view(std::size_t offset, std::size_t count) {
        buffer part = bytes_.view(scaled(offset), scaled(count));
        const unibuf::shape elements(part.size_bytes() / sizeof(T));
        return unified_buffer(std::move(part), elements);
    }

    /// Returns a handle to a rectangle: there is a slice or an index for each axis, and one slice at least. An index
    /// takes its axis away. See buffer::view for what it costs and throws.
    ///
    ///     rectangle<float> inside = image.view(slice{1, rows - 1}, slice{1, columns - 1});
    ///     rectangle<float> column = image.view(full_extent, 3);
    template <class... Slices>
        requires(detail::slice_or_index<Slices> && ...) && (std::same_as<Slices, slice> || ...)
    rectangle<T> view(const Slices&... along) {
        const std::array<slice, sizeof...(Slices)> all{detail::slice_of(along)...};
        buffer part = bytes_.view(shape_, sizeof(T), all);
        return {std::move(part), detail::layout_of(shape_, along...)};
    }

    UNIBUF_INLINED lease<const T> read(space where, const access_options& options = {}) const {
        return acquire<const T>(where, access::read, options);
    }
    UNIBUF_INLINED lease<T> write(space where, const access_options& options = {}) {
        return acquire<T>(where, access::write, options);
    }
    UNIBUF_INLINED lease<T> read_write(space where, const access_options& options = {}) {
        return acquire<T>(where, access::read_write, options);
    }

    // Each of these describes a lease that lease_together is to take.
    wanted_lease<const T> to_read(space where, const access_options& options = {}) const noexcept {
        return {{&bytes_, where, access::read, in_bytes(options)}};
    }
    wanted_lease<T> to_write(space where, const access_options& options = {}) noexcept {
        return {{&bytes_, where, access::write, in_bytes(options)}};
    }
    wanted_lease<T> to_read_write(space where, const access_options& options = {}) noexcept {
        return {{&bytes_, where, access::read_write, in_bytes(options)}};
    }

    UNIBUF_INLINED T* host() { return reinterpret_cast<T*>(bytes_.host()); }
    UNIBUF_INLINED const T* host() const { return reinterpret_cast<const T*>(bytes_.host()); }
    void release_host() { bytes_.release_host(); }
    void release_device() { bytes_.release_device(); }
    UNIBUF_INLINED unibuf::host_view<T> host_view(std::size_t offset = 0, std::size_t count = rest) {
        return unibuf::host_view<T>(bytes_.hold_host(scaled(offset), scaled(count)));
    }
    UNIBUF_INLINED unibuf::host_view<T> io_view(access what = access::write, std::size_t offset = 0,
                                                std::size_t count = rest) {
        return unibuf::host_view<T>(bytes_.hold_for_io(what, scaled(offset), scaled(count)));
    }
    UNIBUF_INLINED native_memory device() { return bytes_.device(); }
    UNIBUF_INLINED unibuf::copy_view capture_upload(space where, const access_options& options) {
        return bytes_.capture_upload(where, in_bytes(options));
    }
    UNIBUF_INLINED unibuf::copy_view copy_view(space where, std::size_t offset = 0, std::size_t count = rest) {
        return bytes_.copy_view(where, scaled(offset), scaled(count));
    }

    UNIBUF_INLINED standing_hold bind(space where, access what, standing_options options = {}) {
        options.offset = scaled(options.offset);
        options.count = scaled(options.count);
        return bytes_.bind(where, what, options);
    }

    UNIBUF_INLINED void sync_to_host(std::size_t offset = 0, std::size_t count = rest) {
        bytes_.sync_to_host(scaled(offset), scaled(count));
    }
    UNIBUF_INLINED void sync_to_device(std::size_t offset = 0, std::size_t count = rest) {
        bytes_.sync_to_device(scaled(offset), scaled(count));
    }
    UNIBUF_INLINED void mark_host_dirty(std::size_t offset = 0, std::size_t count = rest) {
        bytes_.mark_host_dirty(scaled(offset), scaled(count));
    }
    UNIBUF_INLINED void mark_device_dirty(std::size_t offset = 0, std::size_t count = rest) {
        bytes_.mark_device_dirty(scaled(offset), scaled(count));
    }
    UNIBUF_INLINED void mark_dirty(space where, std::size_t offset = 0, std::size_t count = rest) {
        bytes_.mark_dirty(where, scaled(offset), scaled(count));
    }
    UNIBUF_INLINED void mark_dirty(space where, const access_options& options) {
        bytes_.mark_dirty(where, in_bytes(options));
    }
    UNIBUF_INLINED void prefetch(space where, const access_options& options = {}) {
        bytes_.prefetch(where, in_bytes(options));
    }
    UNIBUF_INLINED void discard(space where) { bytes_.discard(where); }
    UNIBUF_INLINED void discard_content() { bytes_.discard_content(); }

    UNIBUF_INLINED void fill(const T& value) { bytes_.fill(std::as_bytes(std::span(&value, 1))); }
    UNIBUF_INLINED void fill(const T& value, space where) { bytes_.fill(std::as_bytes(std::span(&value, 1)), where); }
    UNIBUF_INLINED void copy_from(std::span<const T> data, std::size_t offset = 0) {
        bytes_.copy_from(std::as_bytes(data), scaled(offset));
    }
    UNIBUF_INLINED void copy_to(std::span<T> data, std::size_t offset = 0) const {
        bytes_.copy_to(std::as_writable_bytes(data), scaled(offset));
    }
    UNIBUF_INLINED void copy_from(std::span<const T> data, space where, std::size_t offset = 0) {
        bytes_.copy_from(std::as_bytes(data), where, scaled(offset));
    }
    UNIBUF_INLINED void copy_to(std::span<T> data, space where, std::size_t offset = 0) const {
        bytes_.copy_to(std::as_writable_bytes(data), where, scaled(offset));
    }
    space current_at() const { return bytes_.current_at(); }
    UNIBUF_INLINED void copy_from(const unified_buffer& source, std::size_t offset = 0) {
        bytes_.copy_from(source.bytes_, scaled(offset));
    }
    UNIBUF_INLINED void copy_to(unified_buffer& target, std::size_t offset = 0) const {
        bytes_.copy_to(target.bytes_, scaled(offset));
    }

    buffer_state state() const { return bytes_.state(); }
    unibuf::statistics statistics() const { return bytes_.statistics(); }
    placement_info placement(space where) const { return bytes_.placement(where); }

    /// Returns the same buffer, as bytes.
    unibuf::buffer& bytes() noexcept { return bytes_; }
    const unibuf::buffer& bytes() const noexcept { return bytes_; }

private:
    friend class batch;
    friend class memory_pool;
    friend class registry;

    unified_buffer(buffer bytes, const unibuf::shape& shape) : bytes_(std::move(bytes)), shape_(shape) {}

    template <class Element>
    UNIBUF_INLINED lease<Element> acquire(space where, access what, const access_options& options) const {
        return {detail::acquired_by{}, [&]() UNIBUF_INLINED { return bytes_.acquire(where, what, in_bytes(options)); }};
    }

    /// Returns the size of so many elements in bytes. A number that cannot be counted lies outside every buffer, and is
    /// refused as such.
    static std::size_t scaled(std::size_t elements) noexcept {
        if (elements == rest) return rest;
        return std::min(detail::product(elements, sizeof(T)).value_or(rest), rest - 1);
    }

    static std::size_t bytes_of(const unibuf::shape& shape) {
        if (const auto bytes = detail::product(shape.elements(), sizeof(T))) return *bytes;
        throw error(error_code::out_of_memory, "a buffer of more than 2^64 bytes was asked for");
    }

    static access_options in_bytes(access_options options) noexcept {
        options.offset = scaled(options.offset);
        options.count = scaled(options.count);
        return options;
    }

    buffer bytes_;
    unibuf::shape shape_;
};

}  // namespace unibuf
