// buffer/pointers.cpp: gives pointers, handles and views out, and takes them back.
#include "buffer/pointers.hpp"

#include <fmt/format.h>

#include <utility>

#include "backends/spaces.hpp"
#include "buffer/passage.hpp"
#include "buffer/poison.hpp"
#include "buffer/recording.hpp"
#include "buffer/standing.hpp"
#include "trace/counters.hpp"

namespace unibuf::detail {
namespace {

/// Returns whether the memory is as it was allocated, and was zero then.
bool is_untouched(const copy& there) { return there.untouched && there.memory->starts_zero(); }

/// Makes what finds the writes of pointers to the host's copy, which is there, before the first of them goes out.
void prepare_to_expose(guarded& state) {
    std::unique_ptr<host_writes>& writes = state.with_seldom_used().writes;
    if (writes) return;
    const copy& there = *state.copies.find(coherence::host);
    const std::span memory(there.memory->host_address(), state.whole().size());
    const bool wanted = state.copies.options().tracking == write_tracking::automatic && !state.peers();
    using tracking::own_pages;
    const auto own = [&] {
        if (!there.memory->own_pages_inside()) return own_pages::none;
        return there.memory->whole_pages() ? own_pages::all : own_pages::inside;
    };
    auto watch = wanted ? tracking::make_watch(memory, own(), there.memory->common_mapping()) : nullptr;
    writes = std::make_unique<host_writes>(state.directory, state.holds.writers_of_host(), memory, std::move(watch),
                                           state.id);
    if (state.copies.options().uninitialized) writes->values_are_unknown();
    if (!is_untouched(there) || there.memory->is_populated()) writes->memory_was_used();
}

/// Finds from now on what is written through a pointer to the host's copy, or a view of it, which has been noted among
/// the holds. The copy is there and current.
void expose_host(guarded& state, const region& part) {
    copy& there = *state.copies.find(coherence::host);
    state.any_exposed = true;  // also where this fails half way
    state.writes()->expose(part, is_untouched(there));
    there.untouched = false;
    state.any_exposed = coherence::any_exposed(state.directory);
}

void expose_host_pointer(guarded& state, const region& part) {
    prepare_to_expose(state);
    pause_for_pointer(state, host, part);
    state.holds.writers_of_host().add_pointer(runs_of(part));
    expose_host(state, part);
}

request to_expose(const region& part, const char* verb) {
    return {.part = part,
            .where = host,
            .what = access::read_write,
            .why = cause::host_pointer,
            .verb = verb,
            .keeps_to_mode = false};
}

/// Ends a view of the copy at `where`, which is one of `of`.
void end_view(guarded& state, space where, held_ranges& of, held_view& ended) noexcept {
    if (ended.number != 0) give_back_bytes_of(state, where, ended);
    of.end_view(ended);
}

/// Throws where a launch could not take the bytes from the host.
void check_host_is_newest(const guarded& state, const request& asked) {
    const auto is_elsewhere = [](const coherence::knowledge& k) { return !k.at_host(); };
    if (!state.directory.any(asked.part, is_elsewhere)) return;
    throw error(
        error_code::unsupported,
        fmt::format("{}: {} was asked for, but the host does not have the newest of them, or nobody has written "
                    "them: write them there, or read them there, before the capture",
                    state.name(), describe(asked)));
}

/// Throws where a device may write the bytes at any time.
void check_no_writer(const guarded& state, const request& asked) {
    const standing* const writer = state.holds.standing_against(asked.part, host, access::read);
    if (!writer) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: {} was asked for, but a standing hold at {} writes them: end that first", state.name(),
                            describe(asked), writer->where.name()));
}

unibuf::copy_view copy_view_of(core& of, guarded& state, const copy& there, space where, const held_view& made,
                               std::uint64_t upload = 0) {
    of.add_handle();
    state.hand_out(where);
    std::byte* const address = there.address();
    const byte_range range = made.range();
    const native_memory native{.where = where, .handle = there.handle(), .offset = range.begin, .bytes = range.size()};
    return unibuf::copy_view(of, native, address ? address + range.begin : nullptr, tag_of(made, upload));
}

/// Ends the pointers to bytes of `part`, and gives these back to standing holds.
void end_host_pointers(guarded& state, const region& part) {
    if (part == region(state.whole())) state.holds.end_handles(coherence::host, state.whole());
    if (state.holds.host_is_held_for_writing()) state.holds.writers_of_host().end_pointers(runs_of(part));
    end_pause_of_pointers(state, host, part);
}

void end_device_handles(guarded& state) {
    for (const copy& each : state.copies) {
        if (each.where == coherence::host) continue;
        state.holds.end_handles(each.where, state.whole());
        end_pause_of_pointers(state, space::from_id(each.where), state.whole());
    }
}

}  // namespace

std::byte* host_pointer(core& of, const region& part) {
    if (of.options().access == host_access::read_only) return const_cast<std::byte*>(host_pointer_to_read(of, part));
    lock through(of);
    passage way(through, to_expose(part, "a pointer to"));
    way.bring();
    expose_host_pointer(*through, part);
    return way.at()->memory->host_address() + part.begin();
}

const std::byte* host_pointer_to_read(core& of, const region& part) {
    check_host_may(of, access::read);
    lock through(of);
    passage way(through, {.part = part,
                          .where = host,
                          .what = access::read,
                          .why = cause::host_pointer,
                          .verb = "a pointer to",
                          .keeps_to_mode = false});
    way.bring();
    pause_for_pointer(*through, host, part);
    through->holds.readers_at(coherence::host).add_pointer(through->whole());
    return way.at()->memory->host_address() + part.begin();
}

void end_host_pointers(core& of, const region& part) {
    lock through(of);
    end_host_pointers(*through, part);
}

