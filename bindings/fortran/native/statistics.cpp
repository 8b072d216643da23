// statistics.cpp: the state of a buffer, and the transfers made for it.
#include <ISO_Fortran_binding.h>

#include <cstdint>
#include <string>
#include <unibuf/statistics.hpp>

#include "report.hpp"
#include "unified.hpp"

namespace unibuf::fortran {
namespace {

/// Laid out as type(transfer_statistics).
struct transfer_figures {
    std::int64_t transfers;
    std::int64_t bytes_moved;
    std::int64_t publications;
    std::int64_t fence_waits;
    std::int64_t evictions;
};

transfer_figures figures_of(const statistics& of) {
    const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    return {number(of.transfers_made()), number(of.bytes_moved()), number(of.publications), number(of.fence_waits),
            number(of.evictions)};
}

/// Returns "shared: asked for: coherent; to write, coherent".
std::string description_of(const placement_info& of) {
    std::string text = of.placement == placement::shared ? "shared: " : "mirrored: ";
    text += of.reason;
    return of.mapping.empty() ? text : text + "; mapped " + of.mapping;
}

}  // namespace
}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

int unibuf_fortran_state(const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    int state = 0;
    carry_out(stat, errmsg, [&] { state = static_cast<int>(buffers().get(*buffer).bytes().state()); });
    return state;
}

void unibuf_fortran_state_name(const int* state, CFI_cdesc_t* text) {
    const bool known = *state >= 0 && *state <= static_cast<int>(unibuf::buffer_state::mixed);
    put_text(known ? to_string(static_cast<unibuf::buffer_state>(*state)) : "unknown", text);
}

void unibuf_fortran_mapping(const handle* buffer, CFI_cdesc_t* text, int* stat) {
    carry_out(stat, nullptr, [&] { put_text(description_of(buffers().get(*buffer).placement()), text); });
}

transfer_figures unibuf_fortran_statistics(const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    transfer_figures figures{};
    carry_out(stat, errmsg, [&] { figures = figures_of(buffers().get(*buffer).bytes().statistics()); });
    return figures;
}

transfer_figures unibuf_fortran_total_statistics() { return figures_of(unibuf::total_statistics()); }

std::int64_t unibuf_fortran_memory_held() { return static_cast<std::int64_t>(unibuf::memory_in_all().held); }

std::int64_t unibuf_fortran_peak_memory() { return static_cast<std::int64_t>(unibuf::memory_in_all().peak); }

void unibuf_fortran_reset_peak_memory() { unibuf::reset_peak_memory(); }

}  // extern "C"
