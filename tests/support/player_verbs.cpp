// support/player_verbs.cpp: each operation of a history, on the buffer and on the oracle.
#include <algorithm>
#include <cstring>
#include <utility>

#include "support/player.hpp"
#include "support/real_device.hpp"

namespace unibuf::test {
namespace {

/// Returns the part of `range` that the operation writes.
byte_range written_part(const operation& op, byte_range range) {
    if ((op.flags & operation::partly) == 0) return range;
    const std::size_t count = op.value % (range.size() + 1);
    const std::size_t begin = range.begin + (op.value / 3u) % (range.size() - count + 1);
    return {begin, begin + count};
}

bool is_host(place where) { return where == at_host || where == at_host_as_device; }

}  // namespace

std::vector<std::byte> content_of(const operation& op, std::size_t count) {
    std::vector<std::byte> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<std::byte>(op.value * 7u + i * 3u + 1u);
    return result;
}

/// Writes as a program does that has been granted `at`, whose first byte is byte `first` of the buffer.
void player::store(const native_memory& at, std::size_t first, place where, byte_range range,
                   std::span<const std::byte> content) const {
    if (content.empty()) return;
    if (is_host(where)) {
        std::memcpy(at.as<std::byte>() + (range.begin - first), content.data(), content.size());
    } else if (device_at(where).fake) {
        kernel_write(at, range.begin - first, content);
    } else {
        device_writes(at, range.begin - first, content);
    }
}

void player::take_lease(const operation& op) {
    const access what = op.does == verb::read    ? access::read
                        : op.does == verb::write ? access::write
                                                 : access::read_write;
    const part& of = part_of(op);
    take_lease_at(op, explicit_places[op.where % 3], range_of(op, of.range), what);
}

void player::take_lease_at(const operation& op, place where, byte_range range, access what) {
    part& of = op.does == verb::read && range == whole().range ? whole() : part_of(op);
    held_lease taken{.lease = nullptr, .where = where, .range = range, .what = what, .queued = false};
    access_options options{.offset = range.begin - of.range.begin, .count = range.size()};
    static int any_queue = 0;
    taken.queued = (op.flags & operation::on_queue) != 0 && queues(where);
    if (taken.queued) options.on = queue{&any_queue};
    std::vector<error_code> must_fail = conflicts(range, what);
    const bool beyond = (op.flags & operation::beyond) != 0;
    if (beyond) {
        options.count = of.range.size() - options.offset + 1;
        must_fail = {error_code::out_of_range};
    }
    asked_[where] = asked_[at_host] = true;
    const bool granted =
        attempt(op, must_fail, [&] { taken.lease = of.handle->acquire(space_of(where), what, options); });
    if (!granted) return;

    expect_moves(range, where, what != access::write);
    const native_memory at = taken.lease->native();
    if (what == access::write) {
        oracle_.write(range, where);
    } else {
        oracle_.read(range, where);
        expect_content(range, where, at, taken.queued);
        if (what == access::read_write) oracle_.read_write(range, where);
    }
    const bool holds = (op.flags & operation::hold) != 0 && leases_.size() < 4;
    if (what != access::read && !holds) {
        const byte_range to = written_part(op, range);
        const auto content = content_of(op, to.size());
        store(at, range.begin, where, to, content);
        oracle_.put(to, content);
    }
    if (holds) leases_.push_back(std::move(taken));
}

void player::end_lease(std::size_t index) {
    const held_lease ending = std::move(leases_[index]);
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(index));
    if (ending.what == access::read) expect_content(ending.range, ending.where, ending.lease->native(), ending.queued);
}

void player::write_under_lease(const operation& op) {
    const auto found = std::ranges::find_if(leases_, [](const held_lease& each) { return each.what != access::read; });
    if (found == leases_.end()) return;
    const byte_range to = range_of(op, found->range);
    const auto content = content_of(op, to.size());
    store(found->lease->native(), found->range.begin, found->where, to, content);
    oracle_.put(to, content);
}

void player::use_host(const operation& op) {
    part& of = part_of(op);
    const bool exposes = op.does == verb::host_write;
    asked_[at_host] = true;
    std::byte* data = nullptr;
    const bool given = attempt(op, conflicts(of.range, exposes ? access::read_write : access::read), [&] {
        data = exposes ? of.handle->host() : const_cast<std::byte*>(of.handle->host_to_read());
    });
    if (!given) return;
    expect_moves(of.range, at_host, true);
    oracle_.read(of.range, at_host);
    const native_memory at{host, reinterpret_cast<std::uintptr_t>(data), 0, of.range.size()};
    expect_content(of.range, at_host, at, false);
    for (standing_rules& each : oracle_.standing()) each.point(of.range, at_host);
    if (exposes) {
        oracle_.expose(of.range);
        pointers_.push_back({data, of.range});
    }
    host_shown_ |= !exposes;
    if (op.does == verb::host_read) return;
    const byte_range to = exposes ? written_part(op, of.range) : range_of(op, of.range);
    if (!exposes && excluded(to, access::write)) return;
    const auto content = content_of(op, to.size());
    store(at, of.range.begin, at_host, to, content);
    if (!exposes) {
        attempt({}, {}, [&] { of.handle->mark_host_dirty(to.begin - of.range.begin, to.size()); });
        oracle_.mark(to, at_host);
    }
    oracle_.put(to, content);
}

