// backends/cuda/error.hpp: the driver's answers, in words.
#pragma once

#include <string>

#include "backends/cuda/api.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends::cuda {

/// Returns "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered".
std::string text_of(result status);

/// Returns whether the driver refuses everything else in this process after `status`: a kernel has crashed, the device
/// or its context is gone.
bool is_lost(result status) noexcept;

/// Returns whether the driver refused because of a stream that is being captured: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
/// to CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD.
bool is_of_capture(result status) noexcept;

/// Throws what `status`, which is not success, means: out_of_memory, device_lost or unsupported (in a capture) where it
/// says so, else `otherwise`.
/// The message is `asked`, then the text of the status.
[[noreturn]] void fail(result status, const std::string& asked, error_code otherwise = error_code::transfer_failed);

}  // namespace unibuf::backends::cuda
