// buffer/pointer_holders.hpp: who may still write the host's copy through a pointer.
#pragma once

#include <vector>

#include "coherence/byte_ranges.hpp"

namespace unibuf::detail {

/// Pointers that are out: those of host(), which end all at once, and those of views, which end one by one.
class pointer_holders {
public:
    void add_pointer(byte_range range) { pointers_.add(range); }
    void add_view(byte_range range) { views_.push_back(range); }

    void end_pointers(byte_range range) { pointers_.take_out(range); }
    void end_view(byte_range range) noexcept;

    bool any() const noexcept { return !pointers_.empty() || !views_.empty(); }
    bool any(byte_range range) const noexcept;

    /// By pointers of host(), which cover all of it.
    bool for_good(byte_range range) const noexcept { return pointers_.bytes_in(range) == range.size(); }

    /// What of `range` somebody holds.
    byte_ranges of(byte_range range) const;

private:
    byte_ranges pointers_;
    std::vector<byte_range> views_;
};

}  // namespace unibuf::detail
