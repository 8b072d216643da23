// report.cpp
#include "report.hpp"

#include <algorithm>
#include <cstring>

/// Stops the program by `error stop`, in gpu_unified_buffers.
extern "C" [[noreturn]] void unibuf_fortran_stop(const char* message, std::size_t length);

namespace unibuf::fortran {

std::string_view text_of(const CFI_cdesc_t* characters) noexcept {
    if (!characters) return {};
    const std::string_view text(static_cast<const char*>(characters->base_addr), characters->elem_len);
    return text.substr(0, text.find_last_not_of(' ') + 1);
}

void put_text(std::string_view text, CFI_cdesc_t* characters) noexcept {
    if (!characters) return;
    auto* const to = static_cast<char*>(characters->base_addr);
    const std::size_t used = std::min(text.size(), characters->elem_len);
    std::memcpy(to, text.data(), used);
    std::fill(to + used, to + characters->elem_len, ' ');
}

void report_failure(unibuf_status failure, int* stat, CFI_cdesc_t* errmsg) noexcept {
    const std::string_view message = c::message();
    if (!stat) unibuf_fortran_stop(message.data(), message.size());
    *stat = failure;
    put_text(message, errmsg);
}

bool is_about_the_machine(unibuf_status failure) noexcept {
    return failure == UNIBUF_OUT_OF_MEMORY || failure == UNIBUF_DEVICE_UNAVAILABLE || failure == UNIBUF_UNSUPPORTED ||
           failure == UNIBUF_DEVICE_LOST;
}

}  // namespace unibuf::fortran

/// Gives the message of this thread's last failure.
extern "C" void unibuf_fortran_message(CFI_cdesc_t* text) { unibuf::fortran::put_text(unibuf::c::message(), text); }
