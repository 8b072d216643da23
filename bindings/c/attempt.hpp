// attempt.hpp: no exception leaves: it becomes a status, and the message of this thread.
#pragma once

#include <unibuf/unibuf.h>

#include <unibuf/error.hpp>

namespace unibuf::c {

/// Inside a handler: the status of what was thrown, whose message is kept.
unibuf_status note_failure() noexcept;

/// What a status that the caller's own function has returned stands for; `unsupported` for a number that is none.
error_code code_of(unibuf_status status) noexcept;

/// Of this thread's last failure.
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

/// Throws where it is NULL, and says `what` was to be given.
template <class T>
T& given(T* pointer, const char* what) {
    if (!pointer) refuse_null(what);
    return *pointer;
}

/// Puts what `work` returns at `place`, which is looked at first: without one, nothing is done.
template <class T, class Work>
unibuf_status answer(T* place, const char* what, const Work& work) noexcept {
    return attempt([&] {
        T& result = given(place, what);
        result = work();
    });
}

}  // namespace unibuf::c
