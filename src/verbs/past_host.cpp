// verbs/past_host.cpp: copies between the program's memory and the copy of a device, which do not go by the host's
// copy.
#include "verbs/past_host.hpp"

#include <algorithm>
#include <vector>

#include "access/counts.hpp"
#include "access/joint_passage.hpp"
#include "access/letting_go.hpp"
#include "access/recording.hpp"
#include "access/transfers.hpp"
#include "memory/moves.hpp"
#include "trace/tools.hpp"
#include "verbs/leases.hpp"

namespace unibuf::detail {
namespace {

/// Returns the memory of the copy at `where`, which has one; null where that memory is the host's, or used in turns.
backends::memory* own_memory_at(guarded& state, space where) {
    const copy& its_copy = *state.copies.find(where.id());
    return its_copy.on_host() || its_copy.placed == placement::shared ? nullptr : its_copy.memory.get();
}

/// Returns whether the copy at `where` is known to have no memory of its own.
bool lies_at_host(core& of, space where) {
    lock locked(of);
    return locked->copies.find(where.id()) && !own_memory_at(*locked, where);
}

/// One copy between the program's memory and that of a device, of which the device's side is leased.
class direct_copy {
public:
    direct_copy(core& of, const access_request& request, const std::byte* program)
        : of_(of), request_(request), program_(program) {
        access_request at_device = request;
        at_device.is_recorded = false;  // the access of the program is at the host
        if (reads()) {
            held_ = take_lease(of, at_device);
        } else {
            check_allowed(of, at_device);
            ask_before_joining(of, request.where, request.part);
            way_.add(of, at_device, held_);
            way_.enter();
            way_.bring();
            way_.grant();
        }
        lock locked(of);
        memory_ = own_memory_at(*locked, request.where);
    }

    /// The device's memory; null where it has none of its own.
    backends::memory* memory() const noexcept { return memory_; }

    /// Calls `start` with the bytes as a rectangle, or with nothing where they are a range: it begins to move them, and
    /// returns the fence that is waited for.
    template <class Start>
    void move(const Start& start) {
        const auto begin = std::chrono::steady_clock::now();
        try {
            const void* const program = program_;
            const auto* const device = reinterpret_cast<const void*>(memory_->handle());
            const trace::told_copy told(of_.id(), from(), to(), reads() ? device : program, reads() ? program : device,
                                        request_.part.size());
            start(request_.part.is_range() ? std::nullopt
                                           : rectangle_between(request_.part, byte_range{0, request_.part.size()}))
                .wait();
        } catch (const error& failure) {
            rethrow_naming_access(of_, request_, failure);
        }
        const auto end = std::chrono::steady_clock::now();
        way_.wrote();
        record_moved(begin, end);
        held_.end(fence());  // nothing of this copy goes on
    }

private:
    using time_point = std::chrono::steady_clock::time_point;

    bool reads() const noexcept { return request_.what == access::read; }
    space from() const noexcept { return reads() ? request_.where : host; }
    space to() const noexcept { return reads() ? host : request_.where; }

    /// Traces have it as a transfer between the host, where the program reads or writes, and the device.
    void record_moved(time_point begin, time_point end) {
        access_request at_host = request_;
        at_host.where = host;
        lock locked(of_);
        if (!reads()) record_access(locked, at_host);
        const coherence::step way{
            .does = coherence::step::kind::move, .part = request_.part, .from = from().id(), .to = to().id()};
        count_transfers(locked, way, {&request_.part, 1},
                        {.why = request_.why, .begin = begin, .end = end, .arrived = true, .program = program_});
        if (reads()) {
            record_access(locked, at_host, request_.part.size());
        } else {
            locked->unasked = request_.where.id();
        }
    }

    core& of_;
    const access_request& request_;
    const std::byte* program_;
    byte_lease held_;
    joint_passage way_;  // of what is written: it is newest once it is there
    backends::memory* memory_ = nullptr;
};

}  // namespace

bool copy_out(core& of, const access_request& request, std::byte* to) {
    if (lies_at_host(of, request.where)) return false;
    direct_copy way(of, request, to);
    backends::memory* const from = way.memory();
    if (!from) return false;
    way.move([&](const auto& rows) {
        return rows ? from->read_rectangle(*rows, to, {})
                    : from->read(request.part.begin(), {to, request.part.size()}, {});
    });
    return true;
}

bool copy_in(core& of, const access_request& request, const std::byte* from) {
    if (lies_at_host(of, request.where)) return false;
    direct_copy way(of, request, from);
    backends::memory* const to = way.memory();
    if (!to) return false;
    way.move([&](const auto& rows) {
        return rows ? to->write_rectangle(*rows, from, {})
                    : to->write(request.part.begin(), {from, request.part.size()}, {});
    });
    return true;
}

space current_at(core& of, const region& part) {
    const lock locked(of);
    const coherence::space_set complete = coherence::complete_at(locked->directory, part, locked->copies.allocated());
    if (complete == 0 || coherence::has(complete, coherence::host)) return host;
    space found = host;
    coherence::for_each_space(complete, [&](coherence::space_id each) {
        if (found == host && each != host_as_device.id()) found = space::from_id(each);
    });
    return found;
}

space place_of_value(core& of, const region& part) {
    constexpr std::size_t most = 4;
    const space found = current_at(of, part);
    if (found == host) return host;
    const lock locked(of);
    if (locked->holds.any_standing()) return host;  // a device that may write at any time is asked to pause then
    std::vector<region>& read_once = locked->with_seldom_used().read_once;
    if (std::ranges::find(read_once, part) != read_once.end()) return host;
    if (read_once.size() == most) read_once.erase(read_once.begin());
    read_once.push_back(part);
    return found;
}

}  // namespace unibuf::detail
