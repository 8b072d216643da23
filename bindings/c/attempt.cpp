// attempt.cpp: turns exceptions into a status, and keeps the message of this thread.
#include "attempt.hpp"

#include <new>
#include <stdexcept>
#include <string>
#include <unibuf/trace.hpp>

namespace unibuf::c {

namespace {

constexpr unibuf_status status_of(error_code code) noexcept {
    return static_cast<unibuf_status>(static_cast<int>(code) + 1);
}

static_assert(status_of(error_code::not_allocated) == UNIBUF_NOT_ALLOCATED);
static_assert(status_of(error_code::out_of_memory) == UNIBUF_OUT_OF_MEMORY);
static_assert(status_of(error_code::device_unavailable) == UNIBUF_DEVICE_UNAVAILABLE);
static_assert(status_of(error_code::device_lost) == UNIBUF_DEVICE_LOST);
static_assert(status_of(error_code::invalid_argument) == UNIBUF_INVALID_ARGUMENT);
static_assert(status_of(error_code::out_of_range) == UNIBUF_OUT_OF_RANGE);
static_assert(status_of(error_code::access_conflict) == UNIBUF_ACCESS_CONFLICT);
static_assert(status_of(error_code::transfer_failed) == UNIBUF_TRANSFER_FAILED);
static_assert(status_of(error_code::timeout) == UNIBUF_TIMEOUT);
static_assert(status_of(error_code::unsupported) == UNIBUF_UNSUPPORTED);

constexpr const char* no_memory = "the host has no memory for bookkeeping [unibuf explain out_of_memory]";

/// The message of a thread's last failure, which can be kept also where there is no memory.
struct kept_message {
    std::string text;
    const char* shown = "";

    void keep(const char* what) noexcept {
        try {
            text = what;
            shown = text.c_str();
        } catch (const std::bad_alloc&) {
            shown = no_memory;
        }
    }
};

thread_local kept_message last;

// A place in a trace is that where this library was called.
[[maybe_unused]] const bool is_known = (add_binding(&no_memory), true);

}  // namespace

error_code code_of(unibuf_status status) noexcept {
    const bool known = status >= UNIBUF_NOT_ALLOCATED && status <= UNIBUF_UNSUPPORTED;
    return known ? static_cast<error_code>(static_cast<int>(status) - 1) : error_code::unsupported;
}

const char* message() noexcept { return last.shown; }

unibuf_status note_failure() noexcept {
    try {
        throw;
    } catch (const error& failure) {
        last.keep(failure.what());
        return status_of(failure.code());
    } catch (const std::bad_alloc&) {
        last.shown = no_memory;
        return UNIBUF_OUT_OF_MEMORY;
    } catch (const std::length_error&) {  // thrown for a count that no memory could hold
        last.shown = no_memory;
        return UNIBUF_OUT_OF_MEMORY;
    } catch (const std::exception& failure) {
        last.keep(failure.what());
    } catch (...) {
        last.shown = "an unknown failure";
    }
    return UNIBUF_UNSUPPORTED;
}

void refuse_null(const char* what) {
    throw error(error_code::invalid_argument, "NULL was given where " + std::string(what) + " is needed");
}

void refuse_count(std::size_t count, const char* what) {
    throw error(error_code::invalid_argument,
                "a count of " + std::to_string(count) + " was given with " + what + ": no memory has so many");
}

}  // namespace unibuf::c
