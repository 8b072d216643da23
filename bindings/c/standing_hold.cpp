// standing_hold.cpp: devices that may use bytes at any time.
#include <unibuf/standing_hold.hpp>

#include "convert.hpp"
#include "handles.hpp"
#include "queues.hpp"

struct unibuf_standing_hold {
    unibuf::standing_hold hold;
};

namespace unibuf::c {
namespace {

standing_options standing_options_of(const buffer& of, const unibuf_standing_options* given) {
    if (!given) return {};
    check_asks(of, given->offset, given->size, "UNIBUF_STANDING_INIT");
    standing_options result;
    result.offset = given->offset;
    result.count = given->size;
    result.timeout = timeout_of(given->timeout_ns);
    result.on = queue_of(given->queue);
    result.opens = reopening_of(given->reopens);
    // Each lambda captures two words, which a std::function keeps without an allocation.
    if (given->pause) {
        result.pause = [call = given->pause, with = given->context] {
            check_returned(call(with), "the pause of a standing hold");
        };
    }
    if (given->resume) result.resume = [call = given->resume, with = given->context] { call(with); };
    return result;
}

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_bind(unibuf_buffer* buffer, unibuf_space where, unibuf_access access,
                          const unibuf_standing_options* options, unibuf_standing_hold** hold) {
    return attempt([&] {
        hand_out(hold, "a place for the hold", [&]() -> unibuf_standing_hold {
            unibuf::buffer& of = bytes_of(buffer);
            return {of.bind(space_of(where), access_of(access), standing_options_of(of, options))};
        });
    });
}

unibuf_status unibuf_standing_hold_native(const unibuf_standing_hold* hold, unibuf_native* native) {
    return answer(native, "a place for the handle",
                  [&] { return shown(given(hold, "a standing hold").hold.native()); });
}

unibuf_status unibuf_standing_hold_resume(unibuf_standing_hold* hold) {
    return attempt([&] { given(hold, "a standing hold").hold.resume(); });
}

unibuf_status unibuf_standing_hold_pause(unibuf_standing_hold* hold) {
    return attempt([&] { given(hold, "a standing hold").hold.pause(); });
}

void unibuf_standing_hold_release(unibuf_standing_hold* hold) { delete hold; }
