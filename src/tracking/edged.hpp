// tracking/edged.hpp: a watch over memory that begins and ends within pages which hold other things, too.
#pragma once

#include "tracking/pages.hpp"
#include "tracking/shadow.hpp"

namespace unibuf::tracking {

/// The kernel watches the whole pages inside; the two ends are compared, as the kernel would take for written what
/// somebody else writes into their pages. Each end is one unit.
class edged_watch final : public watch {
public:
    /// Returns the whole pages that `memory` has all of.
    static byte_range whole_pages_of(std::span<std::byte> memory) noexcept;

    /// The whole pages of `memory` have been added to the kernel, and stay so until the watch ends.
    explicit edged_watch(std::span<std::byte> memory) : edged_watch(memory, whole_pages_of(memory)) {}

    units in_units() const noexcept override;
    bool compares() const noexcept override { return false; }
    byte_ranges compared() const override;
    bool compares_any_of(byte_range range) const noexcept override;
    void copy_images(byte_range range, std::byte* to) const noexcept override;
    void arm(byte_range range) override;
    void disarm(byte_range range) override;
    void scan(byte_range range, std::vector<byte_range>& written) override;
    bool any_written(byte_range range) override;
    void was_used() noexcept override { inside_.was_used(); }
    void touched(byte_range range, std::vector<byte_range>& found) override;
    void arm_fresh(byte_range range, std::vector<byte_range>& found) override;

private:
    /// Where there is none, its range is empty.
    struct end {
        end(std::span<std::byte> memory, byte_range at) : range(at), by(memory.subspan(at.begin, at.size())) {}
        bool has_any_of(byte_range other) const noexcept { return range.overlaps(other); }
        byte_range all() const noexcept { return {0, range.size()}; }

        byte_range range;
        shadow_watch by;
    };

    edged_watch(std::span<std::byte> memory, byte_range pages);

    byte_range inside(byte_range range) const noexcept;

    template <class Look>
    void look(byte_range range, std::vector<byte_range>& found, Look at);

    std::size_t bytes_;
    byte_range pages_;
    end before_;
    page_watch inside_;
    end after_;
    std::vector<byte_range> seen_;  // what was found of a part, and not told yet
};

}  // namespace unibuf::tracking
