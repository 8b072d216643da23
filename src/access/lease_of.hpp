// access/lease_of.hpp: what a caller gets of a lease.
#pragma once

#include "access/access_request.hpp"
#include "buffer/core.hpp"

namespace unibuf::detail {

/// Returns the lease that the hold `ticket` is, as it was asked for. `its_copy` is the one at its space.
inline byte_lease lease_of(core& of, const copy& its_copy, const access_request& request,
                           std::uint64_t ticket) noexcept {
    std::byte* const address = its_copy.address();
    const native_memory native{.where = request.where,
                               .handle = its_copy.handle(),
                               .offset = request.part.begin(),
                               .bytes = request.part.hull().size()};
    return byte_lease(of, ticket << 1 | gate::by_lock, request.what, address ? address + request.part.begin() : nullptr,
                      native);
}

}  // namespace unibuf::detail
