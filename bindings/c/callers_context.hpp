// callers_context.hpp: what the caller's functions are called with, and who is told when no more calls come.
#pragma once

namespace unibuf::c {

/// The context of a struct of functions, `Functions`, which has members `context` and `ended`. The last to use it calls
/// `ended`, once keep() was called: a call that fails leaves the context to its caller.
template <class Functions>
class callers_context {
public:
    explicit callers_context(const Functions& given) noexcept : given_(given) {}
    callers_context(const callers_context&) = delete;
    callers_context& operator=(const callers_context&) = delete;
    ~callers_context() {
        if (kept_ && given_.ended) given_.ended(given_.context);
    }

    const Functions& functions() const noexcept { return given_; }
    void keep() noexcept { kept_ = true; }

private:
    Functions given_;
    bool kept_ = false;
};

}  // namespace unibuf::c
