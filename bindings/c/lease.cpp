// lease.cpp: leases that lie with the caller, and copies that are held in place.
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <unibuf/error.hpp>
#include <unibuf/lease_together.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "convert.hpp"
#include "handles.hpp"

using unibuf::byte_lease;

static_assert(sizeof(byte_lease) <= sizeof(unibuf_lease::reserved) && alignof(byte_lease) <= alignof(std::uint64_t));

struct unibuf_held {
    std::variant<unibuf::host_view<std::byte>, unibuf::copy_view> copy;
    std::size_t bytes;
};

namespace unibuf::c {
namespace {

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

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_acquire(unibuf_buffer* buffer, unibuf_space where, unibuf_access access,
                             const unibuf_access_options* options, unibuf_lease* lease) {
    const unibuf_status status = attempt([&] {
        put(given(lease, "a place for the lease"),
            [&] { return bytes_of(buffer).acquire(space_of(where), access_of(access), access_options_of(options)); });
    });
    if (status != UNIBUF_OK && lease) *lease = UNIBUF_LEASE_INIT;
    return status;
}

unibuf_status unibuf_acquire_together(const unibuf_wanted_lease* wanted, size_t count, unibuf_lease* leases) {
    return attempt([&] {
        if (count == 0) return;
        given(leases, "a place for the leases");
        for (std::size_t i = 0; i < count; ++i) leases[i] = UNIBUF_LEASE_INIT;
        given(wanted, "a list of leases");

        std::vector<unibuf::wanted_byte_lease> all;
        for (std::size_t i = 0; i < count; ++i) {
            const unibuf_wanted_lease& each = wanted[i];
            all.push_back({&bytes_of(each.buffer), space_of(each.where), access_of(each.access),
                           access_options_of(each.options)});
        }
        std::vector<byte_lease> taken(count);
        unibuf::lease_together(all, taken);
        for (std::size_t i = 0; i < count; ++i) put(leases[i], [&] { return std::move(taken[i]); });
    });
}

void unibuf_release(unibuf_lease* lease) {
    // The first word of a lease that is held is its buffer.
    if (!lease || lease->reserved[0] == 0) return;
    held_by(*lease)->end();
    lease->data = nullptr;
    lease->native = {};
}

unibuf_status unibuf_hold(unibuf_buffer* buffer, unibuf_space where, size_t offset, size_t size, unibuf_held** held) {
    return attempt([&] {
        hand_out(held, "a place for what is held", [&]() -> unibuf_held {
            unibuf::buffer& bytes = bytes_of(buffer);
            const unibuf::space at = space_of(where);
            if (at == unibuf::host && bytes.options().access != unibuf::host_access::read_only) {
                auto view = bytes.host_view(offset, size);
                const std::size_t count = view.size();
                return {std::move(view), count};
            }
            auto view = bytes.copy_view(at, offset, size);
            const std::size_t count = view.native().bytes;
            return {std::move(view), count};
        });
    });
}

unibuf_status unibuf_held_native(const unibuf_held* held, unibuf_native* native) {
    return attempt([&] {
        unibuf_native& result = given(native, "a place for the handle");
        const auto& copy = given(held, "what is held").copy;
        if (const auto* view = std::get_if<unibuf::copy_view>(&copy)) {
            result = shown(view->native());
        } else {
            result = {UNIBUF_HOST, reinterpret_cast<std::uintptr_t>(unibuf_held_data(held)), 0, held->bytes};
        }
    });
}

void* unibuf_held_data(const unibuf_held* held) {
    if (!held) return nullptr;
    return std::visit([](const auto& view) -> void* { return view.data(); }, held->copy);
}

void unibuf_let_go(unibuf_held* held) { delete held; }

unibuf_status unibuf_native_address(const unibuf_native* native, void** address) {
    return answer(address, "a place for the address",
                  [&] { return native_of(given(native, "a handle")).as<std::byte>(); });
}
