// fence.cpp: the completion of queued work.
#include <unibuf/fence.hpp>

#include <string>
#include <unibuf/error.hpp>

#include "convert.hpp"
#include "handles.hpp"

struct unibuf_fence {
    unibuf::fence work;
};

using namespace unibuf::c;

unibuf_status unibuf_record_fence(unibuf_space where, unibuf_queue queue, unibuf_fence** fence) {
    return attempt([&] {
        hand_out(fence, "a place for the fence",
                 [&] { return unibuf::record_fence(space_of(where), queue_of(queue)); });
    });
}

unibuf_status unibuf_fence_wait(const unibuf_fence* fence, int64_t timeout_ns) {
    return attempt([&] {
        if (given(fence, "a fence").work.wait(timeout_of(timeout_ns))) return;
        throw unibuf::error(unibuf::error_code::timeout,
                            "the work before a fence was not done after " + std::to_string(timeout_ns) + " ns");
    });
}

void unibuf_fence_destroy(unibuf_fence* fence) { delete fence; }