host_bytes begin_host_view(core& of, const region& part) {
    check_host_may(of, access::write);
    lock through(of);
    passage way(through, to_expose(part, "a host_view of"));
    way.bring();
    prepare_to_expose(*through);
    held_ranges& writers = through->holds.writers_of_host();
    held_view& made = through->holds.show(writers, part);
    try {
        expose_host(*through, part);
    } catch (...) {
        end_view(*through, host, writers, made);
        throw;
    }
    const byte_range range = part.hull();
    of.add_handle();
    return {of, way.at()->memory->host_address() + range.begin, range.begin, range.size(), tag_of(made)};
}

void end_host_view(core& of, view_tag tag) noexcept {
    holder gone;  // is destroyed after the lock
    lock through(of);
    if (tag.holder != 0) gone = through->holds.remove_holder(tag.holder);
    end_view(*through, host, through->holds.writers_of_host(), view_of(tag));
}

native_memory device_handle(core& of, const region& part) {
    const space where = current_device();
    lock through(of);
    passage(through,
            {.part = part, .where = where, .what = access::read, .why = cause::device_handle, .verb = "a handle of"})
        .bring();
    if (where == host_as_device && of.options().access != host_access::read_only) {
        // The handle is a pointer to the host's copy, too.
        passage(through,
                {.part = part, .where = host, .what = access::read, .why = cause::host_pointer, .keeps_to_mode = false})
            .bring();
        expose_host_pointer(*through, part);
    }
    pause_for_pointer(*through, where, part);
    through->holds.readers_at(where.id()).add_pointer(through->whole());
    through->hand_out(where);
    const copy& there = *through->copies.find(where.id());
    return {.where = where, .handle = there.handle(), .offset = part.begin(), .bytes = part.hull().size()};
}

void end_device_handles(core& of) {
    lock through(of);
    end_device_handles(*through);
}

copy_view begin_copy_view(core& of, space where, const region& part) {
    const cause why = where == host ? cause::host_pointer : cause::device_handle;
    lock through(of);
    passage way(
        through,
        {.part = part, .where = where, .what = access::read, .why = why, .verb = "a view of", .keeps_to_mode = false});
    way.bring();
    show(*through, *way.at(), part);
    const held_view& made = through->holds.show(through->holds.readers_at(where.id()), part);
    return copy_view_of(of, *through, *way.at(), where, made);
}

copy_view hold_copy(core& of, space where, const region& part) {
    lock through(of);
    const copy* const there = through->copies.find(where.id());
    check_allocated(*through, there, where, "to hold it");
    show(*through, *there, part);
    const held_view& made = through->holds.readers_at(where.id()).add_view({part});
    return copy_view_of(of, *through, *there, where, made);
}

copy_view capture_upload(core& of, request asked) {
    const byte_range range = asked.part.hull();
    if (!asked.part.is_range()) {
        throw error(error_code::unsupported,
                    fmt::format("{}: {} was asked for, but only uploads of bytes that follow each other are captured",
                                of.name(), describe(asked)));
    }
    asked.asks_holders = false;  // what they write is what the graph is to take
    lock through(of);
    check_no_writer(*through, asked);
    // What an access would queue goes beside the capture, on a queue that nothing waits for.
    const queue captured = std::exchange(asked.on, {backends::device_of(asked.where).own_queue()});
    passage way(through, asked);
    way.keep_others_off();
    held_ranges& readers = through->holds.readers_at(asked.where.id());
    held_view& made = readers.add_view({range});
    std::uint64_t upload = 0;
    try {
        // No launch is ordered with what is under way: work on the device, a transfer to the host.
        wait_for_all_work(through, asked.part, {.part = asked.part, .where = host, .waits = asked.waits});
        check_no_writer(*through, asked);
        check_host_is_newest(*through, asked);
        const std::byte* const at_host = through->copies.find(coherence::host)->memory->host_address();
        if (!through->shares_host(asked.where)) upload = through->holds.add_upload(range, asked.where);
        way.at()->memory->capture_write(range.begin, {at_host + range.begin, range.size()}, captured);
        through->copies.find(coherence::host)->memory->hand_out();
        return copy_view_of(of, *through, *way.at(), asked.where, made, upload);
    } catch (...) {
        if (upload != 0) through->holds.remove_upload(upload);
        readers.end_view(made);
        throw;
    }
}

void end_copy_view(core& of, space where, view_tag tag) noexcept {
    holder gone;  // is destroyed after the lock
    lock through(of);
    if (tag.holder != 0) gone = through->holds.remove_holder(tag.holder);
    if (tag.upload != 0) through->holds.remove_upload(tag.upload);
    end_view(*through, where, through->holds.readers_at(where.id()), view_of(tag));
}

void adopt(core& of, std::unique_ptr<backends::memory> memory) {
    lock through(of);
    copy_list made = host_copy_of(std::move(memory));
    trace::hold_anyway(host, of.bytes);  // nothing fails between this and the copy that it is counted for
    record_allocations(*through, made);
    through->copies.add(std::move(made));
    now_written(*through, promise(through->directory, through->whole()), through->whole(), host);
    record(event_kind::mark, *through, through->whole(), host);
    if (of.options().access != host_access::read_only) expose_host_pointer(*through, through->whole());
}

void check_no_pointers(guarded& state, const region& part, const char* verb) {
    if (!state.holds.host_is_held_for_writing(part)) return;
    const char* const held =
        state.holds.writers_of_host().any_view(part)
            ? "arrays or views of the host's copy are held, also what is left of a block: drop them"
            : "pointers to the host's copy are out: call release_host";
    throw error(error_code::access_conflict, fmt::format("{}: {} was asked for, but {}", state.name(), verb, held));
}

}  // namespace unibuf::detail
