// buffer/copying.cpp: copies from one buffer to another, where the bytes are.
#include <array>
#include <cstring>

#include "backends/spaces.hpp"
#include "buffer/core.hpp"
#include "buffer/lock.hpp"
#include "buffer/moves.hpp"
#include "buffer/request.hpp"
#include "coherence/plan.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf {
namespace detail {
namespace {

/// Returns where to copy `range` of `source`: no byte moves to get there. What the host writes meanwhile may be found
/// by the leases only; then they bring it.
space place_to_copy(core& source, byte_range range, core& target) {
    coherence::space_set complete = 0;
    {
        const lock through(source);
        complete = coherence::complete_at(through->directory, range, through->copies.allocated());
    }
    const lock through(target);
    space place = host;
    bool found = coherence::has(complete, coherence::host);
    coherence::for_each_space(complete, [&](coherence::space_id each) {
        if (each == coherence::host || (found && !through->copies.find(each))) return;
        place = space::from_id(each);
        found = true;
    });
    return place;
}

/// One end of a copy. The lease that is held keeps the memory.
struct end_of_copy {
    core& of;
    byte_range range;

    backends::memory& memory_at(space where) const {
        const lock through(of);
        return *through->copies.find(where.id())->memory;
    }

    /// Notes that the copy is under way here.
    void leave(space where, const fence& done, bool writes) const {
        lock through(of);
        work_list& queued = through->holds.work();
        queued.reserve(through->holds.size() + 1);
        queued.add({.range = range, .where = where.id(), .writes = writes}, {.done = done, .on = {}, .transfer = true});
    }

    /// Returns whether somebody may write at `where` untold, and would not wait for who reads there.
    bool is_out_at(space where) const {
        const lock through(of);
        const holds& held = through->holds;
        return held.handle_is_out(where.id()) || held.view_is_out(where.id()) || held.stands_at(where);
    }
};

/// Copies at `where`, whose memories hold both ends.
void copy_at(space where, const end_of_copy& from, const end_of_copy& to) {
    const fence done = move_on_devices(from.memory_at(where), from.range, to.memory_at(where), to.range.begin, {});
    if (!done.native()) return;
    try {
        if (from.is_out_at(where)) {
            done.wait();
            return;
        }
        from.leave(where, done, false);
        to.leave(where, done, true);
    } catch (...) {
        done.wait();
        throw;
    }
}

}  // namespace
}  // namespace detail

void buffer::copy(const buffer& source, std::size_t from, buffer& target, std::size_t to, std::size_t bytes) {
    const access_options read{.offset = from, .count = bytes};
    const access_options write{.offset = to, .count = bytes};
    const detail::end_of_copy begin{detail::core_of(source.gate_),
                                    source.request_of(unibuf::host, access::read, read).range};
    const detail::end_of_copy end{detail::core_of(target.gate_),
                                  target.request_of(unibuf::host, access::write, write).range};
    if (bytes == 0) return;
    const auto copy_in = [&](space where) {
        const std::array wanted{source.to_read(where, read).bytes, target.to_write(where, write).bytes};
        std::array<byte_lease, 2> taken;
        lease_together(wanted, taken, [&] {
            if (!backends::is_host(where)) return detail::copy_at(where, begin, end);
            std::memcpy(taken[1].data(), taken[0].data(), bytes);
        });
    };
    const space where = detail::place_to_copy(begin.of, begin.range, end.of);
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
