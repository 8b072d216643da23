// buffer/core.cpp: how a buffer begins, who has handles of it, and what it tells of itself.
#include "buffer/core.hpp"

#include <fmt/format.h>

#include "process/only_library.hpp"
#include "tracking/kernel.hpp"
#include "tracking/watch.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

/// Numbers are taken in blocks, so that threads that make buffers do not contend.
std::uint64_t next_id() {
    constexpr std::uint64_t block = 64;
    static std::atomic<std::uint64_t> taken;
    static thread_local constinit std::uint64_t next = 0;
    if (next % block == 0) {
        process::refuse_second_library();
        next = taken.fetch_add(block, std::memory_order_relaxed);
    }
    return ++next;
}

/// Returns why writes through pointers to the host's copy are not found.
std::string why_not_found(const guarded& state, const backends::memory& of_host) {
    if (state.copies.options().tracking == write_tracking::off) return "the buffer's write_tracking is off";
    if (state.peers()) return "several processes share the buffer";
    if (const tracking::mechanism has = tracking::about(); !has.finds_writes) return has.description;
    if (!of_host.own_pages_inside()) return "the memory is a driver's, or several processes map it";
    return "the first pointer found no descriptor, no memory or no mapping left, or pages that the program watches "
           "itself";
}

}  // namespace

// Programs have very many buffers: with what malloc adds, this is a block of 208 bytes.
static_assert(sizeof(core) <= 200);

seldom_used::seldom_used() = default;
seldom_used::~seldom_used() = default;

guarded::guarded(std::size_t bytes, std::size_t bytes_of_copies, const buffer_options& options, const gate& of)
    : id(next_id()), directory(bytes), copies(bytes_of_copies, options), holds(of) {}

core::core(std::size_t size_bytes, const buffer_options& options)
    : gate(size_bytes), state_(size_bytes, size_bytes, options, *this) {}

core::core(std::size_t size_bytes, const buffer_options& options, std::unique_ptr<pool_tag> of)
    : gate(size_bytes), state_(size_bytes, of->key.size_class, options, *this) {
    state_.with_seldom_used().pooled = std::move(of);
}

void refuse_constant() {
    throw error(error_code::invalid_argument,
                "a constant buffer was asked for: it is made over memory of the program's own alone (buffer::over)");
}

void guarded::end_sending() noexcept {
    if (!seldom) return;
    if (seldom->writes) seldom->writes->end_sending();
    seldom->sent.forget_taken();
}

std::string guarded::name() const { return fmt::format("buffer #{} ({} bytes)", id, whole().size()); }

bool core::add_handle_if_alive() noexcept {
    std::uint32_t seen = handles_.load(std::memory_order_relaxed);
    const auto alive = [&] { return seen != 0 && seen < leased_only; };
    while (alive() && !handles_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) {
    }
    return alive();
}

bool core::is_going() const noexcept {
    const std::uint32_t seen = handles_.load(std::memory_order_acquire);
    return seen == 0 || seen == ending;
}

bool core::is_unused() const noexcept {
    if (has_other_handles()) return false;
    const std::scoped_lock guard(mutex_);
    return !state_.holds.any();
}

void core::drop_handle() noexcept {
    // Where nobody can find the buffer but by a handle, nobody can take another handle now.
    const bool alone = handles_.load(std::memory_order_acquire) == 1 && !state_.resident && !state_.named;
    if (!alone && handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const bool was_used = !alone || !state_.copies.empty();  // who leases a buffer has a copy of it
    if (was_used) {
        // The lock is taken, so that a thread that has just ended a lease is out of it.
        const std::scoped_lock guard(mutex_);
        const bool leased = solo.load(std::memory_order_acquire) != 0 &&
                            (solo.fetch_or(by_lock) & ~by_lock || !state_.holds.none_by_lock());
        state_.ownerless = leased;
        if (leased) return handles_.store(leased_only, std::memory_order_release);
    }
    delete this;
}

void core::end() noexcept { delete this; }

void core::will_be_named(void (*forget)(const core&)) {
    const std::scoped_lock guard(mutex_);
    state_.with_seldom_used().forget_names = forget;
    state_.named = true;
}

statistics core::statistics() const {
    const std::scoped_lock guard(mutex_);
    const seldom_used* const seldom = state_.seldom.get();
    unibuf::statistics result;
    for (const transfer_tally& each : state_.transfers) {
        result.transfers.push_back({.from = space::from_id(each.from),
                                    .to = space::from_id(each.to),
                                    .why = static_cast<cause>(each.why),
                                    .transfers = each.transfers,
                                    .bytes = each.bytes});
    }
    if (!seldom) return result;
    result.publications = seldom->publications;
    result.fence_waits = seldom->fence_waits;
    result.evictions = seldom->evictions;
    return result;
}

std::size_t core::ranges() const {
    const std::scoped_lock guard(mutex_);
    return state_.directory.pieces();
}

placement_info core::placement(space where) const {
    const std::scoped_lock guard(mutex_);
    const copy* const its_copy = state_.copies.find(where.id());
    check_allocated(state_, its_copy, where, "its placement");
    placement_info result = state_.copies.placement_of(*its_copy);
    result.pointers_out = state_.holds.pointer_is_out(where.id());
    if (where != host || !state_.writes()) return result;
    result.writes_found = state_.writes()->finds_writes();
    if (!result.writes_found) {
        result.reason += ", and writes through pointers are not found: " + why_not_found(state_, *its_copy->memory);
    } else if (tracking::kernel::is_by_signal()) {
        result.reason += ", and writes through pointers are found by " + tracking::about().description;
    }
    return result;
}

std::uint64_t core::held_at(space where) const {
    const std::scoped_lock guard(mutex_);
    return state_.copies.held_at(where.id());
}

std::shared_ptr<process::shared_memory> core::shared_memory() const {
    const std::scoped_lock guard(mutex_);
    return state_.peers() ? state_.peers()->memory() : nullptr;
}

bool core::is_bound() const {
    const std::scoped_lock guard(mutex_);
    return state_.holds.any_standing();
}

void core::check_has_copy() const {
    const std::scoped_lock guard(mutex_);
    if (state_.copies.allocated() != 0) return;
    throw error(error_code::not_allocated,
                name() + ": to synchronize was asked for, but it has no copy yet: access it first");
}

void check_allocated(const guarded& state, const copy* its_copy, space where, const char* verb) {
    if (its_copy) return;
    throw error(error_code::not_allocated, fmt::format("{}: {} was asked for, but there is no copy at {} yet: access "
                                                       "it first",
                                                       state.name(), verb, where.name()));
}

constinit gate no_buffer{0};

core& core_of(gate* of) {
    if (of != &no_buffer) return static_cast<core&>(*of);
    throw error(error_code::invalid_argument, "a buffer was used that was moved from");
}

std::uint32_t number_thread() noexcept {
    static std::atomic<std::uint32_t> last;
    thread_number = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return thread_number;
}

}  // namespace unibuf::detail
