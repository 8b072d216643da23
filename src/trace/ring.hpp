// trace/ring.hpp: the last events of each thread, which all threads read.
//
// What always holds: a thread writes to its own ring alone. Others read it meanwhile: the time of an event is 0 while
// it changes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "process/lasting.hpp"
#include "process/mutex.hpp"
#include "unibuf/trace.hpp"

namespace unibuf::trace {

using word = std::uint64_t;

inline word both(std::uint32_t low, std::uint32_t high) noexcept { return word{high} << 32 | low; }
inline std::uint32_t low_of(word both) noexcept { return static_cast<std::uint32_t>(both); }
inline std::uint32_t high_of(word both) noexcept { return static_cast<std::uint32_t>(both >> 32); }

/// Returns the members from event::kind to event::route.
inline word kinds_of(const event& of) noexcept {
    word result = 0;
    std::memcpy(&result, &of.kind, sizeof result);
    return result;
}
static_assert(offsetof(event, thread) - offsetof(event, kind) == sizeof(word));

/// A line of the cache, which one thread writes while others may read it.
class shared_line {
public:
    static constexpr std::size_t words = 8;

    template <class... Word>
    void set(std::size_t first, Word... all) noexcept {
        (words_[first++].store(all, std::memory_order_relaxed), ...);
    }
    std::array<word, words> get() const noexcept {
        std::array<word, words> result{};
        for (std::size_t i = 0; i < words; ++i) result[i] = words_[i].load(std::memory_order_relaxed);
        return result;
    }

    std::atomic<word>& first() noexcept { return words_[0]; }
    const std::atomic<word>& first() const noexcept { return words_[0]; }

private:
    std::array<std::atomic<word>, words> words_;
};

/// Memory whose pages are there when they are written for the first time.
template <class T>
class zeroed_array {
public:
    explicit zeroed_array(std::size_t size) : all_(static_cast<T*>(std::calloc(size, sizeof(T)))) {
        if (!all_) throw std::bad_alloc();
    }
    ~zeroed_array() { std::free(all_); }
    zeroed_array(const zeroed_array&) = delete;
    zeroed_array& operator=(const zeroed_array&) = delete;

    T& operator[](std::size_t index) noexcept { return all_[index]; }
    const T& operator[](std::size_t index) const noexcept { return all_[index]; }

private:
    T* all_;
};

/// The last events of a thread. Each has a line of what all events have, and a second one for what few have.
class ring {
public:
    explicit ring(std::size_t size) : lines_(size), rare_(size), size_(size) {}

    ring* next = nullptr;                 // among all rings
    std::atomic<std::uint64_t> left = 0;  // 0 where a thread has it, greater for those that were left later

    std::size_t size() const noexcept { return size_; }

