// buffer/core_pointers.cpp: pointers into the host's copy, and what is written through them.
#include <fmt/format.h>

#include "buffer/core_access.hpp"
#include "trace/counters.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

std::byte* core::host_pointer(byte_range range) {
    if (copies_.options().access == host_access::read_only) {
        return const_cast<std::byte*>(host_pointer_to_read(range));
    }
    return grant({.range = range, .where = host, .what = access::read_write, .why = cause::host_pointer},
                 [&](copy& there) {
                     give_host_pointer(range, false);
                     return there.memory->host_address() + range.begin;
                 });
}

/// The host's copy is there, and current.
void core::give_host_pointer(byte_range range, bool view) {
    copy& there = *copies_.find(coherence::host);
    std::unique_ptr<host_writes>& found = with_rare().writes;
    if (!found) {
        const std::span memory(there.memory->host_address(), bytes);
        const bool wanted = copies_.options().tracking == write_tracking::automatic;
        auto watch = wanted ? tracking::make_watch(memory, there.memory->whole_pages()) : nullptr;
        found = std::make_unique<host_writes>(directory_, memory, std::move(watch));
        if (copies_.options().uninitialized) found->values_are_unknown();
    }
    view ? found->holders().add_view(range) : found->holders().add_pointer(range);
    found->expose(range, there.untouched && there.memory->starts_zero());
    there.untouched = false;
    any_exposed_ = coherence::any_exposed(directory_);
}

void core::take_over(std::unique_ptr<backends::memory> memory) {
    const locked lock(*this);
    copies_.reserve(coherence::host);
    std::vector<copy> made(1);
    made.front().untouched = false;
    made.front().memory = memory.get();
    made.front().own = std::move(memory);
    trace::hold_anyway(host, bytes);
    copies_.add(std::move(made));
    now_written(directory_.whole(), host);
    if (copies_.options().access != host_access::read_only) give_host_pointer(directory_.whole(), false);
}

std::byte* core::begin_view(byte_range range) {
    if (copies_.options().access == host_access::read_only) {
        throw error(error_code::invalid_argument, name() + " was created read_only: the host may not write it");
    }
    return grant({.range = range, .where = host, .what = access::read_write, .why = cause::host_pointer},
                 [&](copy& there) {
                     give_host_pointer(range, true);
                     return there.memory->host_address() + range.begin;
                 });
}

void core::end_view(byte_range range) noexcept {
    const locked lock(*this);
    writes()->holders().end_view(range);
}

const std::byte* core::host_pointer_to_read(byte_range range) {
    return grant({.range = range, .where = host, .what = access::read, .why = cause::host_pointer}, [&](copy& there) {
        there.handed_out = true;
        return there.memory->host_address() + range.begin;
    });
}

void core::end_host_pointers(byte_range range) {
    const locked lock(*this);
    if (copy* const there = copies_.find(coherence::host); there && range == directory_.whole()) {
        there->handed_out = false;
    }
    if (host_writes* const known = writes()) known->holders().end_pointers(range);
}

void core::check_not_contested(const demand& asked) const {
    const byte_range contested = coherence::contested_in(directory_, asked.range);
    if (contested.empty()) return;
    throw error(
        error_code::access_conflict,
        fmt::format("{}: {} was asked for, but bytes [{}, {}) were written at the host, through a pointer, while a "
                    "device had newer ones: mark_host_dirty, mark_device_dirty or discard says which stand",
                    name(), describe({.range = asked.range, .where = asked.where, .what = asked.what}), contested.begin,
                    contested.end));
}

void core::find_host_writes(const demand& asked) {
    writes()->find(asked.range, asked.where, asked.what);
    any_exposed_ = writes()->holders().any() || coherence::any_exposed(directory_);
}

void core::before_device_writes(space where, byte_range range) {
    if (where == host || !any_exposed_) return;
    const bool share = coherence::has(copies_.memories().group(where.id()), coherence::host);
    writes()->before_device_writes(range, share);
}

void core::check_no_pointers(byte_range range, const char* verb) const {
    if (!writes() || !writes()->holders().any(range)) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: {} was asked for, but pointers to the host's copy are out: end their views, or call "
                            "release_host",
                            name(), verb));
}

}  // namespace unibuf::detail
