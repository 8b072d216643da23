// registry.cpp: buffers by name.
#include <unibuf/registry.hpp>

#include <utility>

#include "handles.hpp"

using namespace unibuf::c;

unibuf_status unibuf_register(const char* name, unibuf_buffer* buffer, bool keep) {
    return attempt([&] { unibuf::get_registry().add(&given(name, "a name"), bytes_of(buffer), keep); });
}

unibuf_status unibuf_find(const char* name, unibuf_buffer** buffer) {
    return attempt([&] {
        unibuf_buffer*& place = given(buffer, "a place for the buffer");
        auto found = unibuf::get_registry().find(&given(name, "a name"));
        place = found ? new unibuf_buffer(std::move(found->bytes)) : nullptr;
    });
}

unibuf_status unibuf_unregister(const char* name, bool* existed) {
    return attempt([&] {
        const bool removed = unibuf::get_registry().remove(&given(name, "a name"));
        if (existed) *existed = removed;
    });
}
