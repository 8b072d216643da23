// support/standing_rules.hpp: which bytes the device of one standing hold has, by docs/concepts.md alone.
//
// Each byte has a set of reasons why the device may not use it now. The device has the bytes that have no reason and
// that nobody leases. Something that is not known counts as a reason, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "coherence/byte_range.hpp"
#include "unibuf/options.hpp"

namespace unibuf::test {

/// The spaces of a history. The host in the place of a device is a space of its own, as in the directory.
enum place : std::uint8_t { at_host, at_host_as_device, at_first, at_second };
inline constexpr std::size_t places = 4;

class standing_rules {
public:
    /// Makes the rules of a hold. With `told`, bytes go back with resume() alone. `all` is how many bytes the buffer
    /// has.
    standing_rules(place where, byte_range range, access what, bool told, std::size_t all)
        : where_(where), range_(range), what_(what), told_(told), kept_(all) {}

    place where() const { return where_; }
    byte_range range() const { return range_; }
    bool only_reads() const { return what_ == access::read; }

    /// Notes that an access at `at` has asked for bytes.
    void take(byte_range asked, place at) {
        if (told_ && at != where_) keep(asked, taken);
    }

    /// Notes that an access has asked for bytes at a place that is not known.
    void may_take(byte_range asked) {
        if (told_) keep(asked, unsure);
    }

    // These note that a pointer or a handle is given out, or a range of a view that `name` stands for, and that they
    // end.
    void point(byte_range asked, place at) {
        if (at != where_) keep(asked, pointer_at(at));
    }
    void end_pointers(byte_range asked, place at) { give(asked, pointer_at(at)); }
    void show(std::uint64_t name, byte_range asked, place at) {
        if (at != where_) shown_.emplace(name, asked);
    }
    void end_shown(std::uint64_t name) { shown_.erase(name); }

    void pause() { keep(range_, taken); }
    void resume() {
        kept_.assign(kept_.size(), 0);
        shown_.clear();
    }

    /// Notes that something has failed: until the hold is resumed nobody knows which bytes the device has.
    void doubt() { doubt(range_); }
    void doubt(byte_range part) { keep(part, unsure); }

    /// Returns whether the device may use this byte, unless somebody leases it.
    bool may_have(std::size_t at) const { return kept_[at] == 0 && !is_shown(at); }

    /// Returns whether somebody elsewhere surely keeps this byte from the device.
    bool is_kept(std::size_t at) const { return (kept_[at] & ~unsure) != 0 || is_shown(at); }

    bool is_unsure(std::size_t at) const { return (kept_[at] & unsure) != 0; }

private:
    using reasons = std::uint8_t;
    static constexpr reasons taken = 1;
    static constexpr reasons unsure = 2;
    static reasons pointer_at(place at) { return static_cast<reasons>(4u << at); }

    void keep(byte_range asked, reasons why) {
        const byte_range own = asked.clipped_to(range_);
        for (std::size_t at = own.begin; at < own.end; ++at) kept_[at] |= why;
    }
    void give(byte_range asked, reasons why) {
        const byte_range own = asked.clipped_to(range_);
        for (std::size_t at = own.begin; at < own.end; ++at) kept_[at] &= static_cast<reasons>(~why);
    }
    bool is_shown(std::size_t at) const {
        for (const auto& [name, range] : shown_) {
            if (range.begin <= at && at < range.end) return true;
        }
        return false;
    }

    place where_;
    byte_range range_;
    access what_;
    bool told_;
    std::vector<reasons> kept_;
    std::multimap<std::uint64_t, byte_range> shown_;
};

}  // namespace unibuf::test
