// pool/pool_state.cpp: the buffers that a pool holds.
#include "pool/pool_state.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "containers/room.hpp"
#include "pool/all_pools.hpp"
#include "pool/size_classes.hpp"
#include "unibuf/detail/sizes.hpp"
#include "verbs/reuse.hpp"

namespace unibuf::detail {
namespace {

/// Returns a number that is never used twice, so that what a thread remembers of a pool that has gone is never taken
/// for another's.
std::uint64_t next_pool() noexcept {
    static std::atomic<std::uint64_t> last = 0;
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void count(std::atomic<std::uint64_t>& of) noexcept {
    // One thread counts. Only threads that end share a cache, and may miss one of each other's.
    of.store(of.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

pool_key key_of(std::size_t bytes, const buffer_options& options) noexcept {
    const auto bits = [](auto value, int at) { return static_cast<std::uint64_t>(value) << at; };
    const std::uint64_t device = options.device ? 1U + options.device->id() : 0U;
    return {class_of(bytes), bits(options.access, 0) | bits(options.hint, 8) | bits(options.tracking, 16) |
                                 bits(options.pinned, 24) | bits(options.uninitialized, 25) | bits(device, 32)};
}

}  // namespace

/// The caches of one thread, in all pools that it has used.
struct pool_state::thread_caches {
    struct entry {
        std::uint64_t pool;
        std::weak_ptr<pool_state> alive;
        thread_cache* cache;
    };
    std::vector<entry> all;

    /// The cache that the thread has used last.
    struct memo {
        std::uint64_t pool;
        thread_cache* cache;
    };
    static inline thread_local constinit memo last = {};
    static inline thread_local constinit bool caches_have_ended = false;

    ~thread_caches() {
        last = {};
        caches_have_ended = true;
        for (const entry& each : all) {
            if (const auto pool = each.alive.lock()) each.cache->owned.store(false, std::memory_order_release);
        }
    }
};

pool_state::pool_state() : id_(next_pool()) {
    caches_.push_back(std::make_unique<thread_cache>());
    all_pools::instance().add(*this);
}

pool_state::~pool_state() {
    all_pools::instance().remove(*this);
    trim(0);
}

/// Returns the cache of the calling thread. The first one is of all threads that have ended theirs, and destroy objects
/// still.
pool_state::thread_cache& pool_state::mine() {
    thread_caches::memo& last = thread_caches::last;
    if (last.pool == id_) return *last.cache;
    if (thread_caches::caches_have_ended) return *caches_.front();
    static thread_local thread_caches known;
    const auto found = std::ranges::find(known.all, id_, &thread_caches::entry::pool);
    if (found != known.all.end()) {
        last.cache = found->cache;
    } else {
        std::erase_if(known.all, [](const thread_caches::entry& each) { return each.alive.expired(); });
        make_room(known.all);
        const std::scoped_lock lock(mutex_);
        const auto left = std::ranges::find_if(caches_, [](const std::unique_ptr<thread_cache>& each) {
            return !each->owned.exchange(true, std::memory_order_acq_rel);
        });
        last.cache = left != caches_.end() ? left->get() : caches_.emplace_back(std::make_unique<thread_cache>()).get();
        known.all.push_back({id_, weak_from_this(), last.cache});
    }
    last.pool = id_;
    return *last.cache;
}

std::atomic<core*>& pool_state::slot_of(thread_cache& in, const pool_key& key) const noexcept {
    const std::uint64_t mixed = (key.size_class ^ key.options << 40) * 0x9E3779B97F4A7C15;
    return in.slot[mixed >> 60];
}

core* pool_state::acquire(std::size_t bytes, const buffer_options& options) {
    const pool_key key = key_of(bytes, options);
    thread_cache& cache = mine();
    core* found = slot_of(cache, key).exchange(nullptr, std::memory_order_acq_rel);
    if (found && (found->tag().key != key || found->has_other_handles())) {
        keep(*found);
        found = nullptr;
    }
    if (!found) found = take_from_bins(key);
    if (!found) {
        count(cache.misses);
        return make(bytes, options, key);
    }
    count(cache.hits);
    found->tag().released.store(false, std::memory_order_relaxed);
    if (found->bytes != bytes) resize(*found, bytes);
    return found;
}

void pool_state::release(core& of) {
    thread_cache& cache = mine();
    const bool is_blank = recycle(of, id_);  // nothing after this can fail
    of.tag().end_use();
    if (!is_blank || limit_.load(std::memory_order_relaxed) != no_memory_limit) return keep(of);
    core* const before = slot_of(cache, of.tag().key).exchange(&of, std::memory_order_acq_rel);
    if (before) keep(*before);
}

/// Returns a buffer that lay in the bins, or null. Views of it may have been there since it was released: it is as new.
core* pool_state::take_from_bins(const pool_key& key) {
    while (core* const found = take_unused(key)) {
        if (forget_views(*found)) return found;
        found->drop_handle();
    }
    return nullptr;
}

core* pool_state::take_unused(const pool_key& key) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto bin = bins_.find(key);
    if (bin == bins_.end()) return nullptr;
    std::vector<held>& all = bin->second;
    auto latest_first = std::views::reverse(all);
    const auto free = std::ranges::find_if(latest_first, [](const held& each) { return each.of->is_unused(); });
    if (free == latest_first.end()) return nullptr;
    core* const result = free->of;
    all.erase(std::next(free).base());
    if (all.empty()) bins_.erase(bin);
    bin_bytes_ -= key.size_class;
    return result;
}

void pool_state::keep(core& of) noexcept {
    bool is_kept = false;
    {
        const std::scoped_lock lock(mutex_);
        is_kept = put_into_bin(of);
    }
    if (!is_kept) of.drop_handle();
    drop_beyond(limit_.load(std::memory_order_relaxed));
}

/// Returns false where there is no room to note the buffer. Whoever calls drops it then, without the lock.
bool pool_state::put_into_bin(core& of) noexcept {
    const pool_key key = of.tag().key;
    const auto all = sum(bin_bytes_, key.size_class);
    if (!all) return false;  // it is larger than any memory
    try {
        bins_[key].push_back({&of, releases_ + 1});
        ++releases_;
        bin_bytes_ = *all;
        return true;
    } catch (const std::bad_alloc&) {
        const auto bin = bins_.find(key);
        if (bin != bins_.end() && bin->second.empty()) bins_.erase(bin);
        return false;
    }
}

/// Moves the buffers from the slots of all threads into the bins. Drops those for which there is no room, without the
/// lock.
void pool_state::gather() noexcept {
    const auto next_without_room = [this]() -> core* {
        const std::scoped_lock lock(mutex_);
        for (const auto& cache : caches_) {
            for (std::atomic<core*>& slot : cache->slot) {
                core* const found = slot.exchange(nullptr, std::memory_order_acq_rel);
                if (found && !put_into_bin(*found)) return found;
            }
        }
        return nullptr;
    };
    while (core* const found = next_without_room()) found->drop_handle();
}

/// Takes the oldest buffer out of the bins. Null where they hold no more than `bytes`.
core* pool_state::take_oldest_beyond(std::uint64_t bytes) noexcept {
    const std::scoped_lock lock(mutex_);
    if (bin_bytes_ <= bytes) return nullptr;
    const auto bin = std::ranges::min_element(bins_, {}, [](const auto& each) { return each.second.front().when; });
    core* const oldest = bin->second.front().of;
    bin_bytes_ -= bin->first.size_class;
    bin->second.erase(bin->second.begin());
    if (bin->second.empty()) bins_.erase(bin);
    return oldest;
}

/// Frees what is held beyond `bytes`, without the lock, as a driver may take long for it.
void pool_state::drop_beyond(std::uint64_t bytes) noexcept {
    while (core* const oldest = take_oldest_beyond(bytes)) oldest->drop_handle();
}

void pool_state::trim(std::uint64_t bytes) {
    gather();
    drop_beyond(bytes);
}

void pool_state::limit(std::uint64_t bytes) {
    limit_.store(bytes, std::memory_order_relaxed);
    if (bytes != no_memory_limit) trim(bytes);
}

pool_statistics pool_state::statistics() {
    gather();
    const std::scoped_lock lock(mutex_);
    pool_statistics result{.held_bytes = bin_bytes_, .peak_bytes = counters_->memory.read().peak};
    for (const auto& [key, bin] : bins_) result.held += bin.size();
    for (const auto& cache : caches_) {
        result.hits += cache->hits.load(std::memory_order_relaxed);
        result.misses += cache->misses.load(std::memory_order_relaxed);
    }
    return result;
}

pool_use pool_state::use() const noexcept {
    const memory_usage bytes = counters_->bytes_in_use.read();
    const memory_usage buffers = counters_->buffers_in_use.read();
    return {.current_bytes = bytes.held,
            .current_count = buffers.held,
            .peak_bytes = bytes.peak,
            .peak_count = buffers.peak,
            .total_bytes = counters_->total_bytes.load(std::memory_order_relaxed),
            .total_count = counters_->total_buffers.load(std::memory_order_relaxed)};
}

std::uint64_t pool_state::held_at(space where) {
    gather();
    const std::scoped_lock lock(mutex_);
    std::uint64_t result = 0;
    for (const auto& [key, bin] : bins_) {
        for (const held& each : bin) {
            if (!each.of->has_other_handles()) result += each.of->held_at(where);
        }
    }
    return result;
}

core* pool_state::make(std::size_t bytes, const buffer_options& options, const pool_key& key) const {
    check_needs_no_memory(options);
    return new core(bytes, options, std::make_unique<pool_tag>(key, id_, counters_));
}

}  // namespace unibuf::detail
