// tracking/host_writes.hpp: what the program writes through pointers into the host's copy, found and told to the
// directory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "coherence/directory.hpp"
#include "tracking/held_ranges.hpp"
#include "tracking/policy.hpp"
#include "tracking/unit_images.hpp"
#include "tracking/units.hpp"
#include "tracking/watch.hpp"
#include "unibuf/options.hpp"

namespace unibuf::detail {

/// Of one buffer, from the first pointer on. Not thread-safe: the buffer's lock guards it.
///
/// What is found in a unit (a page, or a line) may lie outside the range of the access that looks: others may be moving
/// those bytes right now. It is kept until an access of them takes it.
class host_writes {
public:
    /// `writers` are those who hold pointers. What was written through pointers that have ended is found by the next
    /// access of those bytes: then the directory knows that they have. `by` is null where writes are not found: then
    /// the host is taken for written.
    host_writes(coherence::directory& known, const held_ranges& writers, std::span<std::byte> host,
                std::unique_ptr<tracking::watch> by);

    /// Pointers into `range`, of which the host's copy is current, are given out. `untouched`: nobody has written that
    /// copy since it was allocated, and it was zero then.
    void expose(byte_range range, bool untouched);

    /// The memory was used before: bytes that nobody has written were made zero.
    void memory_was_used() noexcept {
        used_ = true;
        if (watch_) watch_->was_used();
    }

    /// Else the host is taken for written.
    bool finds_writes() const noexcept { return watch_ != nullptr; }

    /// Bytes that nobody has written have no value that a write could leave as it was.
    void values_are_unknown() noexcept { values_known_ = false; }

    /// The host has become current in some of `range`, which it looked for by find(): what is held of that is exposed
    /// again.
    void expose_again(byte_range range);

    /// Before an access: tells what was written of `range` until now. Where it is not at the host, it is settled what
    /// is watched until the next one, and that begins now, before any byte is copied.
    void find(byte_range range, space where, access what);

    /// What a write to `range` may be found by: all units that it has a byte of.
    byte_range around(byte_range range) const noexcept { return watch_ ? units_.around(range) : range; }

    /// What the directory would tell now, with what was written everywhere.
    coherence::directory look();

    /// A device is about to be the only one that is current in `range`; what was found until now has been told. Writes
    /// of the host are conflicts from now on; not where they `share` the memory, where nobody can tell them from the
    /// device's own.
    void before_device_writes(byte_range range, bool share);

    /// What before_device_writes prepared has come to pass: a device has newer content in all of `range`. It may also
    /// never come, where the access is refused; then all that was known before is still known.
    void device_has_written(byte_range range);

    /// Forgets what was written of `range` until now: somebody has said what stands.
    void forget(byte_range range);

    /// While unibuf itself writes `range` of the host's copy: so that this is not taken for the program's writes, and
    /// the program's own beside it are not lost.
    class own_write {
    public:
        own_write(host_writes& in, byte_range range);
        ~own_write();
        own_write(own_write&& other) noexcept;
        own_write& operator=(own_write&& other) noexcept;

    private:
        host_writes* in_ = nullptr;
        byte_range range_{};
        byte_ranges inner_;              // not watched meanwhile
        std::vector<byte_range> edges_;  // units that have other bytes too
    };

private:
    void scan(const byte_ranges& ranges);
    void collect(byte_range range);
    void apply_pending(byte_range range);
    void end_free(byte_range range);
    void decide(byte_range part, std::size_t written);
    void arm(byte_range range);
    void take_image(byte_range unit, byte_range part);
    void refresh_image(byte_range unit);
    void forget_images(byte_range range);

    /// Whether a device has newer content in some watched byte of the unit.
    bool newer_elsewhere(byte_range unit) const {
        return known_.any(unit, [](const coherence::knowledge& k) {
            return k.watched() && !coherence::has(k.current, coherence::host);
        });
    }

    void give_up();

    coherence::directory& known_;
    const held_ranges& writers_;
    std::span<std::byte> host_;
    std::unique_ptr<tracking::watch> watch_;
    tracking::units units_;
    bool values_known_ = true;
    bool used_ = false;    // before the first pointer
    byte_ranges pending_;  // found, and not told yet
    byte_ranges unseen_;   // written by a device that shares the memory: what comes after the host sees that is found
    unit_images images_;
    std::vector<tracking::part_history> parts_;
};

}  // namespace unibuf::detail
