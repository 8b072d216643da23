// trace/counters.cpp: counts transfers, publications, waits and evictions of all buffers.
#include "trace/counters.hpp"

#include <array>
#include <atomic>

namespace unibuf {
namespace trace {
namespace {

using counter = std::atomic<std::uint64_t>;

struct kind_of_transfer {
    counter transfers;
    counter bytes;
};

// These pages stay untouched zeros until a pair of spaces moves something.
std::array<std::array<std::array<kind_of_transfer, causes>, max_spaces>, max_spaces> moved;  // [from][to][why]
counter publications;
counter evictions;
counter fence_waits;
std::atomic<transfer_observer*> current_observer;

template <class Visit>
void for_each_kind(Visit visit) {
    for (std::size_t from = 0; from < max_spaces; ++from) {
        for (std::size_t to = 0; to < max_spaces; ++to) {
            for (std::size_t why = 0; why < causes; ++why) {
                visit(space::from_id(static_cast<std::uint8_t>(from)), space::from_id(static_cast<std::uint8_t>(to)),
                      static_cast<cause>(why), moved[from][to][why]);
            }
        }
    }
}

}  // namespace

void count_transfers(space from, space to, cause why, std::uint64_t transfers, std::uint64_t bytes) noexcept {
    kind_of_transfer& kind = moved[from.id()][to.id()][static_cast<std::size_t>(why)];
    kind.transfers.fetch_add(transfers, std::memory_order_relaxed);
    kind.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void count_publication() noexcept { publications.fetch_add(1, std::memory_order_relaxed); }
void count_eviction() noexcept { evictions.fetch_add(1, std::memory_order_relaxed); }
void count_fence_wait() noexcept { fence_waits.fetch_add(1, std::memory_order_relaxed); }

transfer_observer* observer() noexcept { return current_observer.load(std::memory_order_acquire); }

}  // namespace trace

transfer_observer::~transfer_observer() = default;

void set_transfer_observer(transfer_observer* observer) noexcept {
    trace::current_observer.store(observer, std::memory_order_release);
}

statistics total_statistics() {
    statistics result;
    trace::for_each_kind([&](space from, space to, cause why, const auto& kind) {
        const std::uint64_t transfers = kind.transfers.load(std::memory_order_relaxed);
        if (transfers != 0) {
            result.transfers.push_back({from, to, why, transfers, kind.bytes.load(std::memory_order_relaxed)});
        }
    });
    result.publications = trace::publications.load(std::memory_order_relaxed);
    result.fence_waits = trace::fence_waits.load(std::memory_order_relaxed);
    result.evictions = trace::evictions.load(std::memory_order_relaxed);
    return result;
}

void reset_statistics() {
    trace::for_each_kind([](space, space, cause, auto& kind) {
        if (kind.transfers.load(std::memory_order_relaxed) == 0) return;
        kind.transfers.store(0, std::memory_order_relaxed);
        kind.bytes.store(0, std::memory_order_relaxed);
    });
    trace::publications.store(0, std::memory_order_relaxed);
    trace::fence_waits.store(0, std::memory_order_relaxed);
    trace::evictions.store(0, std::memory_order_relaxed);
}

std::uint64_t statistics::bytes_moved() const noexcept {
    std::uint64_t result = 0;
    for (const transfer_count& each : transfers) result += each.bytes;
    return result;
}

std::uint64_t statistics::transfers_made() const noexcept {
    std::uint64_t result = 0;
    for (const transfer_count& each : transfers) result += each.transfers;
    return result;
}

}  // namespace unibuf
