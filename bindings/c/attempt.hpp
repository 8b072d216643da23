// attempt.hpp: turns exceptions into a status, and keeps the message of this thread.
#pragma once

#include <unibuf/unibuf.h>

#include <cstddef>
#include <unibuf/error.hpp>

namespace unibuf::c {

/// Returns the status of what was thrown, and keeps its message. It is called inside a handler.
unibuf_status note_failure() noexcept;

/// Returns the error that a status stands for, which the caller's own function has returned; `unsupported` for a number
/// that is none.
error_code code_of(unibuf_status status) noexcept;

/// Returns the message of this thread's last failure.
const char* message() noexcept;

template <class Work>
unibuf_status attempt(const Work& work) noexcept {
    try {
        work();
        return UNIBUF_OK;
    } catch (...) {
        return note_failure();
    }
}

[[noreturn]] void refuse_null(const char* what);

/// Throws, and says that no memory has `count` of what was given.
[[noreturn]] void refuse_count(std::size_t count, const char* what);

/// Throws where `pointer` is NULL, and says that `what` was to be given.
template <class T>
T& given(T* pointer, const char* what) {
    if (!pointer) refuse_null(what);
    return *pointer;
}

/// Puts what `work` returns at `place`. The place is looked at first: without one, nothing is done.
template <class T, class Work>
unibuf_status answer(T* place, const char* what, const Work& work) noexcept {
    return attempt([&] {
        T& result = given(place, what);
        result = work();
    });
}

}  // namespace unibuf::c
