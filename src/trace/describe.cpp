// trace/describe.cpp: tells an event as a sentence.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "unibuf/trace.hpp"

namespace unibuf {
namespace {

std::string bytes(const event& of) {
    std::string result = fmt::format("bytes [{}, {})", of.begin, of.end);
    if (of.axes == 1) result = fmt::format("{} rows of {} bytes among {}", of.counts[0], of.row_bytes, result);
    if (of.axes == 2) {
        result = fmt::format("{} x {} rows of {} bytes among {}", of.counts[0], of.counts[1], of.row_bytes, result);
    }
    return result;
}

/// Returns why the bytes took no better way.
std::string_view detour(transfer_route taken) {
    if (taken == transfer_route::staged) return " by a staging buffer, as those of the host are not pinned";
    if (taken == transfer_route::by_host) return " by way of the host, as neither of the two reaches the other";
    return {};
}

std::string moved(const event& of) {
    if (of.took == 0) return fmt::format("{} bytes", of.bytes);
    return fmt::format("{} bytes in {:.1f} us", of.bytes, static_cast<double>(of.took) / 1e3);
}

std::string accessed(const event& of, const trace_file& names) {
    const auto name = [&names](std::uint8_t space) { return names.space_name(space); };
    static constexpr std::string_view verbs[] = {"", "read", "write", "read and write"};
    const auto what = static_cast<std::size_t>(of.what);
    const std::string_view verb = what < std::size(verbs) ? verbs[what] : "";
    std::string result;
    switch (of.why) {
        case cause::host_pointer:
            result = fmt::format("a pointer to {} was given out", bytes(of));
            break;
        case cause::device_handle:
            result = fmt::format("a handle at {} to {} was given out", name(of.to), bytes(of));
            break;
        case cause::sync:
            result = fmt::format("{} of {} were synchronized", bytes(of), name(of.to));
            break;
        case cause::prefetch:
            result = fmt::format("{} were fetched ahead to {}", bytes(of), name(of.to));
            break;
        case cause::eviction:
            result = fmt::format("{} were brought to {} to make room", bytes(of), name(of.to));
            break;
        default:
            result = fmt::format("{} was to {} {}", name(of.to), verb, bytes(of));
    }
    return result + (of.bytes == 0 ? ", and lacked nothing" : fmt::format(", and lacked {} bytes", of.bytes));
}

std::string happened(const event& of, const trace_file& names) {
    const auto name = [&names](std::uint8_t space) { return names.space_name(space); };
    switch (of.kind) {
        case event_kind::access:
            return accessed(of, names);
        case event_kind::transfer:
            return fmt::format("{} went from {} to {}{}: {}", moved(of), name(of.from), name(of.to), detour(of.route),
                               bytes(of));
        case event_kind::fill:
            return fmt::format("{} were filled at {}", bytes(of), name(of.to));
        case event_kind::mark:
            return fmt::format("{} at {} were said to be the newest", bytes(of), name(of.to));
        case event_kind::found:
            return fmt::format("{} had been written at the host through a pointer", bytes(of));
        case event_kind::assumed:
            return fmt::format("{} may have been written at the host {}", bytes(of),
                               of.by_others   ? "by another process"
                               : of.untracked ? "through a pointer, which is not found here"
                                              : "through a pointer");
        case event_kind::discard:
            return fmt::format("the content of {} was discarded", bytes(of));
        case event_kind::allocation:
            if (of.from != of.to) {
                return fmt::format("a copy was made at {}, in the memory of {}", name(of.to), name(of.from));
            }
            return fmt::format("a copy of {} bytes was made at {}{}", of.bytes, name(of.to),
                               of.is_pooled ? ", for a pool" : "");
        case event_kind::release:
            return fmt::format("the copy at {} was freed", name(of.to));
        case event_kind::eviction:
            return fmt::format("the copy at {} went because others needed the memory", name(of.to));
        case event_kind::wait:
            return fmt::format("{} waited {:.1f} us for others to end their use of {}", name(of.to),
                               static_cast<double>(of.took) / 1e3, bytes(of));
        case event_kind::lease_end:
            return fmt::format("a lease of {} at {} ended after {:.1f} us", bytes(of), name(of.to),
                               static_cast<double>(of.took) / 1e3);
        case event_kind::none:
        case event_kind::text:
            break;
    }
    return {};
}

}  // namespace

bool is_write(const event& of) noexcept {
    switch (of.kind) {
        case event_kind::access:
            return of.is_demand && of.what != access::read && of.why != cause::host_pointer;
        case event_kind::fill:
        case event_kind::mark:
        case event_kind::found:
        case event_kind::assumed:
            return true;
        default:
            return false;
    }
}

std::string describe(const event& of, const trace_file& names) {
    std::string result = happened(of, names);
    if (of.is_batched) result += ", in a batch";
    if (of.site != 0) result += ", in " + names.site_name(of.site);
    return result;
}

}  // namespace unibuf
