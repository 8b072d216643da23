// tests/doubles/cuda/peer_calls.cpp: which device reaches the memory of which. All can, once they are told to.
#include "doubles/cuda/calls.hpp"
#include "doubles/cuda/settings.hpp"

using namespace cuda_double;

CUDA_DOUBLE_CALL cuDeviceCanAccessPeer(int* can, device_ordinal device, device_ordinal peer) {
    const call from("cuDeviceCanAccessPeer", call::needs::driver);
    if (from.refused() != success) return from.refused();
    const int count = chosen().devices;
    if (device < 0 || device >= count || peer < 0 || peer >= count) return invalid_device;
    *can = device != peer;
    return success;
}

CUDA_DOUBLE_CALL cuCtxEnablePeerAccess(context_handle peer, unsigned flags) {
    const call from("cuCtxEnablePeerAccess", call::needs::context);
    if (from.refused() != success) return from.refused();
    if (flags != 0 || peer->device == from.context().device) return invalid_value;
    return from.context().peers.insert(peer->device).second ? success : peer_access_already_enabled;
}

CUDA_DOUBLE_CALL cuMemPoolSetAccess(pool_handle pool, const access_of* who, std::size_t count) {
    const call from("cuMemPoolSetAccess", call::needs::driver);
    if (from.refused() != success) return from.refused();
    for (std::size_t i = 0; i < count; ++i) {
        if (who[i].location.type != location_device || who[i].flags != access_read_write) return invalid_value;
        pool->open_to.insert(who[i].location.id);
    }
    return success;
}
