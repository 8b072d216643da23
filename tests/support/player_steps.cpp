// support/player_steps.cpp: one operation after the other, and what is looked at in the end.
#include <fmt/format.h>

#include <sstream>

#include "support/player.hpp"
#include "support/real_device.hpp"

namespace unibuf::test {

void player::step(const operation& op) {
    carry_out(op);
    if (!wrong_when_asked_.empty()) throw difference("when a holder was asked: " + wrong_when_asked_);
    settle_standing();
    if ((op.flags & operation::look) == 0) return;
    for (std::size_t i = 0; i < standing_.size(); ++i) {
        expect_device_sees(i, oracle_.standing()[i].range(), false);
    }
    look(std::array{at_first, at_second, at_host}[op.where % 3]);
    settle_standing();
}

void player::carry_out(const operation& op) {
    before_ = oracle_;
    moved_before_ = whole().handle->bytes_moved();
    switch (op.does) {
        case verb::read:
        case verb::write:
        case verb::read_write:
            take_lease(op);
            break;
        case verb::end_lease:
            if (!leases_.empty()) end_lease(op.handle % leases_.size());
            break;
        case verb::write_under_lease:
            write_under_lease(op);
            break;
        case verb::host_write:
        case verb::host_read:
        case verb::host_write_and_mark:
            use_host(op);
            break;
        case verb::old_pointer_write:
            use_old_pointer(op);
            break;
        case verb::release_host:
            release_pointers(op);
            break;
        case verb::device_read:
        case verb::device_write:
            use_device(op);
            break;
        case verb::mark:
            mark(op);
            break;
        case verb::sync_to_host:
            synchronize(op, at_host);
            break;
        case verb::sync_to_device:
            synchronize(op, default_place());
            break;
        case verb::prefetch:
            prefetch(op);
            break;
        case verb::discard:
        case verb::discard_content:
            discard(op);
            break;
        case verb::fill:
            fill(op);
            break;
        case verb::copy_from:
        case verb::copy_to:
            copy(op);
            break;
        case verb::view:
            make_view(op);
            break;
        case verb::drop_view:
            if (op.handle % parts_.size() != 0) parts_[op.handle % parts_.size()].reset();
            break;
        case verb::set_default:
            default_ = std::array{at_host_as_device, at_first, at_second}[op.where % 3];
            whole().handle->set_default_device(space_of(default_));
            break;
        case verb::fail:
            faults::all().arm(1 + op.count % 5u, injected[op.value % injected.size()],
                              (op.flags & operation::partly) != 0);
            break;
        case verb::make_room:
            make_room(op);
            break;
        case verb::recycle:
            recycle(op);
            break;
        case verb::rectangle:
            use_rectangle(op);
            break;
        case verb::hold_copy:
            hold_copy(op);
            break;
        case verb::let_go:
            if (!copies_.empty()) let_go(op.handle % copies_.size());
            break;
        case verb::bind:
            bind(op);
            break;
        case verb::write_unseen:
            write_unseen(op);
            break;
        case verb::pause_hold:
            if (!standing_.empty()) pause_hold(op, op.handle % standing_.size());
            break;
        case verb::resume_hold:
            if (!standing_.empty()) resume_hold(op, op.handle % standing_.size());
            break;
        case verb::end_hold:
            if (!standing_.empty()) end_hold(op.handle % standing_.size());
            break;
    }
}

/// Reads the whole buffer at `where`, unless a lease excludes that.
void player::look(place where) {
    before_ = oracle_;
    moved_before_ = whole().handle->bytes_moved();
    const byte_range all = whole().range;
    const bool is_current = whole().handle->is_current_at(space_of(where));
    if (!excluded(all, access::read)) take_lease_at({}, where, all, access::read);
    if (is_current && whole().handle->bytes_moved() != moved_before_) {
        throw difference(fmt::format("place {} was current, and bytes moved", static_cast<int>(where)));
    }
}

void player::finish() {
    faults::all().disarm();
    while (!leases_.empty() && !leases_go_last_) end_lease(0);
    for (std::size_t i = 0; i < standing_.size(); ++i) resume_hold({}, i);
    const auto look_everywhere = [&] {
        settle_standing();
        for (const place where : {at_first, at_host, at_second}) {
            look(where);
            settle_standing();
        }
    };
    look_everywhere();
    if (!leases_go_last_) {
        while (!copies_.empty()) let_go(0);
        while (!standing_.empty()) end_hold(0);
        look_everywhere();
    }
    for (const auto& [where, fake] : devices_) {
        if (fake && !fake->misuse.empty()) throw difference("a backend was misused: " + fake->misuse.front());
    }
}

void player::forget() {
    for (const auto& [where, fake] : devices_) {
        if (!fake) continue;
        fake->misuse.clear();
        fake->failures.clear();
        fake->queued().run_all();
    }
}

void player::close() {
    for (auto& each : parts_) each.reset();
    leases_.clear();
    copies_.clear();
    standing_.clear();
    for (const auto& [where, fake] : devices_) {
        if (memory_in(where).held != 0) throw difference("memory outlives its buffer");
        if (!fake) continue;
        if (fake->counts.memories != 0) throw difference("memory outlives its buffer");
        if (!fake->misuse.empty()) throw difference("a backend was misused: " + fake->misuse.front());
    }
}

std::string play(const history& what) {
    player playing(what);
    std::size_t done = 0;
    try {
        for (const operation& each : what.operations) {
            playing.step(each);
            ++done;
        }
        playing.finish();
        playing.close();
        return {};
    } catch (const std::exception& wrong) {
        std::ostringstream where;
        if (done < what.operations.size()) where << what.operations[done];
        playing.forget();
        return fmt::format("operation {} ({}): {}", done, where.str(), wrong.what());
    }
}

}  // namespace unibuf::test
