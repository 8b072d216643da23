// doctor/versions.hpp: the versions of a buffer's bytes, each from one write to the next, and what it takes to show
// them to all who use them.
//
// Memories are nodes. Between the host's and a device's there is a link; between two devices' where bytes have gone
// that way. Bytes cross a link at most once for each version, so a version costs the links of the smallest tree that
// joins where it was written with all who used it.
#pragma once

#include <array>
#include <cstdint>

#include "doctor/byte_map.hpp"
#include "unibuf/space.hpp"

namespace unibuf::doctor {

/// A bit for each memory, by the space::id() of its owner.
using memory_set = std::uint32_t;
static_assert(max_spaces == 32);

/// Links between the memories of devices. That of the host has one to each.
class links {
public:
    void add(std::uint8_t one, std::uint8_t other) noexcept {
        of_[one] |= memory_set{1} << other;
        of_[other] |= memory_set{1} << one;
    }

    /// Returns how many links the smallest tree has that joins the memories, by way of the host where that is needed.
    std::uint64_t of_tree(memory_set memories) const noexcept;

private:
    std::array<memory_set, max_spaces> of_{};  // the memories that each has a link to
};

class versions {
public:
    /// Notes that some bytes were used in a memory.
    void use(std::uint64_t begin, std::uint64_t end, std::uint8_t memory);

    /// Notes that they were written there. Adds to `least` what the versions before have cost.
    void write(std::uint64_t begin, std::uint64_t end, std::uint8_t memory);

    /// Notes that they have a value that needs no link, as after a fill.
    void make_everywhere(std::uint64_t begin, std::uint64_t end);

    links& between() noexcept { return links_; }

    /// Returns what all versions cost until now.
    std::uint64_t least() const noexcept;

private:
    struct version {
        memory_set memories = 0;  // where it was written, and used
        bool everywhere = true;
        friend bool operator==(const version&, const version&) = default;
    };

    std::uint64_t cost_of(const version& of) const noexcept;

    byte_map<version> all_;
    std::uint64_t ended_ = 0;  // what versions have cost that are no more
    links links_;
};

}  // namespace unibuf::doctor
