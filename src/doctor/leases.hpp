// doctor/leases.hpp: the leases of one buffer, and for which of them another access has waited.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "unibuf/trace.hpp"

namespace unibuf::doctor {

/// The ends of leases, and the accesses that began some. The events, oldest first, outlive it.
class leases {
public:
    explicit leases(std::span<const event* const> of);

    /// Returns the lease that ended last of those that a wait was for; null where that is not known.
    const event* awaited_by(const event& wait) const;

    /// Returns the access that began a lease; null where that is not known.
    const event* begin_of(const event& end) const;

private:
    using key = std::tuple<std::uint8_t, access, std::uint64_t, std::uint64_t>;

    static key key_of(const event& of) { return {of.to, of.what, of.begin, of.end}; }

    std::vector<const event*> ends_;
    std::map<key, std::vector<const event*>> begins_;
};

}  // namespace unibuf::doctor
