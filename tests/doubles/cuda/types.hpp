// tests/doubles/cuda/types.hpp: the driver's types, and values that only the double needs.
#pragma once

#include "backends/cuda/api.hpp"

namespace cuda_double {

using namespace unibuf::backends::cuda;

// CUresult.
inline constexpr result not_initialized = 3;
inline constexpr result invalid_device = 101;
inline constexpr result already_mapped = 208;
inline constexpr result not_mapped = 211;
inline constexpr result host_memory_not_registered = 713;
inline constexpr result capture_unsupported = 900;
inline constexpr result capture_invalidated = 901;
inline constexpr result capture_unmatched = 903;
inline constexpr result capture_implicit = 906;
inline constexpr result captured_event = 907;

// CUstreamCaptureStatus, CUstreamCaptureMode, CUdriverProcAddressQueryResult.
inline constexpr int capture_active = 1;
inline constexpr int capture_broken = 2;
inline constexpr int capture_mode_global = 0;
inline constexpr int symbol_not_found = 1;
inline constexpr int version_not_sufficient = 2;

// CUpointer_attribute, CUmemorytype.
inline constexpr int attribute_memory_type = 2;
inline constexpr int attribute_device_ordinal = 9;
inline constexpr unsigned memory_type_host = 1;
inline constexpr unsigned memory_type_device = 2;

}  // namespace cuda_double
