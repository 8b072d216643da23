// backends/cuda/error.cpp: the driver's answers, in words.
#include "backends/cuda/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace unibuf::backends::cuda {

std::string text_of(result status) {
    const char* name = nullptr;
    const char* text = nullptr;
    api().cuGetErrorName(status, &name);
    api().cuGetErrorString(status, &text);
    if (!name) return fmt::format("CUDA status {}", status);
    return text ? fmt::format("{}: {}", name, text) : std::string(name);
}

bool is_lost(result status) noexcept {
    static constexpr std::array lost = {
        deinitialized,
        46,  // CUDA_ERROR_DEVICE_UNAVAILABLE
        invalid_context,
        ecc_uncorrectable,
        220,  // CUDA_ERROR_NVLINK_UNCORRECTABLE
        226,  // CUDA_ERROR_CONTAINED
        illegal_address,
        702,  // CUDA_ERROR_LAUNCH_TIMEOUT
        context_is_destroyed,
        710,  // CUDA_ERROR_ASSERT
        714,  // CUDA_ERROR_HARDWARE_STACK_ERROR
        715,  // CUDA_ERROR_ILLEGAL_INSTRUCTION
        716,  // CUDA_ERROR_MISALIGNED_ADDRESS
        717,  // CUDA_ERROR_INVALID_ADDRESS_SPACE
        718,  // CUDA_ERROR_INVALID_PC
        719,  // CUDA_ERROR_LAUNCH_FAILED
        721,  // CUDA_ERROR_TENSOR_MEMORY_LEAK
        810,  // CUDA_ERROR_MPS_CLIENT_TERMINATED
        911,  // CUDA_ERROR_EXTERNAL_DEVICE
    };
    return std::ranges::find(lost, status) != lost.end();
}

bool is_of_capture(result status) noexcept { return status >= 900 && status <= 908; }

void fail(result status, const std::string& asked, error_code otherwise) {
    if (is_of_capture(status)) {
        throw error(
            error_code::unsupported,
            fmt::format("{}: {}: while a stream is being captured, accesses name another one, or are made before",
                        asked, text_of(status)));
    }
    const error_code code = status == out_of_memory ? error_code::out_of_memory
                            : is_lost(status)       ? error_code::device_lost
                                                    : otherwise;
    throw error(code, fmt::format("{}: {}", asked, text_of(status)));
}

}  // namespace unibuf::backends::cuda
