// buffer/small_mutex.hpp: a mutex of four bytes, as programs have very many buffers.
#pragma once

#include <atomic>
#include <cstdint>

namespace unibuf::detail {

/// What std::mutex does, by an atomic word that threads wait for. Not recursive.
class small_mutex {
public:
    constexpr small_mutex() noexcept = default;
    small_mutex(const small_mutex&) = delete;
    small_mutex& operator=(const small_mutex&) = delete;

    void lock() noexcept {
        if (!try_lock()) wait_and_lock();
    }
    bool try_lock() noexcept {
        std::uint32_t expected = free;
        return word_.compare_exchange_strong(expected, held, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void unlock() noexcept {
        if (word_.exchange(free, std::memory_order_release) == waited_for) word_.notify_one();
    }

private:
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t waited_for = 2;  // held, and threads may wait

    void wait_and_lock() noexcept {
        while (word_.exchange(waited_for, std::memory_order_acquire) != free) {
            word_.wait(waited_for, std::memory_order_relaxed);
        }
    }

    std::atomic<std::uint32_t> word_ = free;
};

}  // namespace unibuf::detail
