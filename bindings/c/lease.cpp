// lease.cpp: leases that lie with the caller.
#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <unibuf/error.hpp>
#include <unibuf/lease_together.hpp>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "handles.hpp"

using unibuf::byte_lease;

static_assert(sizeof(byte_lease) <= sizeof(unibuf_lease::reserved) && alignof(byte_lease) <= alignof(std::uint64_t));

namespace unibuf::c {
namespace {

/// Returns whether the lease holds anything: its first word is its buffer then.
bool is_held(const unibuf_lease& lease) noexcept { return lease.reserved[0] != 0; }

byte_lease* held_by(unibuf_lease& lease) noexcept {
    return std::launder(reinterpret_cast<byte_lease*>(&lease.reserved[0]));
}

/// Makes a lease of what `take` returns, in the place where it stays.
template <class Take>
void put(unibuf_lease& lease, const Take& take) {
    const byte_lease* const taken = new (&lease.reserved[0]) byte_lease(take());
    lease.data = taken->address();
    lease.native = shown(taken->native());
}

void forget_bytes(unibuf_lease& lease) noexcept {
    lease.data = nullptr;
    lease.native = {};
}

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_acquire(unibuf_buffer* buffer, unibuf_space where, unibuf_access access,
                             const unibuf_access_options* options, unibuf_lease* lease) {
    const unibuf_status status = attempt([&] {
        put(given(lease, "a place for the lease"), [&] {
            unibuf::buffer& of = bytes_of(buffer);
            return of.acquire(space_of(where), access_of(access), access_options_of(of, options));
        });
    });
    if (status != UNIBUF_OK && lease) *lease = UNIBUF_LEASE_INIT;
    return status;
}

unibuf_status unibuf_acquire_together(const unibuf_wanted_lease* wanted, size_t count, unibuf_lease* leases) {
    return attempt([&] {
        if (count == 0) return;
        const std::span places = list_of(leases, count, "a place for the leases");
        std::ranges::fill(places, unibuf_lease UNIBUF_LEASE_INIT);
        given(wanted, "a list of leases");

        std::vector<unibuf::wanted_byte_lease> all;
        for (std::size_t i = 0; i < count; ++i) {
            const unibuf_wanted_lease& each = wanted[i];
            unibuf::buffer& of = bytes_of(each.buffer);
            all.push_back({&of, space_of(each.where), access_of(each.access), access_options_of(of, each.options)});
        }
        std::vector<byte_lease> taken(count);
        unibuf::lease_together(all, taken);
        for (std::size_t i = 0; i < count; ++i) put(leases[i], [&] { return std::move(taken[i]); });
    });
}

void unibuf_release(unibuf_lease* lease) {
    if (!lease || !is_held(*lease)) return;
    held_by(*lease)->end();
    forget_bytes(*lease);
}

unibuf_status unibuf_release_after(unibuf_lease* lease, const unibuf_fence* done) {
    return attempt([&] {
        const unibuf::fence& work = given(done, "a fence").work;
        if (!is_held(given(lease, "a lease"))) {
            throw unibuf::error(unibuf::error_code::invalid_argument,
                                "a lease that holds nothing was to end with an event");
        }
        held_by(*lease)->end(work);
        forget_bytes(*lease);
    });
}
