// doctor/traffic.cpp: what was moved, against the least that was needed.
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "doctor/rows.hpp"
#include "doctor/versions.hpp"
#include "unibuf/trace.hpp"

namespace unibuf {
namespace doctor {
namespace {

/// What the events before have said of a buffer.
class known_buffer {
public:
    known_buffer() {
        for (std::size_t id = 0; id < memory_.size(); ++id) {
            memory_[id] = detail::as_named(space::from_id(static_cast<std::uint8_t>(id))).id();
        }
    }

    void add(const event& made, traffic& sum) {
        const auto rows = [&](const auto& visit) { for_each_row(made, visit); };
        const auto write = [&](std::uint64_t& by) {
            rows([&](std::uint64_t begin, std::uint64_t end) {
                by += end - begin;
                versions_.write(begin, end, memory_[made.to]);
            });
        };
        switch (made.kind) {
            case event_kind::allocation:
                memory_[made.to] = memory_[made.from];
                break;
            case event_kind::transfer:
                sum.moved += made.bytes;
                if (made.from != host.id() && made.to != host.id()) {
                    versions_.between().add(memory_[made.from], memory_[made.to]);
                }
                break;
            case event_kind::access:
                if (!made.is_demand) break;
                if (made.what != access::write) {
                    rows([&](std::uint64_t begin, std::uint64_t end) { versions_.use(begin, end, memory_[made.to]); });
                }
                // What the host writes through a pointer is found, or assumed, later.
                if (made.what != access::read && made.why != cause::host_pointer) write(sum.declared);
                break;
            case event_kind::mark:
                write(sum.declared);
                break;
            case event_kind::found:
                write(sum.found);
                break;
            case event_kind::assumed:
                write(sum.assumed);
                break;
            case event_kind::fill:
                sum.declared += made.bytes;
                [[fallthrough]];
            case event_kind::discard:
                rows([&](std::uint64_t begin, std::uint64_t end) { versions_.make_everywhere(begin, end); });
                break;
            case event_kind::none:
            case event_kind::release:
            case event_kind::eviction:
            case event_kind::wait:
            case event_kind::lease_end:
            case event_kind::text:
                break;
        }
    }

    std::uint64_t least() const noexcept { return versions_.least(); }

private:
    std::array<std::uint8_t, max_spaces> memory_{};  // whose memory a space uses
    versions versions_;
};

}  // namespace
}  // namespace doctor

double traffic::ratio() const noexcept {
    if (least == 0) return moved == 0 ? 1 : std::numeric_limits<double>::infinity();
    return static_cast<double>(moved) / static_cast<double>(least);
}

traffic traffic_of(std::span<const event> events) {
    traffic result;
    std::unordered_map<std::uint64_t, std::unordered_map<std::uint64_t, doctor::known_buffer>>
        of;  // by process, and id
    for (const event& each : events) of[each.process][each.buffer].add(each, result);
    for (const auto& [process, buffers] : of) {
        for (const auto& [id, buffer] : buffers) result.least += buffer.least();
    }
    return result;
}

}  // namespace unibuf
