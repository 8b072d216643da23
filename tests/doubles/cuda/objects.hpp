// tests/doubles/cuda/objects.hpp: what the driver's handles point to. Streams and contexts are never freed, so that
// late use is seen.
//
// All of it is guarded by the one lock of driver.hpp.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "doubles/cuda/clock.hpp"
#include "doubles/cuda/types.hpp"

namespace cuda_double {

/// Work in a stream. Its clock says what it comes after, itself included.
struct operation {
    const char* name = "";
    std::size_t stream = 0;
    std::uint64_t number = 0;
    vector_clock when;
    std::vector<std::shared_ptr<operation>> after;  // in other streams
    std::function<void()> run;                      // without the lock
    bool done = false;
};

using queued = std::shared_ptr<operation>;

struct region;

/// What one operation touches.
struct footprint {
    region* what;
    device_pointer begin;
    std::size_t bytes;
    bool writes;
};

/// Work that was put into a stream while it was captured.
struct captured_work {
    const char* name = "";
    std::vector<footprint> touches;
    std::function<void()> run;
};

}  // namespace cuda_double

struct CUgraph_st {
    std::vector<cuda_double::captured_work> works;  // one after the other
};

struct CUgraphExec_st {
    std::vector<cuda_double::captured_work> works;
};

struct CUstream_st {
    std::size_t number = 0;  // among all streams of the process
    CUctx_st* context = nullptr;
    bool blocking = true;  // ordered with the legacy stream
    int priority = 0;
    std::condition_variable given;  // something to do, or its end
    bool destroyed = false;
    bool green = false;  // it was made in a green context, which has a handle of its own
    std::uint64_t operations = 0;
    cuda_double::vector_clock when;  // of the last operation
    cuda_double::queued last;        // done or not
    std::deque<cuda_double::queued> waiting;
    std::minstd_rand random;

    int capture = 0;  // CUstreamCaptureStatus
    int capture_mode = 0;
    std::size_t captured_by = 0;  // thread_state::number
    CUgraph_st captured;
};

struct CUevent_st {
    CUctx_st* context = nullptr;
    bool destroyed = false;
    bool in_capture = false;
    std::vector<cuda_double::queued> work;
    cuda_double::vector_clock when;
};

struct CUctx_st {
    int device = 0;
    bool destroyed = false;
    int lost = 0;  // what all calls answer since the device was lost
    CUstream_st* legacy = nullptr;
    std::map<std::size_t, CUstream_st*> per_thread;  // by thread_state::number
    std::vector<CUstream_st*> streams;               // these among them
    std::set<int> peers;                             // devices whose memory it reaches
    cuda_double::vector_clock ended;                 // what the streams did that are gone
};

struct CUmemPoolHandle_st {
    int device = 0;
    std::uint64_t kept_at_most = 0;
    std::uint64_t kept = 0;
    bool adds_dependencies = true;  // an allocation may wait for memory that is freed in other streams
    std::vector<cuda_double::queued> frees{};
    std::set<int> open_to{};  // other devices
};
