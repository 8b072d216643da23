// verbs/pointers.cpp: gives pointers, handles and views out, takes them back, and takes memory of the program's own.
#include "verbs/pointers.hpp"

#include <fmt/format.h>

#include <utility>

#include "access/kernel_writes.hpp"
#include "access/letting_go.hpp"
#include "access/passage.hpp"
#include "access/poison.hpp"
#include "access/recording.hpp"
#include "access/standing.hpp"
#include "backends/host/callers_memory.hpp"
#include "backends/host/taken_bytes.hpp"
#include "backends/spaces.hpp"
#include "memory/usage.hpp"
#include "system/mappings.hpp"

namespace unibuf::detail {
namespace {

/// Returns whether the memory is as it was allocated, and was zero then.
bool is_untouched(const copy& its_copy) { return its_copy.untouched && its_copy.memory->starts_zero(); }

/// Makes what finds the writes of pointers to the host's copy, which is there, before the first of them goes out.
void prepare_to_expose(guarded& state) {
    std::unique_ptr<host_writes>& writes = state.with_seldom_used().writes;
    if (writes) return;
    const copy& its_copy = *state.copies.find(coherence::host);
    const std::span memory(its_copy.memory->host_address(), state.whole().size());
    const bool wanted = state.copies.options().tracking == write_tracking::automatic && !state.peers();
    using tracking::own_pages;
    const auto own = [&] {
        if (!its_copy.memory->own_pages_inside()) return own_pages::none;
        const bool unibufs = its_copy.memory->whole_pages() && !its_copy.memory->is_programs();
        return unibufs ? own_pages::all : own_pages::inside;
    };
    auto watch = wanted ? tracking::make_watch(memory, own(), its_copy.memory->common_mapping()) : nullptr;
    writes = std::make_unique<host_writes>(state.directory, state.holds.writers_of_host(), memory, std::move(watch),
                                           state.id);
    if (wanted && !tracking::kernel::is_off()) writes->allow_digests();
    if (state.copies.options().uninitialized) writes->values_are_unknown();
    if (!is_untouched(its_copy) || its_copy.memory->is_populated()) writes->memory_was_used();
}

/// Finds from now on what is written through a pointer to the host's copy, or a view of it, which has been noted among
/// the holds. The copy is there and current.
void expose_host(guarded& state, const region& part) {
    copy& its_copy = *state.copies.find(coherence::host);
    state.any_exposed = true;  // also where this fails half way
    state.writes()->expose(part, is_untouched(its_copy));
    its_copy.untouched = false;
    state.any_exposed = coherence::any_exposed(state.directory);
}

void expose_host_pointer(guarded& state, const region& part) {
    prepare_to_expose(state);
    pause_for_pointer(state, host, part);
    state.holds.writers_of_host().add_pointer(runs_of(part));
    expose_host(state, part);
}

access_request to_expose(const region& part, const char* verb, access what = access::read_write) {
    return {
        .part = part, .where = host, .what = what, .why = cause::host_pointer, .verb = verb, .keeps_to_mode = false};
}

/// Ends a view of the copy at `where`, and gives its bytes back to standing holds.
void end_view(guarded& state, space where, held_view& ended) noexcept {
    if (ended.number != 0) give_back_bytes_of(state, where, ended);
    if (ended.opened) end_kernel_write(state, ended.part);
    state.holds.end_view(where.id(), ended);
}

/// Throws where a launch could not take the bytes from the host.
void check_host_is_newest(const guarded& state, const access_request& request) {
    const auto is_elsewhere = [](const coherence::knowledge& k) { return !k.at_host(); };
    if (!state.directory.any(request.part, is_elsewhere)) return;
    throw error(
        error_code::unsupported,
        fmt::format("{}: {} was asked for, but the host does not have the newest of them, or nobody has written "
                    "them: write them there, or read them there, before the capture",
                    state.name(), describe(request)));
}

/// Throws where a device may write the bytes at any time.
void check_no_writer(const guarded& state, const access_request& request) {
    const standing* const writer = state.holds.standing_against(request.part, host, access::read);
    if (!writer) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: {} was asked for, but a standing hold at {} writes them: end that first", state.name(),
                            describe(request), writer->where.name()));
}

