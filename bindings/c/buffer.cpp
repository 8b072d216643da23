// buffer.cpp: buffers, and the verbs that move their bytes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unibuf/error.hpp>
#include <utility>

#include "convert.hpp"
#include "handles.hpp"

namespace unibuf::c {
namespace {

/// Tells the program that its memory is not used any more, unless the buffer was never made.
class callers_memory {
public:
    callers_memory(void (*on_free)(void*), void* context) noexcept : on_free_(on_free), context_(context) {}
    ~callers_memory() {
        if (armed_ && on_free_) on_free_(context_);
    }
    callers_memory(const callers_memory&) = delete;
    callers_memory& operator=(const callers_memory&) = delete;

    void arm() noexcept { armed_ = true; }

private:
    void (*on_free_)(void*);
    void* context_;
    bool armed_ = false;
};

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_create(size_t bytes, const unibuf_options* options, unibuf_buffer** buffer) {
    return attempt([&] {
        hand_out(buffer, "a place for the buffer", [&] { return unibuf::buffer(bytes, options_of(options)); });
    });
}

unibuf_status unibuf_create_over(void* memory, size_t bytes, void (*on_free)(void*), void* context,
                                 const unibuf_options* options, unibuf_buffer** buffer) {
    return attempt([&] {
        const auto keep = std::make_shared<callers_memory>(on_free, context);
        hand_out(buffer, "a place for the buffer",
                 [&] { return unibuf::buffer::over(bytes_at<std::byte>(memory, bytes), keep, options_of(options)); });
        keep->arm();
    });
}

unibuf_status unibuf_view(unibuf_buffer* buffer, size_t offset, size_t size, unibuf_buffer** view) {
    return attempt(
        [&] { hand_out(view, "a place for the view", [&] { return bytes_of(buffer).view(offset, size); }); });
}

unibuf_status unibuf_view_rect(unibuf_buffer* buffer, size_t element_size, size_t axes, const size_t* extents,
                               const size_t* begin, const size_t* end, unibuf_buffer** view) {
    return attempt([&] {
        hand_out(view, "a place for the view", [&] {
            const auto array = unibuf::shape::of(std::span(&given(extents, "extents"), axes));  // has few axes
            given(begin, "the begin of each axis");
            given(end, "the end of each axis");
            std::array<unibuf::slice, unibuf::shape::max_rank> along;
            for (std::size_t axis = 0; axis < axes; ++axis) along[axis] = {begin[axis], end[axis], 1};
            return bytes_of(buffer).view(array, element_size, std::span(along).first(axes));
        });
    });
}

void unibuf_destroy(unibuf_buffer* buffer) { delete buffer; }

size_t unibuf_size(const unibuf_buffer* buffer) { return buffer ? buffer->bytes.size_bytes() : 0; }

uint64_t unibuf_id(const unibuf_buffer* buffer) { return buffer ? buffer->bytes.id() : 0; }

unibuf_status unibuf_share(unibuf_buffer* buffer, unibuf_shared_name* name) {
    return answer(name, "a place for the name", [&] {
        const std::string text = bytes_of(buffer).share();
        unibuf_shared_name result{};
        text.copy(result.text, sizeof result.text - 1);
        return result;
    });
}

unibuf_status unibuf_attach(const char* name, const unibuf_options* options, unibuf_buffer** buffer) {
    return attempt([&] {
        hand_out(buffer, "a place for the buffer",
                 [&] { return unibuf::buffer::attach(&given(name, "a name"), options_of(options)); });
    });
}

unibuf_status unibuf_host(unibuf_buffer* buffer, void** pointer) {
    return answer(pointer, "a place for the pointer", [&] { return bytes_of(buffer).host(); });
}

unibuf_status unibuf_host_to_read(unibuf_buffer* buffer, const void** pointer) {
    return answer(pointer, "a place for the pointer", [&] { return std::as_const(bytes_of(buffer)).host(); });
}

unibuf_status unibuf_release_host(unibuf_buffer* buffer) {
    return attempt([&] { bytes_of(buffer).release_host(); });
}

unibuf_status unibuf_device(unibuf_buffer* buffer, unibuf_native* native) {
    return answer(native, "a place for the handle", [&] { return shown(bytes_of(buffer).device()); });
}

unibuf_status unibuf_release_device(unibuf_buffer* buffer) {
    return attempt([&] { bytes_of(buffer).release_device(); });
}

unibuf_status unibuf_sync_to_host(unibuf_buffer* buffer, size_t offset, size_t size) {
    return attempt([&] { bytes_of(buffer).sync_to_host(offset, size); });
}

unibuf_status unibuf_sync_to_device(unibuf_buffer* buffer, size_t offset, size_t size) {
    return attempt([&] { bytes_of(buffer).sync_to_device(offset, size); });
}

unibuf_status unibuf_mark_host_dirty(unibuf_buffer* buffer, size_t offset, size_t size) {
    return attempt([&] { bytes_of(buffer).mark_host_dirty(offset, size); });
}

unibuf_status unibuf_mark_device_dirty(unibuf_buffer* buffer, size_t offset, size_t size) {
    return attempt([&] { bytes_of(buffer).mark_device_dirty(offset, size); });
}

unibuf_status unibuf_mark_dirty(unibuf_buffer* buffer, unibuf_space where, const unibuf_access_options* options) {
    return attempt([&] {
        unibuf::buffer& of = bytes_of(buffer);
        of.mark_dirty(space_of(where), access_options_of(of, options));
    });
}

unibuf_status unibuf_prefetch(unibuf_buffer* buffer, unibuf_space where, const unibuf_access_options* options) {
    return attempt([&] {
        unibuf::buffer& of = bytes_of(buffer);
        of.prefetch(space_of(where), access_options_of(of, options));
    });
}

unibuf_status unibuf_discard(unibuf_buffer* buffer, unibuf_space where) {
    return attempt([&] { bytes_of(buffer).discard(space_of(where)); });
}

unibuf_status unibuf_discard_content(unibuf_buffer* buffer) {
    return attempt([&] { bytes_of(buffer).discard_content(); });
}

unibuf_status unibuf_fill(unibuf_buffer* buffer, const void* pattern, size_t pattern_size) {
    return attempt([&] { bytes_of(buffer).fill(bytes_at<const std::byte>(pattern, pattern_size)); });
}

unibuf_status unibuf_fill_at(unibuf_buffer* buffer, const void* pattern, size_t pattern_size, unibuf_space where) {
    return attempt([&] { bytes_of(buffer).fill(bytes_at<const std::byte>(pattern, pattern_size), space_of(where)); });
}

unibuf_status unibuf_copy_from(unibuf_buffer* buffer, const void* data, size_t size, size_t offset) {
    return attempt([&] {
        unibuf::buffer& to = bytes_of(buffer);
        to.copy_from(bytes_beside<const std::byte>(to, data, size, offset), offset);
    });
}

unibuf_status unibuf_copy_to(unibuf_buffer* buffer, void* data, size_t size, size_t offset) {
    return attempt([&] {
        const unibuf::buffer& from = bytes_of(buffer);
        from.copy_to(bytes_beside<std::byte>(from, data, size, offset), offset);
    });
}

unibuf_status unibuf_copy_from_at(unibuf_buffer* buffer, const void* data, size_t size, size_t offset,
                                  unibuf_space where) {
    return attempt([&] {
        unibuf::buffer& to = bytes_of(buffer);
        to.copy_from(bytes_beside<const std::byte>(to, data, size, offset), space_of(where), offset);
    });
}

unibuf_status unibuf_copy_to_at(unibuf_buffer* buffer, void* data, size_t size, size_t offset, unibuf_space where) {
    return attempt([&] {
        const unibuf::buffer& from = bytes_of(buffer);
        from.copy_to(bytes_beside<std::byte>(from, data, size, offset), space_of(where), offset);
    });
}

unibuf_status unibuf_current_at(unibuf_buffer* buffer, unibuf_space* where) {
    return answer(where, "a place for the space", [&] { return bytes_of(buffer).current_at().id(); });
}
