// statistics.cpp: the state of a buffer, and the transfers made for it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unibuf/error.hpp>
#include <unibuf/statistics.hpp>
#include <vector>

#include "convert.hpp"
#include "handles.hpp"

namespace unibuf::c {
namespace {

using observing = void (*)(void*, const unibuf_transfer*);

class observer final : public transfer_observer {
public:
    observer(observing function, void* context) noexcept : function_(function), context_(context) {}

    bool calls(observing function, void* context) const noexcept {
        return function_ == function && context_ == context;
    }

    void on_transfer(const transfer& made) noexcept override {
        const auto nanoseconds = [](std::chrono::steady_clock::time_point at) {
            return std::chrono::nanoseconds(at.time_since_epoch()).count();
        };
        const unibuf_transfer told{.buffer = made.buffer,
                                   .from = made.from.id(),
                                   .to = made.to.id(),
                                   .offset = made.offset,
                                   .size = made.bytes,
                                   .cause = static_cast<unibuf_cause>(made.why),
                                   .begin_ns = nanoseconds(made.begin),
                                   .end_ns = nanoseconds(made.end)};
        function_(context_, &told);
    }

private:
    observing function_;
    void* context_;
};

/// Keeps an observer for good: transfers under way may still reach one that was replaced. Each is kept once.
observer* kept(observing function, void* context) {
    static std::mutex mutex;
    static auto& all = *new std::vector<std::unique_ptr<observer>>;
    const std::lock_guard lock(mutex);
    const auto known = std::ranges::find_if(all, [&](const auto& each) { return each->calls(function, context); });
    if (known != all.end()) return known->get();
    return all.emplace_back(std::make_unique<observer>(function, context)).get();
}

statistics statistics_of(const unibuf_buffer* buffer) {
    return buffer ? buffer->bytes.statistics() : total_statistics();
}

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_state(const unibuf_buffer* buffer, unibuf_buffer_state* state) {
    return answer(state, "a place for the state",
                  [&] { return static_cast<unibuf_buffer_state>(bytes_of(buffer).state()); });
}

const char* unibuf_state_name(unibuf_buffer_state state) {
    if (state < UNIBUF_UNINITIALIZED || state > UNIBUF_MIXED) return "unknown";
    return to_string(static_cast<unibuf::buffer_state>(state)).data();
}

const char* unibuf_cause_name(unibuf_cause cause) {
    if (cause < UNIBUF_CAUSE_READ || cause > UNIBUF_CAUSE_EVICTION) return "unknown";
    return to_string(static_cast<unibuf::cause>(cause)).data();
}

unibuf_status unibuf_placement_at(const unibuf_buffer* buffer, unibuf_space where, unibuf_placement* placement) {
    return attempt([&] {
        static thread_local unibuf::placement_info last;
        unibuf_placement& result = given(placement, "a place for the placement");
        last = bytes_of(buffer).placement(space_of(where));
        result = {.shared = last.placement == unibuf::placement::shared,
                  .pinned = last.pinned,
                  .reason = last.reason.c_str(),
                  .mapping = last.mapping.c_str()};
    });
}

unibuf_status unibuf_statistics_of(const unibuf_buffer* buffer, unibuf_statistics* statistics) {
    return attempt([&] {
        unibuf_statistics& result = given(statistics, "a place for the statistics");
        const unibuf::statistics found = statistics_of(buffer);
        result = {.transfers = found.transfers_made(),
                  .bytes_moved = found.bytes_moved(),
                  .publications = found.publications,
                  .fence_waits = found.fence_waits,
                  .evictions = found.evictions};
    });
}

unibuf_status unibuf_transfers_of(const unibuf_buffer* buffer, unibuf_transfer_count* counts, size_t capacity,
                                  size_t* count) {
    return attempt([&] {
        std::size_t& there = given(count, "a place for the count");
        if (capacity != 0) given(counts, "a place for the transfers");
        const auto transfers = statistics_of(buffer).transfers;
        for (std::size_t i = 0; i < std::min(capacity, transfers.size()); ++i) {
            const unibuf::transfer_count& each = transfers[i];
            counts[i] = {.from = each.from.id(),
                         .to = each.to.id(),
                         .cause = static_cast<unibuf_cause>(each.why),
                         .transfers = each.transfers,
                         .bytes = each.bytes};
        }
        there = transfers.size();
    });
}

unibuf_status unibuf_reset_statistics(void) {
    return attempt([] { unibuf::reset_statistics(); });
}

unibuf_status unibuf_set_transfer_observer(void (*observer)(void*, const unibuf_transfer*), void* context) {
    return attempt([&] { unibuf::set_transfer_observer(observer ? kept(observer, context) : nullptr); });
}
