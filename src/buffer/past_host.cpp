// buffer/past_host.cpp
#include "buffer/past_host.hpp"

#include "buffer/counts.hpp"
#include "buffer/joint_passage.hpp"
#include "buffer/leases.hpp"
#include "buffer/letting_go.hpp"
#include "buffer/moves.hpp"
#include "buffer/recording.hpp"
#include "buffer/transfers.hpp"
#include "trace/tools.hpp"

namespace unibuf::detail {
namespace {

/// Returns the memory of the copy at `where`, which has one; null where that memory is the host's, or used in turns.
backends::memory* own_memory_at(guarded& state, space where) {
    const copy& there = *state.copies.find(where.id());
    return there.on_host() || there.placed == placement::shared ? nullptr : there.memory.get();
}

/// Returns whether the copy at `where` is known to have no memory of its own.
bool lies_at_host(core& of, space where) {
    lock through(of);
    return through->copies.find(where.id()) && !own_memory_at(*through, where);
}

/// One copy between the program's memory and that of a device, of which the device's side is leased.
class passing {
public:
    passing(core& of, const request& asked, const std::byte* program) : of_(of), asked_(asked), program_(program) {
        request at_device = asked;
        at_device.is_recorded = false;  // the access of the program is at the host
        if (reads()) {
            held_ = take_lease(of, at_device);
        } else {
            ask_before_joining(of, asked.where, asked.part);
            way_.add(of, at_device, held_);
            way_.enter();
            way_.bring();
            way_.grant();
        }
        lock through(of);
        memory_ = own_memory_at(*through, asked.where);
    }

    /// The device's memory; null where it has none of its own.
    backends::memory* memory() const noexcept { return memory_; }

    /// Calls `start` with the bytes as a rectangle, or with nothing where they are a range: it begins to move them, and
    /// returns the fence that is waited for.
    template <class Start>
    void move(const Start& start) {
        const auto begin = std::chrono::steady_clock::now();
        try {
            const trace::told_copy told(of_.id(), from(), to(), program_, program_, asked_.part.size());
            start(asked_.part.is_range() ? std::nullopt
                                         : rectangle_between(asked_.part, byte_range{0, asked_.part.size()}))
                .wait();
        } catch (const error& failure) {
            tell_of_access(of_, asked_, failure);
        }
        const auto end = std::chrono::steady_clock::now();
        way_.wrote();
        record_moved(begin, end);
        held_.end(fence());  // nothing of this copy goes on
    }

private:
    using time_point = std::chrono::steady_clock::time_point;

    bool reads() const noexcept { return asked_.what == access::read; }
    space from() const noexcept { return reads() ? asked_.where : host; }
    space to() const noexcept { return reads() ? host : asked_.where; }

    /// Traces have it as a transfer between the host, where the program reads or writes, and the device.
    void record_moved(time_point begin, time_point end) {
        request at_host = asked_;
        at_host.where = host;
        lock through(of_);
        if (!reads()) record_access(through, at_host);
        const coherence::step way{
            .does = coherence::step::kind::move, .part = asked_.part, .from = from().id(), .to = to().id()};
        count_transfers(through, way, {&asked_.part, 1},
                        {.why = asked_.why, .begin = begin, .end = end, .arrived = true, .program = program_});
        if (reads()) {
            record_access(through, at_host, asked_.part.size());
        } else {
            through->unasked = asked_.where.id();
        }
    }

    core& of_;
    const request& asked_;
    const std::byte* program_;
    byte_lease held_;
    joint_passage way_;  // of what is written: it is newest once it is there
    backends::memory* memory_ = nullptr;
};

}  // namespace

bool copy_out(core& of, const request& asked, std::byte* to) {
    if (lies_at_host(of, asked.where)) return false;
    passing way(of, asked, to);
    backends::memory* const from = way.memory();
    if (!from) return false;
    way.move([&](const auto& rows) {
        return rows ? from->read_rectangle(*rows, to, {}) : from->read(asked.part.begin(), {to, asked.part.size()}, {});
    });
    return true;
}

bool copy_in(core& of, const request& asked, const std::byte* from) {
    if (lies_at_host(of, asked.where)) return false;
    passing way(of, asked, from);
    backends::memory* const to = way.memory();
    if (!to) return false;
    way.move([&](const auto& rows) {
        return rows ? to->write_rectangle(*rows, from, {})
                    : to->write(asked.part.begin(), {from, asked.part.size()}, {});
    });
    return true;
}

space current_at(core& of, const region& part) {
    const lock through(of);
    const coherence::space_set complete = coherence::complete_at(through->directory, part, through->copies.allocated());
    if (complete == 0 || coherence::has(complete, coherence::host)) return host;
    space found = host;
    coherence::for_each_space(complete, [&](coherence::space_id each) {
        if (found == host && each != host_as_device.id()) found = space::from_id(each);
    });
    return found;
}

}  // namespace unibuf::detail
