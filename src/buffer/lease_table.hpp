// buffer/lease_table.hpp: the leases of one buffer that went by its lock, and which exclude each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coherence/byte_range.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"

namespace unibuf::detail {

struct lease_record {
    std::uint64_t ticket = 0;
    byte_range range{};
    queue on{};
    std::uint32_t thread = 0;
    space where{};
    access what = access::read;
    bool claim = false;  // an access that is moving bytes: excludes all others of its range

    bool excludes(byte_range other, access other_what) const noexcept {
        return range.overlaps(other) && (claim || what != access::read || other_what != access::read);
    }
};

/// "a write lease of bytes [0, 64) at host"
std::string describe(const lease_record& lease);

/// Not thread-safe: the buffer's lock guards it.
class lease_table {
public:
    bool empty() const noexcept { return records_.empty(); }
    std::size_t size() const noexcept { return records_.size(); }

    /// Gives the record a ticket, and keeps it.
    std::uint64_t add(lease_record record);

    /// Takes the record out.
    lease_record remove(std::uint64_t ticket) noexcept;

    /// A lease that excludes this access: one of the same thread if there is one. Null where there is none.
    const lease_record* excluding(byte_range range, access what, std::uint32_t thread) const noexcept;

    /// Whether some access is moving bytes.
    bool any_claim() const noexcept;

    /// Whether anybody has a lease of some bytes there; or the calling thread.
    bool any_at(space where) const noexcept;
    bool of_this_thread_at(space where) const noexcept;

    /// Whether any lease but that of `ticket` has a byte of it.
    bool any_other(byte_range range, std::uint64_t ticket) const noexcept;

private:
    std::vector<lease_record> records_;
    std::uint64_t last_ = 0;
};

}  // namespace unibuf::detail
