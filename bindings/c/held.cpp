// held.cpp: copies that are held in place, and who is asked to let go of them.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unibuf/holder.hpp>
#include <utility>

#include "callers_context.hpp"
#include "convert.hpp"
#include "handles.hpp"

struct unibuf_held {
    unibuf::copy_view copy;
};

namespace unibuf::c {
namespace {

using holder_of_copy = callers_context<unibuf_holder>;

void ask_to_let_go(void* context) noexcept {
    const unibuf_holder& who = static_cast<holder_of_copy*>(context)->functions();
    who.let_go(who.context);
}

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_hold(unibuf_buffer* buffer, unibuf_space where, size_t offset, size_t size, unibuf_held** held) {
    return attempt([&] {
        hand_out(held, "a place for what is held", [&]() -> unibuf_held {
            unibuf::buffer& bytes = bytes_of(buffer);
            const unibuf::space at = space_of(where);
            const bool writes = at == unibuf::host && unibuf::detail::host_may_write(bytes.options().access);
            if (writes) return {bytes.host_view(offset, size)};
            return {bytes.copy_view(at, offset, size)};
        });
    });
}

unibuf_status unibuf_hold_for_io(unibuf_buffer* buffer, unibuf_access what, size_t offset, size_t size,
                                 unibuf_held** held) {
    return attempt([&] {
        hand_out(held, "a place for what is held",
                 [&]() -> unibuf_held { return {bytes_of(buffer).io_view(access_of(what), offset, size)}; });
    });
}

unibuf_status unibuf_capture_upload(unibuf_buffer* buffer, unibuf_space where, const unibuf_access_options* options,
                                    unibuf_held** held) {
    return attempt([&] {
        hand_out(held, "a place for what is held", [&]() -> unibuf_held {
            unibuf::buffer& of = bytes_of(buffer);
            return {of.capture_upload(space_of(where), access_options_of(of, options))};
        });
    });
}

unibuf_status unibuf_held_native(const unibuf_held* held, unibuf_native* native) {
    return attempt([&] {
        unibuf_native& result = given(native, "a place for the handle");
        result = shown(given(held, "what is held").copy.native());
    });
}

void* unibuf_held_data(const unibuf_held* held) { return held ? held->copy.data() : nullptr; }

unibuf_status unibuf_held_by(unibuf_held* held, const unibuf_holder* holder) {
    return attempt([&] {
        auto& copy = given(held, "what is held").copy;
        given(given(holder, "a holder").let_go, "a function that lets go");
        const auto context = std::make_shared<holder_of_copy>(*holder);
        copy.held_by({ask_to_let_go, context});
        context->keep();
    });
}

void unibuf_let_go(unibuf_held* held) { delete held; }
