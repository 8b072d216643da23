// report.cpp: how a call ends: with `stat` and `errmsg`, or with the program.
#include "report.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

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

std::string_view message() noexcept {
    static constexpr std::array names{
        std::pair("release_host", "release_cpu_pointer"),
        std::pair("release_device", "release_gpu_handle"),
        std::pair("mark_device_dirty or discard says", "mark_device_dirty or discard_copy says"),
    };
    static constexpr std::string_view standing = "standing hold";
    static constexpr std::string_view ending = "end that one first";
    thread_local std::string text;
    try {
        text = c::message();
        for (const auto& [elsewhere, here] : names) {
            const std::size_t at = text.find(elsewhere);
            if (at != std::string::npos) text.replace(at, std::strlen(elsewhere), here);
        }
        const std::size_t at = text.find(ending);
        if (at != std::string::npos && text.find(standing) != std::string::npos) {
            text.replace(at, ending.size(), "release_gpu_handle ends that one");
        }
        return text;
    } catch (const std::exception&) {
        return c::message();
    }
}

void report_failure(unibuf_status failure, int* stat, CFI_cdesc_t* errmsg) noexcept {
    const std::string_view why = message();
    if (!stat) unibuf_fortran_stop(why.data(), why.size());
    *stat = failure;
    put_text(why, errmsg);
}

bool is_about_the_machine(unibuf_status failure) noexcept {
    return failure == UNIBUF_OUT_OF_MEMORY || failure == UNIBUF_DEVICE_UNAVAILABLE || failure == UNIBUF_UNSUPPORTED ||
           failure == UNIBUF_DEVICE_LOST;
}

}  // namespace unibuf::fortran

/// Gives the message of this thread's last failure.
extern "C" void unibuf_fortran_message(CFI_cdesc_t* text) {
    unibuf::fortran::put_text(unibuf::fortran::message(), text);
}