/// Writes through a pointer that was given out long ago, where it may still be written through.
void player::use_old_pointer(const operation& op) {
    if (pointers_.empty()) return;
    const pointer& old = pointers_[op.handle % pointers_.size()];
    const byte_range to = range_of(op, old.range);
    if (to.empty() || !oracle_.all_exposed(to) || excluded(to, access::write)) return;
    const auto content = content_of(op, to.size());
    std::memcpy(old.data + (to.begin - old.range.begin), content.data(), content.size());
    oracle_.put(to, content);
}

void player::use_device(const operation& op) {
    part& of = part_of(op);
    const place where = default_place();
    const byte_range to = range_of(op, of.range);
    native_memory at;
    asked_[where] = asked_[at_host] = true;
    if (!attempt(op, conflicts(of.range, access::read), [&] { at = of.handle->device(); })) return;
    expect_moves(of.range, where, true);
    oracle_.read(of.range, where);
    expect_content(of.range, where, at, false);
    for (standing_rules& each : oracle_.standing()) each.point(of.range, where);
    if (where == at_host_as_device) {
        for (standing_rules& each : oracle_.standing()) each.point(of.range, at_host);
        oracle_.expose(of.range);
        pointers_.push_back({at.as<std::byte>(), of.range});
    }
    if (op.does == verb::device_read || excluded(to, access::write)) return;
    const auto content = content_of(op, to.size());
    store(at, of.range.begin, where, to, content);
    const bool is_found = where == at_host_as_device && (op.flags & operation::partly) != 0;
    if (!is_found) {
        attempt({}, {}, [&] { of.handle->mark_device_dirty(to.begin - of.range.begin, to.size()); });
        oracle_.mark(to, where);
    }
    oracle_.put(to, content);
}

void player::mark(const operation& op) {
    part& of = part_of(op);
    const byte_range range = range_of(op, of.range);
    const place where = explicit_places[op.where % 3];
    std::vector<error_code> must_fail = conflicts(range, access::write);
    if (!allocated(where)) must_fail.push_back(error_code::not_allocated);
    if (attempt(op, must_fail,
                [&] { of.handle->mark_dirty(space_of(where), range.begin - of.range.begin, range.size()); })) {
        oracle_.mark(range, where);
    }
}

void player::synchronize(const operation& op, place where) {
    part& of = part_of(op);
    const byte_range range = range_of(op, of.range);
    std::vector<error_code> must_fail = conflicts(range, access::read);
    const bool any = any_allocated();
    if (!any) must_fail.push_back(error_code::not_allocated);
    if (any) asked_[where] = asked_[at_host] = true;
    const std::size_t offset = range.begin - of.range.begin;
    if (attempt(op, must_fail, [&] {
            if (where == at_host) {
                of.handle->sync_to_host(offset, range.size());
            } else {
                of.handle->sync_to_device(offset, range.size());
            }
        })) {
        expect_moves(range, where, true);
        oracle_.read(range, where);
    }
}

bool player::any_allocated() {
    bool any = false;
    for (const place each : {at_host, at_host_as_device, at_first, at_second}) any = any || allocated(each);
    return any;
}

void player::prefetch(const operation& op) {
    part& of = part_of(op);
    const byte_range range = range_of(op, of.range);
    const place where = explicit_places[op.where % 3];
    const bool together = (op.flags & operation::partly) != 0;
    std::vector<error_code> must_fail = conflicts(range, access::read);
    const bool refused = together && !any_allocated();
    if (refused) must_fail.push_back(error_code::not_allocated);
    if (!refused) asked_[where] = asked_[at_host] = true;
    const std::size_t offset = range.begin - of.range.begin;
    const auto in_a_batch = [&] {
        const auto second = of.handle->view(offset + range.size() / 2, range.size() - range.size() / 2);
        of.handle->view(offset, range.size() / 2)->sync_together(space_of(where), *second);
    };
    const auto at_once = [&] { of.handle->prefetch(space_of(where), {.offset = offset, .count = range.size()}); };
    if (attempt(op, must_fail, [&] { together ? in_a_batch() : at_once(); })) {
        expect_moves(range, where, true);
        oracle_.read(range, where);
    }
}

}  // namespace unibuf::test
