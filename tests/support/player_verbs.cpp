// support/player_verbs.cpp: each operation of a history, on the buffer and on the oracle.
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
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
    held_lease taken{.lease = nullptr, .where = where, .bytes = range, .what = what, .queued = false};
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

namespace {

struct sides {
    std::array<std::size_t, 2> extents;
    std::array<std::size_t, 2> begin;
    std::array<std::size_t, 2> end;
};

/// Returns a rectangle of an array of so many bytes, if these can be rows of some bytes.
std::optional<sides> sides_of(const operation& op, std::size_t bytes) {
    std::size_t columns = 2 + op.handle % 11u;
    while (columns > 1 && bytes % columns != 0) --columns;
    if (columns < 2 || bytes == 0) return std::nullopt;
    const std::size_t rows = bytes / columns;
    const std::array<std::size_t, 2> begin{op.offset % rows, op.count % columns};
    return sides{
        {rows, columns},
        begin,
        {begin[0] + 1 + op.offset / 7u % (rows - begin[0]), begin[1] + 1 + op.count / 5u % (columns - begin[1])}};
}

}  // namespace

void player::use_rectangle(const operation& op) {
    const std::optional<sides> of = sides_of(op, whole().range.size());
    if (!of) return;
    const lattice on{.pitch = {of->extents[1], 1}, .axes = 2};
    const region bytes(box{.on = on, .begin = {of->begin[0], of->begin[1]}, .end = {of->end[0], of->end[1]}});
    const auto handle = whole().handle->rectangle(of->extents[0], of->extents[1], of->begin, of->end);
    rectangles_.push_back(bytes.hull());
    const place where = explicit_places[op.where % 3];
    const auto for_runs = [&](const auto& visit) { bytes.for_each_run(visit); };
    const auto allocates = [&](place at) { asked_[at] = asked_[at_host] = true; };
    switch (op.value % 8u) {
        case 0:
        case 1:
        case 2:
            return lease_rectangle(op, *handle, bytes);
        case 3: {
            if (!any_allocated()) return;
            const place to = (op.flags & operation::partly) != 0 ? at_host : default_place();
            allocates(to);
            if (!attempt(op, conflicts(bytes, access::read),
                         [&] { to == at_host ? handle->sync_to_host(0, rest) : handle->sync_to_device(0, rest); })) {
                return;
            }
            expect_moves(bytes, to, true);
            return for_runs([&](byte_range run) { oracle_.read(run, to); });
        }
        case 4: {
            std::vector<error_code> must_fail = conflicts(bytes, access::write);
            if (!allocated(where)) must_fail.push_back(error_code::not_allocated);
            if (!attempt(op, must_fail, [&] { handle->mark_dirty(space_of(where), 0, rest); })) return;
            return for_runs([&](byte_range run) { oracle_.mark(run, where); });
        }
        case 5: {
            const auto pattern = content_of(op, 1);
            allocates(at_host);
            const std::vector<error_code> must_fail = conflicts(bytes, access::write);
            if (attempt(op, must_fail, [&] { handle->fill(pattern); })) {
                expect_moves(bytes, at_host, false, true);
                for_runs([&](byte_range run) { oracle_.fill(run, pattern); });
            } else if (must_fail.empty()) {
                for_runs([&](byte_range run) { oracle_.fill_in_part(run); });
            }
            return;
        }
        case 6: {
            const bool from = op.handle % 2 != 0;
            auto content = content_of(op, bytes.size());
            return copy_content(op, *handle, 0, bytes, from, content,
                                conflicts(bytes, from ? access::write : access::read));
        }
        default:
            if ((op.flags & operation::hold) != 0) return hold_copy(op, *handle, {}, bytes);
            return point_into_rectangle(op, *handle, bytes);
    }
}

void player::lease_rectangle(const operation& op, face& of, const region& bytes) {
    static constexpr std::array kinds{access::read, access::write, access::read_write};
    const access what = kinds[op.value % 8u];
    const place where = explicit_places[op.where % 3];
    held_lease taken{.lease = nullptr, .where = where, .bytes = bytes, .what = what, .queued = false};
    access_options options;
    static int any_queue = 0;
    taken.queued = (op.flags & operation::on_queue) != 0 && queues(where);
    if (taken.queued) options.on = queue{&any_queue};
    asked_[where] = asked_[at_host] = true;
    if (!attempt(op, conflicts(bytes, what), [&] { taken.lease = of.acquire(space_of(where), what, options); })) return;
    expect_moves(bytes, where, what != access::write);
    const native_memory at = taken.lease->native();
    if (what != access::write) {
        bytes.for_each_run([&](byte_range run) { oracle_.read(run, where); });
        expect_content(bytes, where, at, taken.queued);
    }
    const bool holds = (op.flags & operation::hold) != 0 && leases_.size() < 4;
    bytes.for_each_run([&](byte_range run) {
        if (what == access::read) return;
        what == access::write ? oracle_.write(run, where) : oracle_.read_write(run, where);
        if (holds) return;
        const auto content = content_of(op, run.size());
        store(at, bytes.begin(), where, run, content);
        oracle_.put(run, content);
    });
    if (holds) leases_.push_back(std::move(taken));
}

