// handles.hpp: what a Fortran program holds of an object: a number that knows when the object has gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <unibuf/error.hpp>
#include <utility>

namespace unibuf::fortran {

/// The parts of type(unified_buffer) and its like. Copies stand for the same object, which ends when one of them is
/// destroyed; the other copies are refused then. Where the object could not be created there is no slot, and the
/// generation is the number of the failure.
struct handle {
    void* slot = nullptr;
    std::int64_t generation = 0;
#ifdef UNIBUF_RESULTS_IN_MEMORY
    ~handle() {}  // what is not trivial is returned in memory
#endif
};

/// The objects of one type. A slot serves many of them, one after the other, and stays: a handle may always look.
template <class T>
class slots {
public:
    /// `noun` is what errors call them: "a buffer".
    constexpr explicit slots(const char* noun) noexcept : noun_(noun) {}

    handle add(std::unique_ptr<T> object) {
        const std::lock_guard lock(mutex_);
        if (!free_) free_ = all_ = new slot(all_);
        slot& taken = *std::exchange(free_, free_->next);
        taken.object = std::move(object);
        const std::int64_t generation = taken.generation.load(std::memory_order_relaxed) + 1;
        taken.generation.store(generation, std::memory_order_release);
        return {&taken, generation};
    }

    bool has(const handle& of) const noexcept {
        const auto* const at = static_cast<const slot*>(of.slot);
        return at && at->generation.load(std::memory_order_acquire) == of.generation;
    }

    /// Throws error(invalid_argument) where the object was destroyed, or never made.
    T& get(const handle& of) const {
        if (!has(of)) refuse(of);
        return *static_cast<slot*>(of.slot)->object;
    }

    /// Ends the handle and all its copies; throws as get() does.
    std::unique_ptr<T> remove(const handle& of) {
        std::unique_lock lock(mutex_);
        if (!has(of)) {
            lock.unlock();
            refuse(of);
        }
        auto* const at = static_cast<slot*>(of.slot);
        at->last = name_of(*at->object);
        at->generation.fetch_add(1, std::memory_order_release);
        at->next = std::exchange(free_, at);
        return std::move(at->object);
    }

    /// Returns a handle of an object that could not be created. `why` is told where this thread uses it nevertheless,
    /// until the next failure.
    handle failed(std::string_view why) noexcept {
        last_failure_.number = failures_.fetch_add(1, std::memory_order_relaxed) + 1;
        try {
            last_failure_.why = why;
        } catch (const std::bad_alloc&) {
            last_failure_.why.clear();
        }
        return {nullptr, last_failure_.number};
    }

private:
    struct slot {
        explicit slot(slot* made_before) noexcept : before(made_before) {}

        std::atomic<std::int64_t> generation = 0;  // odd while it has an object
        std::unique_ptr<T> object;
        std::string last;      // the name of the object that was destroyed last
        slot* next = nullptr;  // the next slot without an object
        slot* before;          // the slot that was made before this one
    };

    /// Returns the name that an object has; empty where it has none, or there is no memory.
    static std::string name_of(const T& object) noexcept {
        if constexpr (requires { object.name(); }) {
            try {
                return object.name();
            } catch (const std::bad_alloc&) {
            }
        }
        return {};
    }

    /// Returns the name of the object that the handle stood for, if it was the last one of its slot to be destroyed.
    std::string name_of_destroyed(const handle& of) const {
        const std::lock_guard lock(mutex_);
        const auto* const at = static_cast<const slot*>(of.slot);
        const std::int64_t now = at->generation.load(std::memory_order_relaxed);
        const std::int64_t last = now % 2 == 0 ? now - 1 : now - 2;
        return of.generation == last ? at->last : std::string();
    }

    [[noreturn]] void refuse(const handle& of) const {
        std::string why = noun_;
        if (of.slot) {
            why += " was used that was destroyed";
            if (const std::string name = name_of_destroyed(of); !name.empty()) why += ": " + name;
        } else if (of.generation == 0) {
            why += " was used that was not created";
        } else {
            why += " was used that could not be created";
            if (of.generation == last_failure_.number) why += ": " + last_failure_.why;
        }
        throw error(error_code::invalid_argument, why);
    }

    struct failure {
        std::int64_t number = 0;
        std::string why;
    };
    static inline thread_local failure last_failure_;

    const char* noun_;
    std::atomic<std::int64_t> failures_ = 0;
    mutable std::mutex mutex_;
    slot* all_ = nullptr;  // never freed: threads may go on while the process ends
    slot* free_ = nullptr;
};

}  // namespace unibuf::fortran
