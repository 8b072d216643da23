// tests/doubles/cuda/graph_calls.cpp: graphs of what was captured.
#include "doubles/cuda/stop.hpp"
#include "doubles/cuda/streams.hpp"

using namespace cuda_double;

CUDA_DOUBLE_CALL cuGraphInstantiateWithFlags(void** made, void* of, unsigned long long flags) {
    const call from("cuGraphInstantiate", call::needs::context);
    if (from.refused() != success) return from.refused();
    if (!of || flags != 0) return invalid_value;
    *made = new CUgraphExec_st{static_cast<CUgraph_st*>(of)->works};
    return success;
}

/// The works come one after the other, as they were captured. Each finds the memory that it touches again: a graph does
/// not keep it.
CUDA_DOUBLE_CALL cuGraphLaunch(void* graph, stream_handle stream) {
    call from("cuGraphLaunch", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const on = stream_behind(from, stream);
    if (!graph || !on) return invalid_handle;
    for (const captured_work& each : static_cast<CUgraphExec_st*>(graph)->works) {
        std::vector<footprint> touches = each.touches;
        for (footprint& place : touches) {
            place.what = from.in().memory.find(place.begin);
            if (!place.what || place.what->freed) {
                stop("cuGraphLaunch: %s of %zu bytes at 0x%llx: that memory was freed", each.name, place.bytes,
                     place.begin);
            }
        }
        if (const result status = submit(from, *on, touches, each.run); status != success) return status;
    }
    return success;
}

CUDA_DOUBLE_CALL cuGraphExecDestroy(void* graph) {
    const call from("cuGraphExecDestroy", call::needs::driver);
    if (from.refused() != success) return from.refused();
    delete static_cast<CUgraphExec_st*>(graph);
    return success;
}

CUDA_DOUBLE_CALL cuGraphDestroy(void* graph) {
    const call from("cuGraphDestroy", call::needs::driver);
    if (from.refused() != success) return from.refused();
    delete static_cast<CUgraph_st*>(graph);
    return success;
}
