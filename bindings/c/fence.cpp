// fence.cpp: the completion of queued work.
#include <unibuf/fence.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <unibuf/error.hpp>

#include "callers_context.hpp"
#include "convert.hpp"
#include "handles.hpp"
#include "queues.hpp"

namespace unibuf::c {
namespace {

class callers_work final : public fence::work, public callers_context<unibuf_work> {
public:
    using callers_context::callers_context;

    bool wait(std::chrono::nanoseconds timeout) override {
        const unibuf_status found = functions().wait(functions().context, timeout.count());
        if (found != UNIBUF_TIMEOUT) check_returned(found, "the wait for work of the program's own");
        return found == UNIBUF_OK;
    }
};

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_fence_create(const unibuf_work* work, unibuf_fence** fence) {
    return attempt([&] {
        given(given(work, "work").wait, "a function that waits");
        std::shared_ptr<callers_work> made;
        hand_out(fence, "a place for the fence", [&] {
            made = std::make_shared<callers_work>(*work);
            return unibuf::fence(made);
        });
        made->keep();
    });
}

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
