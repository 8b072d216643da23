// containers/first_failure.hpp: of several things to do, all of which are tried, the failure to tell of.
#pragma once

#include <exception>
#include <utility>

namespace unibuf {

/// Keeps the first of several failures.
class first_failure {
public:
    /// Calls act(), and keeps what it throws.
    template <class Act>
    void attempt(const Act& act) noexcept {
        try {
            act();
        } catch (...) {
            keep(std::current_exception());
        }
    }

    void keep(std::exception_ptr failure) noexcept {
        if (!first_) first_ = std::move(failure);
    }

    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

    /// Returns it, or null.
    const std::exception_ptr& get() const noexcept { return first_; }

private:
    std::exception_ptr first_;
};

}  // namespace unibuf