    /// Leaves `made` as it is; event::spare is used meanwhile.
    void add(event& made) noexcept {
        const std::size_t place = next_;
        if (++next_ == size_) next_ = 0;
        shared_line& to = lines_[place];
        to.first().store(0, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        const rest other = rest_of(made);
        if (other == rest::apart) {
            rare_[place].set(0, made.bytes, made.took, made.queue, made.row_bytes, both(made.counts[0], made.counts[1]),
                             made.pitches[0], made.pitches[1], made.news);
        }
        made.spare = static_cast<std::uint8_t>(other) & 3;
        to.set(1, kinds_of(made), both(made.thread, made.process), made.buffer, made.begin, made.end, made.site,
               both(low_of(made.number), low_of(made.took)));
        to.first().store(made.time, std::memory_order_release);
        made.spare = 0;
    }

    /// Calls visit(event) for each event.
    template <class Visit>
    void visit(const Visit& visit) const {
        for (std::size_t i = 0; i < size_; ++i) {
            const event found = get(i);
            if (found.kind != event_kind::none) visit(found);
        }
    }

    /// Does so, the newest first, until it returns false. Of the thread that adds alone.
    template <class Visit>
    void visit_backwards(const Visit& visit) const {
        for (std::size_t i = 0; i < size_; ++i) {
            const event found = get((next_ + size_ - 1 - i) % size_);
            if (found.kind == event_kind::none || !visit(found)) return;
        }
    }

private:
    /// What event::spare says here of the members that have no place in the first line.
    enum class rest : std::uint8_t {
        whole,  // `bytes` are all from `begin` to `end`, and the others are 0
        none,   // all are 0
        apart,  // they are in the second line
    };

    static rest rest_of(const event& made) noexcept {
        const bool is_rare = (high_of(made.took) | made.queue | made.row_bytes | made.news) != 0;
        if (!is_rare && made.bytes == made.end - made.begin) return rest::whole;
        return !is_rare && made.bytes == 0 ? rest::none : rest::apart;
    }

    /// Returns an event of the kind `none` where there is none, or it is changing.
    event get(std::size_t place) const noexcept {
        event result;
        result.time = lines_[place].first().load(std::memory_order_acquire);
        if (result.time == 0) return {};
        const auto [time, kinds, who, buffer, begin, end, site, number_and_took] = lines_[place].get();
        std::memcpy(&result.kind, &kinds, sizeof kinds);
        const auto other = static_cast<rest>(result.spare);
        const auto rare = other == rest::apart ? rare_[place].get() : std::array<word, shared_line::words>{};
        std::atomic_thread_fence(std::memory_order_acquire);
        if (lines_[place].first().load(std::memory_order_relaxed) != result.time) return {};
        result.spare = 0;
        result.thread = low_of(who);
        result.process = high_of(who);
        result.buffer = buffer;
        result.begin = begin;
        result.end = end;
        result.site = site;
        result.number = low_of(number_and_took);
        result.bytes = other == rest::whole ? end - begin : rare[0];
        result.took = other == rest::apart ? rare[1] : high_of(number_and_took);
        result.queue = rare[2];
        result.row_bytes = rare[3];
        result.counts[0] = low_of(rare[4]);
        result.counts[1] = high_of(rare[4]);
        result.pitches[0] = rare[5];
        result.pitches[1] = rare[6];
        result.news = rare[7];
        return result;
    }

    zeroed_array<shared_line> lines_;
    zeroed_array<shared_line> rare_;
    std::size_t size_;
    std::size_t next_ = 0;
};

/// All rings. Those of threads that have ended are kept, for the events in them, until new threads take them.
class rings {
public:
    static rings& instance() {
        static process::lasting<rings> only;  // threads may end after static objects
        return *only;
    }

    /// Returns one that another thread has left, or a new one; null where there is no memory. Waits for nobody: while
    /// another thread is at work here, each gets a new one.
    ring* take(std::size_t size) noexcept {
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
            if (ring* const left = take_left(size)) return left;
        }
        try {
            ring* const made = new ring(size);
            made->next = newest_.load(std::memory_order_relaxed);
            while (!newest_.compare_exchange_weak(made->next, made, std::memory_order_release)) {
            }
            return made;
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }

    void give_back(ring& of) noexcept { of.left.store(++times_left_, std::memory_order_release); }

    template <class Visit>
    void visit(const Visit& visit) {
        const std::scoped_lock lock(mutex_);
        for (const ring* each = newest_.load(std::memory_order_acquire); each; each = each->next) each->visit(visit);
    }

private:
    static constexpr std::size_t most_kept = 16;

    /// Where many rings are left, returns the first of that size; those that are too many go, the first ones first.
    ring* take_left(std::size_t size) noexcept {
        for (;;) {
            ring* first = nullptr;
            ring* fits = nullptr;
            std::size_t count = 0;
            for (ring* each = newest_.load(std::memory_order_acquire); each; each = each->next) {
                const std::uint64_t left = each->left.load(std::memory_order_acquire);
                if (left == 0) continue;
                ++count;
                if (!first || left < first->left) first = each;
                if (each->size() == size && (!fits || left < fits->left)) fits = each;
            }
            if (count < most_kept) return nullptr;
            if (fits && (fits == first || count == most_kept)) {
                fits->left = 0;
                return fits;
            }
            destroy(*first);
        }
    }

    /// Others may add a ring meanwhile, in front of all; only this takes one out.
    void destroy(ring& gone) noexcept {
        ring* newest = &gone;
        if (!newest_.compare_exchange_strong(newest, gone.next, std::memory_order_acquire)) {
            while (newest->next != &gone) newest = newest->next;
            newest->next = gone.next;
        }
        delete &gone;
    }

    process::mutex mutex_;
    std::atomic<ring*> newest_ = nullptr;
    std::atomic<std::uint64_t> times_left_ = 0;
};

}  // namespace unibuf::trace