unibuf::copy_view copy_view_of(core& of, guarded& state, const copy& its_copy, space where, const held_view& made) {
    of.add_handle();
    state.hand_out(where);
    std::byte* const address = its_copy.address();
    const byte_range range = made.range();
    const native_memory native{
        .where = where, .handle = its_copy.handle(), .offset = range.begin, .bytes = range.size()};
    return unibuf::copy_view(of, native, address ? address + range.begin : nullptr, tag_of(made));
}

/// Ends the pointers to bytes of `part`, and gives these back to standing holds. The program's own memory is its to
/// write all the same.
void end_host_pointers(guarded& state, const region& part) {
    if (part == region(state.whole())) state.holds.end_handles(coherence::host, state.whole());
    if (state.holds.host_is_held_for_writing() && !state.has_programs_memory())
        state.holds.writers_of_host().end_pointers(runs_of(part));
    end_pause_of_pointers(state, host, part);
}

void end_device_handles(guarded& state) {
    for (const copy& each : state.copies) {
        if (each.where == coherence::host) continue;
        state.holds.end_handles(each.where, state.whole());
        end_pause_of_pointers(state, space::from_id(each.where), state.whole());
    }
}

/// Memory of the program's own that is a buffer's, and what keeps it there.
struct taken_memory {
    taken_memory(std::shared_ptr<void> keep, std::span<const std::byte> bytes, const std::string& by)
        : kept(std::move(keep)), taken(bytes, by) {}

    std::shared_ptr<void> kept;
    backends::taken_bytes taken;  // ends before the memory is given back, which another buffer may get then
};

/// Makes memory that has content the host's copy of a buffer that has none.
void adopt(core& of, std::unique_ptr<backends::memory> memory) {
    lock locked(of);
    copy_list made = host_copy_of(std::move(memory));
    add_memory(host, of.bytes);  // nothing fails between this and the copy that it is counted for
    record_allocations(*locked, made);
    locked->copies.add(std::move(made));
    now_written(*locked, promise(locked->directory, locked->whole()), locked->whole(), host);
    record(event_kind::mark, *locked, locked->whole(), host);
    if (host_may_write(of.options().access)) expose_host_pointer(*locked, locked->whole());
}

}  // namespace

std::byte* host_pointer(core& of, const region& part) {
    if (of.options().access == host_access::constant) check_allowed(of, to_expose(part, "a pointer to write"));
    if (!host_may_write(of.options().access)) return const_cast<std::byte*>(host_pointer_to_read(of, part));
    lock locked(of);
    passage way(locked, to_expose(part, "a pointer to"));
    way.bring();
    expose_host_pointer(*locked, part);
    return way.at()->memory->host_address() + part.begin();
}

const std::byte* host_pointer_to_read(core& of, const region& part) {
    check_host_may(of, access::read);
    lock locked(of);
    passage way(locked, {.part = part,
                         .where = host,
                         .what = access::read,
                         .why = cause::host_pointer,
                         .verb = "a pointer to",
                         .keeps_to_mode = false});
    way.bring();
    pause_for_pointer(*locked, host, part);
    locked->holds.readers_at(coherence::host).add_pointer(locked->whole());
    return way.at()->memory->host_address() + part.begin();
}

void end_host_pointers(core& of, const region& part) {
    lock locked(of);
    end_host_pointers(*locked, part);
}

copy_view begin_host_view(core& of, const region& part) {
    check_host_may(of, access::write);
    lock locked(of);
    passage way(locked, to_expose(part, "a host_view of"));
    way.bring();
    prepare_to_expose(*locked);
    held_view& made = locked->holds.add_view(locked->holds.writers_of_host(), part);
    try {
        expose_host(*locked, part);
    } catch (...) {
        end_view(*locked, host, made);
        throw;
    }
    return copy_view_of(of, *locked, *way.at(), host, made);
}

