// support/player_verbs.cpp: each operation of a history, on the buffer and on the oracle.
#include <algorithm>
#include <cstring>
#include <utility>

#include "support/player.hpp"
#include "support/real_device.hpp"

namespace unibuf::test {
namespace {

constexpr std::array explicit_places{at_host, at_first, at_second};

/// Bytes that tell their place and the operation that wrote them.
std::vector<std::byte> content_of(const operation& op, std::size_t count) {
    std::vector<std::byte> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<std::byte>(op.value * 7u + i * 3u + 1u);
    return result;
}

/// What of `range` is written, where not all is.
byte_range written_part(const operation& op, byte_range range) {
    if ((op.flags & operation::partly) == 0) return range;
    const std::size_t count = op.value % (range.size() + 1);
    const std::size_t begin = range.begin + (op.value / 3u) % (range.size() - count + 1);
    return {begin, begin + count};
}

bool is_host(place where) { return where == at_host || where == at_host_as_device; }

}  // namespace

/// As a program does that has been granted `at`, whose first byte is byte `first` of the buffer.
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
        of.handle->mark_host_dirty(to.begin - of.range.begin, to.size());
        oracle_.mark(to, at_host);
    }
    oracle_.put(to, content);
}

/// Through a pointer that was given out long ago, as long as it may still be written through.
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
    if (where == at_host_as_device) {
        oracle_.expose(of.range);
        pointers_.push_back({at.as<std::byte>(), of.range});
    }
    if (op.does == verb::device_read || excluded(to, access::write)) return;
    const auto content = content_of(op, to.size());
    store(at, of.range.begin, where, to, content);
    const bool is_found = where == at_host_as_device && (op.flags & operation::partly) != 0;
    if (!is_found) {
        of.handle->mark_device_dirty(to.begin - of.range.begin, to.size());
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

void player::discard(const operation& op) {
    part& of = part_of(op);
    const bool of_content = op.does == verb::discard_content;
    const place where = explicit_places[op.where % 3];
    if (of_content) {
        if (attempt(op, conflicts(of.range, access::write), [&] { of.handle->discard_content(); })) {
            oracle_.drop_content(of.range);
        }
        return;
    }
    std::vector<error_code> must_fail = conflicts(of.range, access::write);
    of.handle->release_device();
    // What the oracle cannot vouch for, the buffer may refuse to drop, and what pointers for reading are out to.
    const bool shown = where == at_host && host_shown_;
    const bool may_refuse = must_fail.empty() && (!clean_ || shown || !oracle_.may_drop(of.range, where));
    bool refused = false;
    if (attempt(op, must_fail,
                [&] {
                    try {
                        of.handle->discard(space_of(where));
                    } catch (const error& thrown) {
                        const bool after_failure = must_fail.empty() && !clean_;  // of an attempt before this one
                        if (!may_refuse && !after_failure) throw;
                        if (thrown.code() != error_code::access_conflict) throw;
                        refused = true;
                    }
                }) &&
        !refused) {
        oracle_.drop(of.range, where);
        if (where == at_host) pointers_.clear();
    }
}

void player::fill(const operation& op) {
    part& of = part_of(op);
    std::size_t period = 1 + op.count % 5u;
    while (of.range.size() % period != 0) --period;
    const bool fits = (op.flags & operation::beyond) == 0;
    const auto pattern = content_of(op, fits ? period : of.range.size() + 1);
    std::vector<error_code> must_fail = conflicts(of.range, access::write);
    if (!fits && !of.range.empty()) must_fail = {error_code::invalid_argument};
    if (!fits && of.range.empty()) return;
    asked_[at_host] = true;
    if (attempt(op, must_fail, [&] { of.handle->fill(pattern); })) {
        expect_moves(of.range, at_host, false);
        oracle_.fill(of.range, pattern);
    } else if (must_fail.empty()) {
        oracle_.doubt(of.range);
    }
}

void player::copy(const operation& op) {
    part& of = part_of(op);
    const byte_range range = range_of(op, of.range);
    const bool beyond = (op.flags & operation::beyond) != 0;
    const std::size_t offset = range.begin - of.range.begin;
    const std::size_t count = beyond ? of.range.size() - offset + 1 : range.size();
    const bool from = op.does == verb::copy_from;
    auto content = content_of(op, count);
    std::vector<error_code> must_fail = conflicts(range, from ? access::write : access::read);
    if (beyond) must_fail = {error_code::out_of_range};
    asked_[at_host] = true;
    if (!attempt(op, must_fail, [&] {
            if (from) {
                of.handle->copy_from(content, offset);
            } else {
                of.handle->copy_to(content, offset);
            }
        })) {
        return;
    }
    expect_moves(range, at_host, !from);
    if (from) {
        oracle_.write(range, at_host);
        oracle_.put(range, content);
    } else {
        oracle_.read(range, at_host);
        const std::string wrong = oracle_.compare(range, content);
        if (!wrong.empty()) throw difference("copied " + wrong);
    }
}

void player::make_view(const operation& op) {
    part& of = part_of(op);
    const byte_range range = range_of(op, of.range);
    const bool beyond = (op.flags & operation::beyond) != 0;
    const std::size_t offset = range.begin - of.range.begin;
    const std::size_t slot = 1 + op.where % 3u;
    std::optional<part> made = std::nullopt;
    const std::vector<error_code> must_fail =
        beyond ? std::vector{error_code::out_of_range} : std::vector<error_code>{};
    if (attempt(op, must_fail, [&] {
            made = part{of.handle->view(offset, beyond ? of.range.size() - offset + 1 : range.size()), range};
        })) {
        parts_[slot] = std::move(made);
    }
}

}  // namespace unibuf::test