/// Writes through a pointer to the first byte of a rectangle, which is kept.
void player::point_into_rectangle(const operation& op, face& of, const region& bytes) {
    asked_[at_host] = true;
    std::byte* data = nullptr;
    if (!attempt(op, conflicts(bytes, access::read_write), [&] { data = of.host(); })) return;
    expect_moves(bytes, at_host, true);
    const native_memory at{host, reinterpret_cast<std::uintptr_t>(data), 0, bytes.hull().size()};
    bytes.for_each_run([&](byte_range run) { oracle_.read(run, at_host); });
    expect_content(bytes, at_host, at, false);
    bytes.for_each_run([&](byte_range run) {
        for (standing_rules& each : oracle_.standing()) each.point(run, at_host);
        oracle_.expose(run);
        pointers_.push_back({data + (run.begin - bytes.begin()), run});
        if ((op.flags & operation::partly) != 0) return;
        const auto content = content_of(op, run.size());
        store(at, bytes.begin(), at_host, run, content);
        oracle_.put_untold(run, content);
    });
}

void player::end_lease(std::size_t index) {
    const held_lease ending = std::move(leases_[index]);
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(index));
    if (ending.what == access::read) expect_content(ending.bytes, ending.where, ending.lease->native(), ending.queued);
}

void player::write_under_lease(const operation& op) {
    const auto found = std::ranges::find_if(leases_, [](const held_lease& each) { return each.what != access::read; });
    if (found == leases_.end()) return;
    byte_range to = range_of(op, found->bytes.hull());
    if (const byte_ranges runs = runs_of(found->bytes); runs.count() > 1)
        to = *std::next(runs.begin(), static_cast<std::ptrdiff_t>(op.offset % runs.count()));
    const auto content = content_of(op, to.size());
    store(found->lease->native(), found->bytes.begin(), found->where, to, content);
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
    exposes ? oracle_.put_untold(to, content) : oracle_.put(to, content);
}

/// Writes through a pointer that was given out long ago, where it may still be written through.
void player::use_old_pointer(const operation& op) {
    if (pointers_.empty()) return;
    const pointer& old = pointers_[op.handle % pointers_.size()];
    const byte_range to = range_of(op, old.range);
    if (to.empty() || !oracle_.all_exposed(to) || excluded(to, access::write)) return;
    const auto content = content_of(op, to.size());
    std::memcpy(old.data + (to.begin - old.range.begin), content.data(), content.size());
    oracle_.put_untold(to, content);
}

/// Writes through an old pointer, and takes that back when the devices have done what was queued, which may have sent
/// it. To a device that shares the host's memory nothing is sent: what it sees then is not what was compared.
void player::write_and_take_back(const operation& op) {
    const auto shares = [&](place where) {
        const fake_device* const fake = device_at(where).fake;
        if (!fake || fake->does().keeps_own) return false;
        return fake->does().aliases || fake->does().visible || fake->does().borrows;
    };
    if (pointers_.empty() || shares(at_first) || shares(at_second)) return;
    const pointer& old = pointers_[op.handle % pointers_.size()];
    const byte_range to = range_of(op, old.range);
    if (to.empty() || !oracle_.all_exposed(to) || excluded(to, access::write)) return;
    for (std::size_t i = to.begin; i < to.end; ++i) {
        if (!oracle_.is_current(i, at_host)) return;
    }
    auto content = content_of(op, to.size());
    std::byte* const at = old.data + (to.begin - old.range.begin);
    std::swap_ranges(content.begin(), content.end(), at);
    for (const place each : {at_first, at_second}) {
        if (queues(each)) device_at(each).fake->queued().run_all();
    }
    std::ranges::copy(content, at);
    oracle_.put_untold(to, content);
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
    is_found ? oracle_.put_untold(to, content) : oracle_.put(to, content);
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
    if (op.value % 2 != 0) write_and_take_back(op);
}

}  // namespace unibuf::test
