// bench/null/call.hpp: a function of the null driver: the name by which programs find it, and its count.
//
// A source defines a function by UNIBUF_NULL_CALL, whose body counts a call by the object of the same name in `calls`:
//
//     UNIBUF_NULL_CALL(cuStreamSynchronize, (stream_handle)) { return calls::cuStreamSynchronize.waited(); }
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backends/cuda/api.hpp"

namespace bench::null {

using namespace unibuf::backends::cuda;

/// One function in the list of all. What counts a call does so only while calls are counted, and returns success.
class call {
public:
    /// `name` is the one that cuGetProcAddress is asked for; `since` is the version of CUDA that brought this form of
    /// it.
    call(const char* name, int since, void* function) noexcept;
    call(const call&) = delete;
    call& operator=(const call&) = delete;

    result done() noexcept;
    result waited() noexcept;
    result recorded() noexcept;

    /// Returns after the time that the bytes take, where a rate was set.
    result moved(std::size_t bytes) noexcept;

    const char* name() const noexcept { return name_; }
    int since() const noexcept { return since_; }
    void* function() const noexcept { return function_; }
    call* next() const noexcept { return next_; }
    std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
    void forget() noexcept { count_.store(0, std::memory_order_relaxed); }

private:
    const char* name_;
    int since_;
    void* function_;
    call* next_;
    std::atomic<std::uint64_t> count_ = 0;
};

/// The GB/s at which copies move bytes; 0: they take no time.
struct rate {
    double gigabytes = 0;
    bool is_valid = true;
};

/// Returns what UNIBUF_NULL_GBPS says.
const rate& chosen_rate() noexcept;

}  // namespace bench::null

// The form of a function that cuGetProcAddress finds as `found_as`, from a version on.
#define UNIBUF_NULL_CALL_AS(name, found_as, since, parameters)                     \
    extern "C" [[gnu::visibility("default")]] bench::null::result name parameters; \
    namespace calls {                                                              \
    bench::null::call name(#found_as, since, reinterpret_cast<void*>(&::name));    \
    }                                                                              \
    bench::null::result name parameters

#define UNIBUF_NULL_CALL(name, parameters) UNIBUF_NULL_CALL_AS(name, name, 0, parameters)
