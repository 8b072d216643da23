// bench/null/call.cpp: the list of functions, what is counted of them, and how programs find them.
#include "call.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "counts.hpp"

namespace bench::null {
namespace {

// Functions put themselves into the list when the library is loaded, in any order of the sources.
constinit call* all = nullptr;

constinit std::atomic<bool> is_counting = false;
constinit std::atomic<std::uint64_t> waits = 0;
constinit std::atomic<std::uint64_t> events = 0;
constinit std::atomic<std::uint64_t> bytes_moved = 0;

void add(std::atomic<std::uint64_t>& to, std::uint64_t amount) noexcept {
    if (is_counting.load(std::memory_order_relaxed)) to.fetch_add(amount, std::memory_order_relaxed);
}

/// The names that were asked for in vain. It is never destroyed: programs may ask until the end.
struct lacking_names {
    std::mutex mutex;
    std::set<std::string> names;
};

lacking_names& lacking() {
    static lacking_names& once = *new lacking_names;
    return once;
}

rate read_rate() {
    const char* const text = std::getenv("UNIBUF_NULL_GBPS");
    if (!text || !*text) return {};
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    return *end == '\0' && value > 0 && value < 1e6 ? rate{.gigabytes = value} : rate{.is_valid = false};
}

/// Only a loop is exact enough: to sleep takes 50 us at the least.
void take_time_of(std::size_t bytes) noexcept {
    using clock = std::chrono::steady_clock;
    if (chosen_rate().gigabytes == 0) return;
    const std::chrono::duration<double, std::nano> taken(static_cast<double>(bytes) / chosen_rate().gigabytes);
    const clock::time_point begin = clock::now();
    while (clock::now() - begin < taken) continue;
}

/// Returns the newest form of a function that a program of `version` knows; null where there is none.
const call* found(const char* name, int version) {
    const call* best = nullptr;
    for (const call* each = all; each; each = each->next()) {
        if (std::strcmp(each->name(), name) != 0 || each->since() > version) continue;
        if (!best || each->since() > best->since()) best = each;
    }
    return best;
}

const call* at(std::size_t index) {
    const call* each = all;
    for (; each && index > 0; --index) each = each->next();
    return each;
}

}  // namespace

call::call(const char* name, int since, void* function) noexcept
    : name_(name), since_(since), function_(function), next_(all) {
    all = this;
}

result call::done() noexcept {
    add(count_, 1);
    return success;
}

result call::waited() noexcept {
    add(waits, 1);
    return done();
}

result call::recorded() noexcept {
    add(events, 1);
    return done();
}

result call::moved(std::size_t bytes) noexcept {
    add(bytes_moved, bytes);
    take_time_of(bytes);
    return done();
}

const rate& chosen_rate() noexcept {
    static const rate once = read_rate();
    return once;
}

}  // namespace bench::null

using namespace bench::null;

extern "C" {

[[gnu::visibility("default")]] void unibuf_null_reset() {
    for (call* each = all; each; each = each->next()) each->forget();
    for (auto* const each : {&waits, &events, &bytes_moved}) each->store(0, std::memory_order_relaxed);
    is_counting.store(true, std::memory_order_relaxed);
}

[[gnu::visibility("default")]] void unibuf_null_read(unibuf_null_counts* counts) {
    is_counting.store(false, std::memory_order_relaxed);
    *counts = {.calls = 0, .waits = waits, .events = events, .bytes = bytes_moved};
    for (const call* each = all; each; each = each->next()) counts->calls += each->count();
}

[[gnu::visibility("default")]] const char* unibuf_null_name(std::size_t index) {
    const call* const one = at(index);
    return one ? one->name() : nullptr;
}

[[gnu::visibility("default")]] std::uint64_t unibuf_null_calls(std::size_t index) {
    const call* const one = at(index);
    return one ? one->count() : 0;
}

[[gnu::visibility("default")]] const char* unibuf_null_lacking(std::size_t index) {
    const std::scoped_lock guard(lacking().mutex);
    const std::set<std::string>& names = lacking().names;
    return index < names.size() ? std::next(names.begin(), static_cast<std::ptrdiff_t>(index))->c_str() : nullptr;
}

[[gnu::visibility("default")]] result cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t,
                                                          int* status) {
    constexpr int found_it = 0;  // CUdriverProcAddressQueryResult
    constexpr int not_found = 1;
    const call* const best = found(name, version);
    *function = best ? best->function() : nullptr;
    if (status) *status = best ? found_it : not_found;
    if (!best) {
        const std::scoped_lock guard(lacking().mutex);
        lacking().names.insert(name);
    }
    return success;
}

}  // extern "C"
