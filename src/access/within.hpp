// access/within.hpp: what this thread is within, where code of the program that it calls might ask for the same again.
#pragma once

#include <utility>

namespace unibuf::detail {

/// Something of the kind `Kind` that this thread does about `of`, until this ends.
template <class Kind, class Of>
class within {
public:
    explicit within(const Of& of) noexcept : of_(of), outer_(std::exchange(innermost, this)) {}
    ~within() { innermost = outer_; }
    within(const within&) = delete;
    within& operator=(const within&) = delete;

    /// Returns whether this thread does so about what is(const Of&) holds for.
    template <class Is>
    static bool any(const Is& is) noexcept {
        const within* each = innermost;
        while (each && !is(each->of_)) each = each->outer_;
        return each != nullptr;
    }
    static bool any() noexcept { return innermost != nullptr; }
    static bool is_at(const Of& of) noexcept {
        return any([&](const Of& each) { return &each == &of; });
    }

private:
    static inline thread_local constinit const within* innermost = nullptr;

    const Of& of_;
    const within* const outer_;
};

}  // namespace unibuf::detail
