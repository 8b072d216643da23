// doubles/metal/counts.cpp
#include "doubles/metal/counts.hpp"

#include <mutex>

#include "doubles/metal/control.hpp"

namespace metal_double {
namespace {

/// Calls that fail: so many after so many.
struct failures {
    std::uint64_t after = 0;
    std::uint64_t times = 0;

    bool hits() {
        if (times == 0) return false;
        if (after > 0) return --after, false;
        return --times, true;
    }
};

constexpr std::size_t usual_limit = std::size_t{2} << 30;

std::mutex mutex;
failures of_calls;
failures of_work;
long work_code = 0;
std::uint64_t calls = 0;
std::size_t taken = 0;
std::size_t limit = usual_limit;
bool spoilt = false;

const control functions{
    .reset =
        [] {
            const std::lock_guard lock(mutex);
            of_calls = {};
            of_work = {};
            calls = 0;
            limit = usual_limit;
            spoilt = false;
        },
    .fail_calls =
        [](std::uint64_t after, std::uint64_t times) {
            const std::lock_guard lock(mutex);
            of_calls = {after, times};
        },
    .fail_work =
        [](std::uint64_t after, std::uint64_t times, long code) {
            const std::lock_guard lock(mutex);
            of_work = {after, times};
            work_code = code;
        },
    .spoil_pages =
        [](bool on) {
            const std::lock_guard lock(mutex);
            spoilt = on;
        },
    .calls =
        [] {
            const std::lock_guard lock(mutex);
            return calls;
        },
    .limit_memory =
        [](std::size_t bytes) {
            const std::lock_guard lock(mutex);
            limit = bytes;
        },
    .objects = [](const char* name) { return count_objects(name); },
};

}  // namespace

bool call_fails() {
    const std::lock_guard lock(mutex);
    ++calls;
    return of_calls.hits();
}

long work_fails() {
    const std::lock_guard lock(mutex);
    return of_work.hits() ? work_code : 0;
}

bool take_memory(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    if (bytes > limit || taken > limit - bytes) return false;
    taken += bytes;
    return true;
}

void give_memory(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    taken -= bytes;
}

std::size_t memory_taken() {
    const std::lock_guard lock(mutex);
    return taken;
}

std::size_t memory_limit() {
    const std::lock_guard lock(mutex);
    return limit;
}

bool are_pages_spoilt() {
    const std::lock_guard lock(mutex);
    return spoilt;
}

}  // namespace metal_double

extern "C" __attribute__((visibility("default"))) const metal_double::control* unibuf_metal_double_control() {
    return &metal_double::functions;
}
