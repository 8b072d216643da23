// tests/doubles/cuda/streams.hpp: streams: one thread each, and the order between them.
#pragma once

#include <functional>
#include <vector>

#include "doubles/cuda/driver.hpp"

namespace cuda_double {

/// A new stream, whose thread runs until the stream is ended and empty.
CUstream_st* start_stream(driver& in, CUctx_st& of, bool blocking);
void end_stream(CUstream_st& which);

/// The stream that has this handle: itself, or one that was given the handle of a stream that was destroyed.
CUstream_st* stream_of(const driver& in, stream_handle handle);

/// The stream of the context that is current, or one of its default streams, behind a handle. Stops the program where
/// the stream is destroyed, or of another context; null where it is none.
CUstream_st* stream_behind(call& from, stream_handle handle);

/// Puts an operation into a stream: after what is there, after `after`, and as the default streams want it. Where the
/// stream is being captured it goes into the graph.
result submit(call& from, CUstream_st& on, const std::vector<footprint>& touches, std::function<void()> run,
              const std::vector<queued>& after = {}, const vector_clock& after_when = {});

/// All that was put into the context's streams.
std::vector<queued> all_work(const CUctx_st& of, vector_clock& when);

/// Lets others in until that work is done; the host has seen it then.
result wait_for_all(call& from, const std::vector<queued>& work, const vector_clock& when);

}  // namespace cuda_double
