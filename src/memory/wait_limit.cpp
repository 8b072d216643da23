// memory/wait_limit.cpp: how long an access may wait, and whom it asks meanwhile.
#include "memory/wait_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "system/deadline.hpp"
#include "unibuf/error.hpp"

namespace unibuf {
namespace {

constexpr std::chrono::milliseconds time_between_questions(100);

}  // namespace

void set_default_timeout(std::chrono::nanoseconds timeout) {
    if (timeout < std::chrono::nanoseconds::zero()) {
        throw error(error_code::invalid_argument,
                    fmt::format("a default timeout of {} ns was asked for", timeout.count()));
    }
    detail::usual_timeout.store(timeout, std::memory_order_relaxed);
}

std::chrono::nanoseconds default_timeout() noexcept { return detail::usual_timeout.load(std::memory_order_relaxed); }

interruptible::interruptible(void (*ask)(void* context), void* context) noexcept
    : ask_(ask), context_(context), before_(std::exchange(detail::asked_by_calls, this)) {
    ++detail::askers;
}

interruptible::~interruptible() {
    detail::asked_by_calls = before_;
    --detail::askers;
}

namespace detail {

clock::time_point wait_limit::after(std::chrono::nanoseconds timeout) {
    if (timeout == std::chrono::nanoseconds::zero()) return {};  // a moment that passed long ago
    return system::deadline_after(timeout);
}

clock::time_point wait_limit::next_look() const noexcept {
    if (!by) return until;
    if (by->asks_next_ == clock::time_point{}) by->asks_next_ = clock::now() + time_between_questions;
    return std::min(until, by->asks_next_);
}

void wait_limit::ask() const {
    if (!by || clock::now() < next_look()) return;
    by->ask_(by->context_);
    by->asks_next_ = clock::now() + time_between_questions;
}

}  // namespace detail
}  // namespace unibuf