copy_view begin_io_view(core& of, const region& part, access what) {
    if (what == access::read) {
        throw error(error_code::invalid_argument,
                    of.name() +
                        ": an io_view to read was asked for: what only reads the host's memory needs a read "
                        "lease there");
    }
    check_host_may(of, access::write);
    lock locked(of);
    passage way(locked, to_expose(part, "an io_view of", what));
    way.bring();
    prepare_to_expose(*locked);
    held_view& made = locked->holds.add_view(locked->holds.writers_of_host(), part, true);
    try {
        locked->any_exposed = true;  // also where this fails half way
        locked->writes()->expose_unseen(part);
        if (what == access::write) now_written(*locked, promise(locked->directory, part), part, host);
        way.at()->untouched = false;
        locked->any_exposed = coherence::any_exposed(locked->directory);
        made.opened = let_kernel_write(*locked, part);
        return copy_view_of(of, *locked, *way.at(), host, made);
    } catch (...) {
        end_view(*locked, host, made);
        throw;
    }
}

native_memory device_handle(core& of, const region& part) {
    const space where = current_device();
    lock locked(of);
    passage(locked,
            {.part = part, .where = where, .what = access::read, .why = cause::device_handle, .verb = "a handle of"})
        .bring();
    if (where == host_as_device && host_may_write(of.options().access)) {
        // The handle is a pointer to the host's copy, too.
        passage(locked,
                {.part = part, .where = host, .what = access::read, .why = cause::host_pointer, .keeps_to_mode = false})
            .bring();
        expose_host_pointer(*locked, part);
    }
    pause_for_pointer(*locked, where, part);
    locked->holds.readers_at(where.id()).add_pointer(locked->whole());
    locked->hand_out(where);
    const copy& its_copy = *locked->copies.find(where.id());
    return {.where = where, .handle = its_copy.handle(), .offset = part.begin(), .bytes = part.hull().size()};
}

void end_device_handles(core& of) {
    lock locked(of);
    end_device_handles(*locked);
}

copy_view begin_copy_view(core& of, space where, const region& part) {
    const cause why = where == host ? cause::host_pointer : cause::device_handle;
    lock locked(of);
    passage way(
        locked,
        {.part = part, .where = where, .what = access::read, .why = why, .verb = "a view of", .keeps_to_mode = false});
    way.bring();
    poison_unseen(*locked, *way.at(), part);
    const held_view& made = locked->holds.add_view(locked->holds.readers_at(where.id()), part);
    return copy_view_of(of, *locked, *way.at(), where, made);
}

copy_view hold_copy(core& of, space where, const region& part) {
    lock locked(of);
    const copy* const its_copy = locked->copies.find(where.id());
    check_allocated(*locked, its_copy, where, "to hold it");
    poison_unseen(*locked, *its_copy, part);
    const held_view& made = locked->holds.readers_at(where.id()).add_view({part});
    return copy_view_of(of, *locked, *its_copy, where, made);
}

