// trace/names.cpp: the names of errors, states and causes, as people read them.
#include <fmt/format.h>

#include <array>

#include "trace/call_site.hpp"
#include "trace/counters.hpp"
#include "unibuf/error.hpp"
#include "unibuf/fence.hpp"
#include "unibuf/state.hpp"
#include "unibuf/trace.hpp"

namespace unibuf {

std::string_view to_string(error_code code) noexcept {
    static constexpr std::array<std::string_view, 10> names = {
        "not_allocated", "out_of_memory",   "device_unavailable", "device_lost", "invalid_argument",
        "out_of_range",  "access_conflict", "transfer_failed",    "timeout",     "unsupported"};
    return names[static_cast<std::size_t>(code)];
}

std::string_view to_string(buffer_state state) noexcept {
    static constexpr std::array<std::string_view, 7> names = {
        "UNINITIALIZED", "HOST_ONLY", "DEVICE_ONLY", "SYNCHRONIZED", "HOST_DIRTY", "DEVICE_DIRTY", "MIXED"};
    return names[static_cast<std::size_t>(state)];
}

std::string_view to_string(cause why) noexcept {
    static constexpr std::array<std::string_view, trace::causes> names = {
        "read", "read_write", "host_pointer", "device_handle", "sync", "prefetch", "copy_to", "eviction"};
    return names[static_cast<std::size_t>(why)];
}

std::string_view to_string(event_kind kind) noexcept {
    static constexpr std::array<std::string_view, 14> names = {
        "none",    "access",     "transfer", "fill",     "mark", "found",     "assumed",
        "discard", "allocation", "release",  "eviction", "wait", "lease_end", "text"};
    return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(transfer_route route) noexcept {
    static constexpr std::array<std::string_view, 4> names = {"direct", "pinned", "staged", "by_host"};
    return names[static_cast<std::size_t>(route)];
}

std::string_view to_string(fault kind) noexcept {
    static constexpr std::array<std::string_view, 14> names = {
        "round_trip", "overwritten_fetch", "unread_copy", "ping_pong",  "whole_for_part",     "many_small",
        "churn",      "pageable",          "thrash",      "long_lease", "mark_without_write", "filled_at_host",
        "lost",       "untracked_writes"};
    return names[static_cast<std::size_t>(kind)];
}

std::string trace_file::space_name(std::uint8_t id) const {
    const auto found = spaces.find(id);
    if (found != spaces.end()) return found->second;
    const std::optional<space> known = space::numbered(id);
    return known ? known->name() : fmt::format("space {}", id);
}

std::string trace_file::buffer_name(std::uint64_t id) const {
    const auto found = buffers.find(id);
    return fmt::format("buffer #{}", id) + (found == buffers.end() ? "" : ": " + found->second);
}

std::string trace_file::site_name(std::uint64_t site) const {
    if (site == 0) return "not known";
    const auto found = sites.find(site);
    if (found != sites.end()) return found->second;
    return events.empty() ? trace::describe_site(site) : fmt::format("{:#x}", site);
}

}  // namespace unibuf
