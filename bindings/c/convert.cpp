// convert.cpp: converts the values of unibuf.h into those of C++.
#include "convert.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <unibuf/detail/sizes.hpp>
#include <unibuf/error.hpp>
#include <unibuf/state.hpp>
#include <unibuf/statistics.hpp>

#include "attempt.hpp"
#include "queues.hpp"

namespace unibuf::c {

namespace {

template <class Enum>
constexpr int number(Enum value) noexcept {
    return static_cast<int>(value);
}

// Each number of the C header has the value of its C++ name.
static_assert(UNIBUF_READ == number(access::read) && UNIBUF_WRITE == number(access::write) &&
              UNIBUF_READ_WRITE == number(access::read_write));
static_assert(UNIBUF_HOST_READ_WRITE == number(host_access::read_write) &&
              UNIBUF_HOST_READ_ONLY == number(host_access::read_only) &&
              UNIBUF_HOST_WRITE_ONLY == number(host_access::write_only) &&
              UNIBUF_HOST_CONSTANT == number(host_access::constant));
static_assert(UNIBUF_HINT_NONE == number(memory_hint::none) &&
              UNIBUF_HINT_CPU_PREFERRED == number(memory_hint::cpu_preferred) &&
              UNIBUF_HINT_GPU_PREFERRED == number(memory_hint::gpu_preferred) &&
              UNIBUF_HINT_COHERENT == number(memory_hint::coherent) &&
              UNIBUF_HINT_STREAMING == number(memory_hint::streaming));
static_assert(UNIBUF_TRACKING_AUTOMATIC == number(write_tracking::automatic) &&
              UNIBUF_TRACKING_OFF == number(write_tracking::off));
static_assert(UNIBUF_UNINITIALIZED == number(buffer_state::uninitialized) &&
              UNIBUF_HOST_ONLY == number(buffer_state::host_only) &&
              UNIBUF_DEVICE_ONLY == number(buffer_state::device_only) &&
              UNIBUF_SYNCHRONIZED == number(buffer_state::synchronized) &&
              UNIBUF_HOST_DIRTY == number(buffer_state::host_dirty) &&
              UNIBUF_DEVICE_DIRTY == number(buffer_state::device_dirty) && UNIBUF_MIXED == number(buffer_state::mixed));
static_assert(UNIBUF_CAUSE_READ == number(cause::read) && UNIBUF_CAUSE_READ_WRITE == number(cause::read_write) &&
              UNIBUF_CAUSE_HOST_POINTER == number(cause::host_pointer) &&
              UNIBUF_CAUSE_DEVICE_HANDLE == number(cause::device_handle) && UNIBUF_CAUSE_SYNC == number(cause::sync) &&
              UNIBUF_CAUSE_PREFETCH == number(cause::prefetch) && UNIBUF_CAUSE_COPY_TO == number(cause::copy_to) &&
              UNIBUF_CAUSE_EVICTION == number(cause::eviction));
static_assert(UNIBUF_REOPENS_AT_ONCE == number(reopening::at_once) &&
              UNIBUF_REOPENS_WHEN_TOLD == number(reopening::told));
static_assert(UNIBUF_REST == rest && UNIBUF_NO_LIMIT == no_memory_limit);

// These layouts stay as they are, as programs have been compiled with them.
static_assert(sizeof(unibuf_options) == 20 && offsetof(unibuf_options, device) == 12 &&
              offsetof(unibuf_options, uninitialized) == 17);
static_assert(sizeof(unibuf_access_options) == 32 && offsetof(unibuf_access_options, queue) == 24);
static_assert(sizeof(unibuf_native) == 32 && offsetof(unibuf_native, size) == 24);
static_assert(sizeof(unibuf_lease) == 104 && offsetof(unibuf_lease, reserved) == 40);
static_assert(sizeof(unibuf_wanted_lease) == 24 && offsetof(unibuf_wanted_lease, options) == 16);
static_assert(sizeof(unibuf_standing_options) == 64 && offsetof(unibuf_standing_options, context) == 56);
static_assert(sizeof(unibuf_device_info) == 56 && offsetof(unibuf_device_info, asynchronous) == 52);
static_assert(sizeof(unibuf_memory) == 56 && offsetof(unibuf_memory, pinned) == 48);
static_assert(sizeof(unibuf_placement) == 24 && offsetof(unibuf_placement, mapping) == 16);
static_assert(sizeof(unibuf_transfer_count) == 32 && offsetof(unibuf_transfer_count, bytes) == 24);
static_assert(sizeof(unibuf_statistics) == 40 && offsetof(unibuf_statistics, evictions) == 32);
static_assert(sizeof(unibuf_transfer) == 56 && offsetof(unibuf_transfer, end_ns) == 48);
static_assert(sizeof(unibuf_pool_statistics) == 40 && offsetof(unibuf_pool_statistics, peak_bytes) == 32);

[[noreturn]] void refuse(const std::string& what) { throw error(error_code::invalid_argument, what); }

template <class To, class From>
To checked(From given, To last, const char* what) {
    if (number(given) >= 0 && number(given) <= number(last)) return static_cast<To>(given);
    refuse(std::string("the ") + what + " is " + std::to_string(number(given)) + ": it is one of 0 to " +
           std::to_string(number(last)));
}

}  // namespace

space found_space(unibuf_space where) {
    if (const auto found = space::numbered(where)) return *found;
    refuse("the space " + std::to_string(where) + " is none: unibuf_find_space gives their numbers");
}

void refuse_access(unibuf_access what) {
    refuse("the access " + std::to_string(number(what)) + " was asked for: read is 1, write 2, read_write 3");
}

void refuse_nothing(const char* begins_as) {
    refuse(std::string("0 bytes were asked for: options begin as ") + begins_as +
           ", whose size is UNIBUF_REST, not as {0}");
}

reopening reopening_of(unibuf_reopening given) { return checked(given, reopening::told, "reopening"); }

buffer_options options_of(const unibuf_options* given) {
    if (!given) return {};
    buffer_options options;
    options.access = checked(given->access, host_access::constant, "host access");
    options.hint = checked(given->hint, memory_hint::streaming, "memory hint");
    options.tracking = checked(given->tracking, write_tracking::off, "write tracking");
    if (given->device != UNIBUF_NO_SPACE) options.device = space_of(given->device);
    options.pinned = given->pinned;
    options.uninitialized = given->uninitialized;
    return options;
}

void check_returned(unibuf_status status, const char* what) {
    if (status == UNIBUF_OK) return;
    throw error(code_of(status), std::string(what) + " returned " + unibuf_status_name(status));
}

std::chrono::nanoseconds timeout_of(std::int64_t nanoseconds) {
    if (nanoseconds < 0) refuse("a timeout of " + std::to_string(nanoseconds) + " ns was asked for");
    return nanoseconds == UNIBUF_FOREVER ? forever : std::chrono::nanoseconds(nanoseconds);
}

access_options read_options(const unibuf_access_options& given) {
    return {.offset = given.offset,
            .count = given.size,
            .timeout = timeout_of(given.timeout_ns),
            .on = queue_of(given.queue)};
}

native_memory native_of(const unibuf_native& given) {
    if (!detail::sum(given.handle, given.offset)) {
        refuse("a handle with an offset of " + std::to_string(given.offset) + " was given: no memory has such a byte");
    }
    return {.where = space_of(given.where), .handle = given.handle, .offset = given.offset, .bytes = given.size};
}

}  // namespace unibuf::c