copy_view capture_upload(core& of, access_request request) {
    const byte_range range = request.part.hull();
    if (!request.part.is_range()) {
        throw error(error_code::unsupported,
                    fmt::format("{}: {} was asked for, but only uploads of bytes that follow each other are captured",
                                of.name(), describe(request)));
    }
    request.asks_holders = false;  // what they write is what the graph is to take
    lock locked(of);
    check_no_writer(*locked, request);
    // What an access would queue goes beside the capture, on a queue that nothing waits for.
    const queue captured = std::exchange(request.on, {backends::device_of(request.where).own_queue()});
    passage way(locked, request);
    way.keep_others_off();
    held_view& made = locked->holds.readers_at(request.where.id()).add_view({range});
    try {
        // No launch is ordered with what is under way: work on the device, a transfer to the host.
        wait_for_all_work(locked, request.part, {.part = request.part, .where = host, .waits = request.waits});
        check_no_writer(*locked, request);
        check_host_is_newest(*locked, request);
        const std::byte* const at_host = locked->copies.find(coherence::host)->memory->host_address();
        if (!locked->shares_host(request.where)) locked->holds.add_upload(made, range, request.where);
        way.at()->memory->capture_write(range.begin, {at_host + range.begin, range.size()}, captured);
        locked->copies.find(coherence::host)->memory->hand_out();
        return copy_view_of(of, *locked, *way.at(), request.where, made);
    } catch (...) {
        locked->holds.end_view(request.where.id(), made);
        throw;
    }
}

void end_copy_view(core& of, space where, view_tag tag) noexcept {
    holder gone;  // is destroyed after the lock
    lock locked(of);
    if (tag.holder != 0) gone = locked->holds.remove_holder(tag.holder);
    end_view(*locked, where, view_of(tag));
}

void end_programs_writes(guarded& state) {
    if (state.holds.host_is_held_for_writing()) state.holds.writers_of_host().end_pointers(state.whole());
    end_pause_of_pointers(state, host, state.whole());
    coherence::expose(state.directory, state.whole(), coherence::pointers::none);
}

void check_no_pointers(guarded& state, const region& part, const char* verb) {
    if (!state.holds.host_is_held_for_writing(part)) return;
    const char* const held =
        state.holds.writers_of_host().any_view(part)
            ? "arrays or views of the host's copy are held, also what is left of a block: drop them"
        : state.has_programs_memory()
            ? "it is memory of the program's own, which may write it at any time: discard all of the copy at host, "
              "which gives it back"
            : "pointers to the host's copy are out: call release_host";
    throw error(error_code::access_conflict, fmt::format("{}: {} was asked for, but {}", state.name(), verb, held));
}

}  // namespace unibuf::detail

namespace unibuf {

buffer buffer::over(std::span<std::byte> memory, std::shared_ptr<void> keep, const buffer_options& options) {
    if (memory.size() > detail::most_bytes ||
        !detail::sum(reinterpret_cast<std::uintptr_t>(memory.data()), memory.size())) {
        throw error(error_code::invalid_argument,
                    fmt::format("{} bytes of the program's do not fit behind their address", memory.size()));
    }
    const auto known = system::mappings_of(memory);
    const auto refuse = [&](const char* why) {
        throw error(error_code::invalid_argument, fmt::format("{} bytes at {} were given {}", memory.size(),
                                                              static_cast<const void*>(memory.data()), why));
    };
    if (known && !known->all_readable) refuse("for a buffer, and the system lets nobody read all of them");
    if (known && !known->all_writable && options.access != host_access::constant) {
        refuse(
            "to be written, and the system lets nobody write all of them: give them for reading "
            "(std::span<const T>, host_access::constant)");
    }
    buffer made(new detail::core(memory.size(), options), 0, memory.size());
    detail::core& core = detail::core_of(made.gate_);
    auto kept = std::make_shared<detail::taken_memory>(std::move(keep), memory, core.name());
    const bool is_own = known && known->all_private;
    detail::adopt(core, std::make_unique<backends::callers_memory>(memory, std::move(kept), is_own));
    return made;
}

void copy_view::release() noexcept {
    if (!gate_) return;
    auto& core = static_cast<detail::core&>(*std::exchange(gate_, nullptr));
    detail::end_copy_view(core, native_.where, tag_);
    core.drop_handle();
    native_ = {};
    data_ = nullptr;
}

void copy_view::held_by(holder who) {
    if (gate_) return detail::name_holder(core_of(gate_), native_.where, std::move(who), tag_);
    throw error(error_code::invalid_argument, "a view that has ended was given a holder");
}

}  // namespace unibuf
