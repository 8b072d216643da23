// support/player.cpp: what holds for every operation.
#include "support/player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "support/real_device.hpp"
#include "tracking/host_writes.hpp"
#include "unibuf/error.hpp"
#include "unibuf/statistics.hpp"
#include "unibuf/transfer_cost.hpp"

namespace unibuf::test {
namespace {

constexpr unsigned told = 1;  // how many operations tell of one injected failure at most
constexpr int attempts = 8;
constexpr unsigned few_runs_watched = 128;  // hints from here on are histories in which few runs are watched

std::size_t bytes_of(const history& of) { return of.size % 97u; }

std::unique_ptr<face> make_buffer(const history& of, space device) {
    static constexpr std::array hints{memory_hint::none, memory_hint::gpu_preferred, memory_hint::coherent};
    buffer_options options;
    options.hint = hints[of.hint % hints.size()];
    options.uninitialized = (of.flags & history::uninitialized) != 0;
    if ((of.flags & history::name_device) != 0) options.device = device;
    const bool by_c = (of.flags & history::by_c) != 0;
    const bool pooled = (of.flags & history::pooled) != 0;
    return by_c ? face_of_c(bytes_of(of), options, pooled) : face_of_cpp(bytes_of(of), options, pooled);
}

std::array<device_of_history, 2> devices_of(const history& of) {
    const arrangement& chosen = arrangements()[of.arrangement % arrangements().size()];
    const auto device_of = [](const char* real, const fake_traits& does, unsigned index) {
        if (real) return device_of_history{space(real)};
        fake_device& fake = fake_device::get(does, index);
        return device_of_history{fake.where(), &fake};
    };
    return {device_of(chosen.real[0], chosen.first, 0), device_of(chosen.real[1], chosen.second, 1)};
}

}  // namespace

player::player(const history& of)
    : devices_(devices_of(of)),
      uninitialized_((of.flags & history::uninitialized) != 0),
      oracle_(bytes_of(of), uninitialized_),
      before_(oracle_),
      leases_go_last_((of.flags & history::leases_go_last) != 0),
      joins_parts_((of.flags & history::joins_parts) != 0),
      fired_(faults::all().fired()) {
    faults::all().disarm();
    detail::host_writes::most_runs = of.hint < few_runs_watched ? 64 : 3;
    const auto each = std::chrono::seconds(joins_parts_ ? 1 : 0);
    for (const auto& [where, fake] : devices_) set_transfer_cost(where, {.each = each, .bytes_per_second = 1e9});
    if ((of.flags & history::default_is_device) != 0) default_ = at_first;
    set_default_device(space_of(default_));  // the device that the buffer is made for
    parts_[0] = part{make_buffer(of, devices_[0].where), {0, bytes_of(of)}};
}

player::~player() {
    detail::host_writes::most_runs = 64;
    faults::all().disarm();
    for (const auto& [where, fake] : devices_) set_transfer_cost(where, {.bytes_per_second = 1e9});
    set_default_device(host);
}

player::part& player::part_of(const operation& op) {
    std::optional<part>& found = parts_[op.handle % parts_.size()];
    return found ? *found : whole();
}

byte_range player::range_of(const operation& op, byte_range within) const {
    const std::size_t begin = within.begin + op.offset % (within.size() + 1);
    return {begin, begin + op.count % (within.end - begin + 1)};
}

place player::default_place() const { return default_; }

space player::space_of(place where) const {
    return where == at_host || where == at_host_as_device ? host : device_at(where).where;
}

bool player::allocated(place where) {
    if (!asked_[where]) return false;
    const space at = where == at_host_as_device ? host_as_device : space_of(where);
    return whole().handle->placement_at(at).has_value();
}

bool player::shares(place where) {
    return allocated(where) && whole().handle->placement_at(space_of(where)) == placement::shared;
}

bool player::pinned(place where) const {
    const auto is_there = [&](const held_copy& each) {
        return each.where == where && !each.bytes.empty() && !each.goes_when_asked;
    };
    return std::ranges::any_of(copies_, is_there) || stands_at(where);
}

bool player::stands_at(place where) const {
    return std::ranges::any_of(
        oracle_.standing(), [&](const standing_rules& each) { return each.where() == where && !each.range().empty(); });
}

bool player::excluded(const region& bytes, access what) const {
    return std::ranges::any_of(leases_, [&](const held_lease& each) {
        return each.bytes.overlaps(bytes) && (what != access::read || each.what != access::read);
    });
}

std::vector<error_code> player::conflicts(const region& bytes, access what) const {
    if (!excluded(bytes, what)) return {};
    return {error_code::access_conflict};
}

/// Makes a call, and returns whether it succeeded. Where `must_fail` names codes, the call has to throw one of them. It
/// may also throw a failure that was injected, and is tried again then.
bool player::attempt(const operation& op, const std::vector<error_code>& must_fail, const std::function<void()>& call) {
    tried_once_ = false;
    for (int i = 0; i < attempts; ++i) {
        try {
            call();
            settle();
            if (!must_fail.empty())
                throw difference("succeeded, but had to throw " + std::string(to_string(must_fail[0])));
            tried_once_ = i == 0;
            return true;
        } catch (const error& thrown) {
            settle();
            if (is_refusal(thrown)) {
                if ((op.flags & operation::give_up) != 0) return false;
                continue;
            }
            if (std::string(thrown.what()).find("buffer #") == std::string::npos) {
                throw difference(std::string("the error names no buffer: ") + thrown.what());
            }
            if (std::ranges::find(must_fail, thrown.code()) != must_fail.end()) return false;
            oracle_.doubt_standing();
            const bool lost = std::string(thrown.what()).find("were lost when") != std::string::npos;
            if (lost && oracle_.any_suspect(whole().range)) return false;
            if (may_tell_ == 0 || std::ranges::find(injected, thrown.code()) == injected.end()) {
                throw difference(std::string("threw ") + std::string(to_string(thrown.code())) + ": " + thrown.what());
            }
            --may_tell_;
            oracle_.doubt(whole().range);  // a writer that failed may have had memory handed over to it already
            if ((op.flags & operation::give_up) != 0) return false;
        }
    }
    throw difference("still fails, long after the failure that was injected");
}

/// Returns whether the call failed as a device's threads refused to stop. Such a call has changed nothing.
bool player::is_refusal(const error& thrown) {
    if (thrown.code() != error_code::timeout) return false;
    for (const standing& each : standing_) {
        if (each.threads->refused == 0) continue;
        --each.threads->refused;
        return true;
    }
    return false;
}

/// Tells the oracle that a transfer of `range` has failed. The rows of a rectangle are waited for as one, so the buffer
/// takes all of them for lost where one is.
void player::lose(byte_range range, place where) {
    oracle_.lose(range, where);
    for (const byte_range& hull : rectangles_) {
        if (hull.overlaps(range)) oracle_.suspect(hull);
    }
}

/// Tells the oracle which failures were injected, what they lost, and which memory the devices share by now.
void player::settle() {
    const unsigned now = faults::all().fired();
    may_tell_ += (now - fired_) * told;
    if (now != fired_) {
        clean_ = false;
        oracle_.doubt_standing();
    }
    fired_ = now;
    std::uint8_t host_group = 1;
    for (const place where : {at_first, at_second}) {
        if (fake_device* const fake = device_at(where).fake) {
            for (const failed_work& each : fake->failures) lose({each.begin, each.end}, where);
            fake->failures.clear();
        }
        if (shares(where) && !borrows(where)) host_group |= static_cast<std::uint8_t>(1u << where);
    }
    if (borrows(at_second) && shares(at_second)) {
        const place holder = device_at(at_second).fake->has_turn ? at_second : at_first;
        oracle_.take_turns(holder);
        before_.take_turns(holder);
    } else {
        oracle_.end_turns();
        before_.end_turns();
    }
    oracle_.share(host_group);
    before_.share(host_group);
}

/// Checks that the operation that has just succeeded moved no byte that was current at `where`, and none at all where
/// it fetches nothing, but for `others`. It may have given back to standing holds what it had taken.
void player::expect_moves(const region& bytes, place where, bool fetches, bool gives_back, std::size_t others) {
    if (!tried_once_) return;
    const std::uint64_t moved = whole().handle->bytes_moved() - moved_before_;
    const std::size_t given_back = before_.to_give_back(bytes, gives_back);
    std::size_t needed = given_back;
    for (const byte_range& run : runs_of(bytes)) needed += fetches ? before_.stale(run, where) : 0;
    if (joins_parts_ && needed > 0) needed = bytes.hull().size();
    if (joins_parts_ && given_back > 0) needed += before_.standing().size() * whole().range.size();
    needed += others;
    if (moved > needed) throw difference(fmt::format("moved {} bytes, of which {} were needed", moved, needed));
}

/// Checks the bytes of memory that reaches from the first of them to the last.
void player::expect_content(const region& bytes, place where, const native_memory& at, bool queued) {
    std::vector<std::byte> got;
    if (where == at_host || where == at_host_as_device) {
        got.assign(at.as<const std::byte>(), at.as<const std::byte>() + at.bytes);
    } else if (device_at(where).fake) {
        const bool writes_unseen = stands_at(where);  // only accesses elsewhere wait for that work
        got = queued || writes_unseen ? kernel_read(at) : seen_now(at);
    } else {
        got = device_reads(at);
    }
    if (bytes.empty() && got.empty()) return;
    if (got.size() != bytes.hull().size()) throw difference(fmt::format("{} bytes were given", got.size()));
    for (const byte_range& run : runs_of(bytes)) {
        const auto seen = std::span(got).subspan(run.begin - bytes.begin(), run.size());
        const std::string wrong = oracle_.compare(run, seen);
        if (!wrong.empty()) throw difference(fmt::format("read at place {}: {}", static_cast<int>(where), wrong));
    }
}

}  // namespace unibuf::test
