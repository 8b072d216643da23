// coherence/transitions.hpp: how the directory changes when something has happened. Pure.
//
// Each transition is defined for a single byte, and applied to all bytes of a region:
// tests/unit/coherence_model_test.cpp takes every one of them from every state that a byte can reach.
//
// A transition of a directory throws std::bad_alloc before anything has changed, or not at all. One of a promise that
// was made before (directory.hpp) needs no memory: it is for what can no longer be refused.
#pragma once

#include "coherence/plan.hpp"

namespace unibuf::coherence {

/// Notes that the step `done` has been carried out, on all of `parts`, or on its own part.
void complete(directory& map, const sharing& memories, const step& done, std::span<const region> parts);
void complete(directory& map, const sharing& memories, const step& done);
void complete(const directory::promise& in, const sharing& memories, const step& done, const region& part) noexcept;

/// Notes that the space `where` holds the newest content of `part` from now on, and nobody else does.
void wrote(directory& map, const region& part, space_id where);
void wrote(const directory::promise& in, const region& part, space_id where) noexcept;

/// Notes that the device `where`, which has a standing hold of `part`, may write it from now on whenever it likes,
/// unseen.
void open(directory& map, const region& part, space_id where);
void open(const directory::promise& in, const region& part, space_id where) noexcept;

/// Notes that the writers of bytes that are open have become quiet: the content stands until they are opened again.
void pause(directory& map, const region& part);

/// Notes that pointers to the host's copy of `ranges` are out, or no longer; `how` tells what is known of writes
/// through them.
void expose(directory& map, const byte_ranges& ranges, pointers how);

/// Notes that pointers to the host's copy of `part` are out, through which writes are not found.
void expose_unseen(directory& map, const region& part);

/// Notes that no pointers to the host's copy of `part` are out any more. What nobody looked for is taken for written;
/// contested bytes stay as they are, until it is settled which version stands.
void end_pointers(directory& map, const region& part);

/// Notes that nothing is found any more that is written through pointers to `part`: from now on it is assumed.
void stop_watching(directory& map, const region& part);
void stop_watching(const directory::promise& in, const region& part) noexcept;

bool any_exposed(const directory& map);

/// Notes the host as having written where nobody finds out what was written through pointers.
void assume_host_writes(directory& map, const region& part);

/// Notes that `ranges` were written through pointers. Where a space has newer content than the host, both stay, and are
/// contested.
void found_host_writes(directory& map, const byte_ranges& ranges);

/// Returns whether the host and `where` have different newest versions; of the host, whether it and any device have.
bool is_contested_at(const knowledge& k, space_id where) noexcept;

/// Drops the version of `where` where two are newest, and does nothing elsewhere.
void settle_without(directory& map, const region& part, space_id where);

/// Notes that the space `where` no longer holds `part`. REQUIRES: only_at is empty there.
void drop(directory& map, const region& part, space_id where);

/// Notes that `where` is about to overwrite `part` in the memory that the spaces `group` share. However far that gets,
/// no two spaces disagree about a byte until it is told that it was done:
///
///  1. Where another memory has the content, or nobody has written (that is zero anywhere), none of the group stays
///     current.
///  2. Else one of the group alone does, which sees old bytes and new ones: not `where`, if another is there.
///  3. But where pointers are out, and the host is current and of the group, the host alone does: a store beside bytes
///     that a device alone has would be a conflict.
///
/// Contested bytes stay so.
void about_to_overwrite(const directory::promise& in, const region& part, space_id where, space_set group,
                        bool pointers_are_out) noexcept;

/// Notes that a memory that two spaces use by turns was `from`'s and is `to`'s now, with all that is current in it.
void hand_over(directory& map, space_id from, space_id to);

/// Notes that what was on its way to the space `where` has failed: `part` is not current there, and where it was
/// nowhere else, it is lost.
void did_not_arrive(directory& map, const region& part, space_id where);

/// Notes that nobody has written `part` any more.
void drop_content(directory& map, const region& part);

// Each of these returns the range from the first byte to the last of a piece of `part` of which it holds; empty where
// there is none.

/// Bytes that are contested.
byte_range contested_in(const directory& map, const region& part);

/// Bytes that are lost.
byte_range lost_in(const directory& map, const region& part);

/// Bytes whose only current copy is at `where`, or which pointers into that copy may yet make so: it must not be
/// dropped.
byte_range only_at(const directory& map, const region& part, space_id where);
bool is_only_at(const knowledge& k, space_id where) noexcept;

}  // namespace unibuf::coherence
