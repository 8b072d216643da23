// short_waits.hpp: waiting in short pieces, so that Ctrl-C is heard.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <unibuf/unibuf.hpp>

namespace unibuf::python {

/// Calls `call` again and again until it returns, and returns what it returned. `call` is given the time that it may
/// wait, at most 200 ms, and throws error(timeout) after it; after `timeout` in all that error is thrown on.
template <class Call>
auto in_short_waits(std::chrono::nanoseconds timeout, Call call) {
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::nanoseconds longest = std::chrono::milliseconds(200);
    const auto begin = clock::now();
    for (;;) {
        const std::chrono::nanoseconds left = timeout == forever ? forever : timeout - (clock::now() - begin);
        try {
            return call(std::clamp(left, std::chrono::nanoseconds::zero(), longest));
        } catch (const error& failure) {
            if (failure.code() != error_code::timeout || left <= longest) throw;
        }
        if (PyErr_CheckSignals() != 0) nanobind::raise_python_error();
    }
}

}  // namespace unibuf::python
