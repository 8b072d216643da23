// backends/cuda/error.cpp
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
        invalid_context,
        214,  // CUDA_ERROR_ECC_UNCORRECTABLE
        220,  // CUDA_ERROR_NVLINK_UNCORRECTABLE
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
    };
    return std::ranges::find(lost, status) != lost.end();
}

void fail(result status, const std::string& asked, error_code otherwise) {
    const error_code code = status == out_of_memory ? error_code::out_of_memory
                            : is_lost(status)       ? error_code::device_lost
                                                    : otherwise;
    throw error(code, fmt::format("{}: {}", asked, text_of(status)));
}

}  // namespace unibuf::backends::cuda
