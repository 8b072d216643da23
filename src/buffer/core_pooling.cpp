// buffer/core_pooling.cpp: a buffer that is used again.
#include <fmt/format.h>

#include <cstring>

#include "backends/spaces.hpp"
#include "buffer/core_access.hpp"
#include "registry/names.hpp"

namespace unibuf::detail {

core::core(std::size_t size_bytes, const buffer_options& options, std::unique_ptr<pool_tag> of)
    : gate(size_bytes), id_(next_id()), directory_(size_bytes), copies_(of->key.size_class, options) {
    with_rare().pooled = std::move(of);
}

/// No handle but that of the caller is of use, so nothing but leases and eviction can happen meanwhile, and the gate
/// need not be shut for that.
void core::recycle(std::uint64_t pool) {
    const auto refuse = [this](error_code code, const std::string& why) {
        throw error(code, fmt::format("{}: to release it was asked for, but {}", name(), why));
    };
    std::unique_lock lock(mutex_);
    pool_tag* const known = rare_ ? rare_->pooled.get() : nullptr;
    if (!known || known->pool != pool) refuse(error_code::invalid_argument, "it is not of this pool");
    if (known->released) refuse(error_code::invalid_argument, "it was released before");
    wait_for_claims(lock);
    lease_record held = solo_lease();
    if (const lease_record* const lease = leases_.excluding(directory_.whole(), access::read_write, this_thread())) {
        held = *lease;
    }
    if (held.thread != 0) refuse(error_code::access_conflict, describe(held) + " is held: end it first");
    known->released = true;
    if (named_) names::instance().remove(*this);
    if (writes()) writes()->holders().end_pointers(directory_.whole());
    if (!has_other_handles()) forget();
}

/// It may be evicted right now.
void core::wait_for_claims(std::unique_lock<std::mutex>& lock) {
    ++waiting_;
    rare_->changed.wait(lock, [this] { return !leases_.any_claim(); });
    --waiting_;
}

void core::forget_content() {
    std::unique_lock lock(mutex_);
    wait_for_claims(lock);
    forget();
}

void core::forget() {
    ready.store(0, std::memory_order_relaxed);
    device_ready.store(no_space, std::memory_order_relaxed);
    rare_->writes.reset();
    rare_->publications = rare_->fence_waits = rare_->evictions = 0;
    transfers_.clear();
    any_exposed_ = any_lost_ = false;
    directory_ = coherence::directory(bytes);
    for (copy& each : copies_) {
        each.handed_out = false;
        if (!copies_.any_poisons() || !backends::device_of(space::from_id(each.where)).about().poisons_stale) continue;
        std::memset(each.memory->host_address(), static_cast<int>(backends::poison), bytes);
    }
}

std::uint64_t core::held_at(space where) const {
    const std::scoped_lock lock(mutex_);
    return copies_.held_at(where.id());
}

void core::resize(std::size_t size_bytes) {
    std::unique_lock lock(mutex_);
    wait_for_claims(lock);
    bytes = size_bytes;
    forget();
}

}  // namespace unibuf::detail
