// verbs/copying.cpp: copies from one buffer to another, where the bytes are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "access/access_request.hpp"
#include "access/lock.hpp"
#include "access/transfers.hpp"
#include "backends/spaces.hpp"
#include "buffer/core.hpp"
#include "coherence/plan.hpp"
#include "memory/moves.hpp"
#include "trace/guards.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf {
namespace detail {
namespace {

/// Returns where to copy `part` of `source`: all of it is current there, as far as stores of the program are known now.
/// The lease that follows finds others, and brings what they have written.
space place_to_copy(core& source, const region& part, core& target, const region& to) {
    coherence::space_set complete = 0;
    {
        const lock locked(source);
        complete = coherence::complete_at(locked->directory, part, locked->copies.allocated());
    }
    const lock locked(target);
    if (locked->holds.stay_at_host(to)) return host;
    space place = host;
    bool found = coherence::has(complete, coherence::host);
    coherence::for_each_space(complete, [&](coherence::space_id each) {
        if (each == coherence::host || (found && !locked->copies.find(each))) return;
        place = space::from_id(each);
        found = true;
    });
    return place;
}

/// One end of a copy. The lease that is held keeps the memory.
struct end_of_copy {
    core& of;
    region part;

    const copy& copy_at(space where) const {
        const lock locked(of);
        return *locked->copies.find(where.id());
    }

    /// Returns whether somebody may write at `where` untold, and would not wait for who reads there.
    bool is_out_at(space where) const {
        const lock locked(of);
        const holds& held = locked->holds;
        return held.handle_is_out(where.id()) || held.view_is_out(where.id()) || held.stands_at(where) ||
               locked->pointers_reach(where);
    }
};

/// Copies at `where`, whose memories hold both ends. Returns the copy's end, or none where the copy is done.
fence copy_at(space where, const end_of_copy& from, const end_of_copy& to) {
    const copy& source = from.copy_at(where);
    backends::memory& target = *to.copy_at(where).memory;
    std::optional<backends::rectangle_copy> rows;
    if (!from.part.is_range() || !to.part.is_range()) rows = rectangle_between(to.part, from.part);
    fence done = rows ? move_on_devices(*source.memory, target, *rows, {})
                      : move_on_devices(*source.memory, from.part.hull(), target, to.part.begin(), {});
    if (source.queues && !from.is_out_at(where)) return done;
    done.wait();
    return {};
}

/// Copies at the host, from the first byte of each end.
void copy_at_host(const std::byte* source, const region& from, std::byte* target, const region& to) {
    if (const auto rows = rectangle_between(to, from)) {
        return backends::copy_rows(*rows, target - to.begin(), source - from.begin());
    }
    const byte_ranges runs = runs_of(from);
    auto run = runs.begin();
    std::size_t done = 0;
    to.for_each_run([&](byte_range left) {
        while (!left.empty()) {
            const std::size_t bytes = std::min(left.size(), run->size() - done);
            std::memcpy(target + (left.begin - to.begin()), source + (run->begin + done - from.begin()), bytes);
            left.begin += bytes;
            done = done + bytes == run->size() ? 0 : done + bytes;
            run += done == 0;
        }
    });
}

}  // namespace
}  // namespace detail

void buffer::copy(const buffer& source, std::size_t from, buffer& target, std::size_t to, std::size_t bytes) {
    const access_options read{.offset = from, .count = bytes};
    const access_options write{.offset = to, .count = bytes};
    const detail::end_of_copy begin{detail::core_of(source.gate_),
                                    source.request_of(unibuf::host, access::read, read).part};
    const detail::end_of_copy end{detail::core_of(target.gate_),
                                  target.request_of(unibuf::host, access::write, write).part};
    source.check_no_gaps("to copy from");
    target.check_no_gaps("to copy to");
    if (bytes == 0) return;
    const trace::asked_by_name unguarded;
    const auto copy_in = [&](space where) {
        const std::array wanted{source.to_read(where, read).bytes, target.to_write(where, write).bytes};
        std::array<byte_lease, 2> taken;
        fence done;
        lease_together(wanted, taken, [&] {
            if (backends::is_host(where)) {
                return detail::copy_at_host(taken[0].data(), begin.part, taken[1].data(), end.part);
            }
            try {
                done = detail::copy_at(where, begin, end);
            } catch (const error& failure) {
                const detail::access_request request{.part = end.part, .where = where, .verb = "to copy to"};
                detail::rethrow_naming_access(end.of, request, failure);
            }
        });
        if (!done.native()) return;
        for (byte_lease& each : taken) each.end_with({.done = done, .on = {}, .transfer = true});
    };
    if (begin.part.size() != end.part.size()) {
        throw error(error_code::invalid_argument,
                    fmt::format("{}: {} bytes of a rectangle were to be copied to {} bytes", end.of.name(),
                                begin.part.size(), end.part.size()));
    }
    if (!detail::rectangle_between(end.part, begin.part)) return copy_in(unibuf::host);
    const space where = detail::place_to_copy(begin.of, begin.part, end.of, end.part);
    try {
        copy_in(where);
    } catch (const error& failed) {
        if (failed.code() != error_code::out_of_memory || backends::is_host(where)) throw;
        copy_in(unibuf::host);  // the device has no room for both
    }
}

void buffer::copy_from(const buffer& source, std::size_t offset) { copy(source, 0, *this, offset, source.bytes_); }

void buffer::copy_to(buffer& target, std::size_t offset) const { copy(*this, offset, target, 0, target.bytes_); }

}  // namespace unibuf
