// tests/unit/gate_bits_test.cpp: what the gate may say, as a table.
#include "buffer/gate_bits.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coherence/transitions.hpp"
#include "unibuf/detail/gate.hpp"

namespace unibuf::detail::gate_bits_test {
namespace {

using coherence::content;
using coherence::host;
using coherence::knowledge;
using coherence::pointers;
using coherence::set_of;

constexpr std::uint8_t device = 5;

constexpr std::uint32_t current = gate::host_current;
constexpr std::uint32_t readable = gate::host_readable;
constexpr std::uint32_t writable = gate::host_writable;
constexpr std::uint32_t exposed = gate::host_exposed;
constexpr std::uint32_t shown = gate::host_shown;
constexpr std::uint32_t newest = gate::device_newest;
constexpr std::uint32_t at_device = std::uint32_t{device} << gate::device_shift;
constexpr std::uint32_t at_host_again = std::uint32_t{host_as_device.id()} << gate::device_shift;

struct row {
    std::string what;
    gate_view view;
    std::uint32_t ready;
    bool device_ready = false;
};

const knowledge at_host_alone{.current = set_of(host), .what = content::written};
const knowledge at_device_alone{.current = set_of(device), .what = content::written};
const knowledge at_both{.current = set_of(host) | set_of(device), .what = content::settled};

knowledge with(knowledge k, auto change) {
    change(k);
    return k;
}

std::vector<row> rows() {
    const auto watched = with(at_host_alone, [](knowledge& k) { k.host_pointers = pointers::watched; });
    const auto assumed = with(at_host_alone, [](knowledge& k) { k.host_pointers = pointers::assumed; });
    const auto both_watched = with(at_both, [](knowledge& k) { k.host_pointers = pointers::watched; });
    const auto open = with(at_device_alone, [](knowledge& k) { k.open = true; });
    const auto lost = with(at_host_alone, [](knowledge& k) { k.lost = true; });
    const auto contested = with(at_device_alone, [](knowledge& k) {
        k.host_pointers = pointers::watched;
        k.contested = true;
    });
    const auto settled_at_host = with(at_host_alone, [](knowledge& k) { k.what = content::settled; });
    const knowledge both_again{.current = set_of(host) | set_of(host_as_device.id()),
                               .what = content::settled,
                               .host_pointers = pointers::assumed};
    return {
        {"written at the host", {.known = coherence::summary_of(at_host_alone)}, current | readable | writable},
        {"written at the host, and in step since",
         {.known = coherence::summary_of(settled_at_host)},
         current | readable},
        {"in step, the device is the default",
         {.known = coherence::summary_of(at_both), .device = device},
         current | readable | at_device},
        {"in step, the default device has no copy",
         {.known = coherence::summary_of(at_both), .device = no_space},
         current | readable},
        {"in step, and a handle is out",
         {.known = coherence::summary_of(at_both), .device = device, .handle_is_out = true},
         current | readable | at_device,
         true},
        {"written at the device",
         {.known = coherence::summary_of(at_device_alone), .device = device},
         at_device | newest},
        {"written at a device that queues its work",
         {.known = coherence::summary_of(at_device_alone), .device = device, .device_waits = true},
         at_device},
        {"work is queued at a device",
         {.known = coherence::summary_of(at_both), .busy = true, .device = device, .handle_is_out = true},
         current | readable},
        {"work is queued that uses the host's memory",
         {.known = coherence::summary_of(at_both),
          .busy = true,
          .busy_at_host = true,
          .device = device,
          .handle_is_out = true},
         0},
        {"lost", {.known = coherence::summary_of(lost)}, 0},
        {"contested", {.known = coherence::summary_of(contested), .device = device}, 0},
        {"open at the device", {.known = coherence::summary_of(open), .device = device, .handle_is_out = true}, 0},
        {"the host only reads",
         {.known = coherence::summary_of(at_host_alone), .allowed = host_access::read_only},
         current | readable},
        {"the host only writes",
         {.known = coherence::summary_of(at_host_alone), .allowed = host_access::write_only},
         current | writable},
        {"pointers for reading are out",
         {.known = coherence::summary_of(at_both), .host_shown = true},
         current | readable | shown},
        {"pointers are out, and writes are found",
         {.known = coherence::summary_of(watched), .host_written_for_good = true},
         current | readable | writable | exposed},
        {"pointers are out, of a part", {.known = coherence::summary_of(watched)}, current | readable | writable},
        {"pointers are out, and the device is in step: it has to be looked for writes",
         {.known = coherence::summary_of(both_watched), .host_written_for_good = true, .device = device},
         current | readable | exposed},
        {"the host in the place of the device, pointers out",
         {.known = coherence::summary_of(both_again),
          .host_written_for_good = true,
          .device = host_as_device.id(),
          .handle_is_out = true},
         current | readable | exposed | at_host_again,
         true},
        {"the host in the place of the device, no pointers yet",
         {.known = coherence::summary_of(with(both_again, [](knowledge& k) { k.host_pointers = pointers::none; })),
          .device = host_as_device.id()},
         current | readable},
        {"pointers are out, and the host is taken for written",
         {.known = coherence::summary_of(assumed), .host_written_for_good = true, .device = device},
         current | readable | writable | exposed},
    };
}

TEST(the_gate, says_what_changes_nothing_and_waits_for_nobody) {
    for (const row& each : rows()) {
        const gate_bits bits = bits_of(each.view);
        EXPECT_EQ(bits.ready, each.ready) << each.what;
        EXPECT_EQ(bits.device_ready, each.device_ready) << each.what;
    }
}

TEST(the_gate, stays_open_where_ranges_differ_but_the_host_has_them_all) {
    coherence::directory known(100);
    coherence::wrote(known, known.whole(), host);
    known.update({20, 30}, [](knowledge& k) { k = at_both; });
    ASSERT_GT(known.pieces(), 1u);
    EXPECT_EQ(bits_of({.known = known.summarize()}).ready, current | readable);
    coherence::wrote(known, {40, 50}, device);
    EXPECT_EQ(bits_of({.known = known.summarize()}).ready, 0u);
}

}  // namespace
}  // namespace unibuf::detail::gate_bits_test
