// unibuf/lease_together.hpp: several leases in one call, without deadlock.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include "unibuf/export.hpp"
#include "unibuf/lease.hpp"
#include "unibuf/options.hpp"

namespace unibuf {

class buffer;

/// A lease that lease_together is to take. The buffer has to live until it is taken.
struct wanted_byte_lease {
    const buffer* of;
    space where;
    access what;
    access_options options;
};

/// Does as the other lease_together, for leases whose number is known only when the program runs. The lease for
/// `wanted[i]` is put into `taken[i]`; a lease that is there is held until all are taken, and ends then. Throws
/// error(invalid_argument) where `taken` is shorter than `wanted`.
UNIBUF_API void lease_together(std::span<const wanted_byte_lease> wanted, std::span<byte_lease> taken);

/// Does the same, and calls `start`, where it is not empty, once all of the leases are held, to start their work. Where
/// it throws, they end, and if it has started nothing, the contents are what they were. What is written is newest once
/// `start` has returned; where `start` ends a lease that writes, others have its bytes from then on.
UNIBUF_API void lease_together(std::span<const wanted_byte_lease> wanted, std::span<byte_lease> taken,
                               const std::function<void()>& start);

/// A lease that lease_together is to take: the to_ functions of a buffer give it. The buffer has to live until it is
/// taken.
template <class T>
struct wanted_lease {
    wanted_byte_lease bytes;
};

/// Takes all of these leases, or none: where one fails, nothing has become newest, and nothing is held. Where two of
/// them exclude each other, or one of them a lease of this thread, nothing has moved either.
///
///     auto [from, to] = unibuf::lease_together(image.to_read(gpu), edges.to_write(gpu));
///
/// Threads that take their leases by this call never wait for each other in a circle, whatever the order of the
/// arguments. Leases that were taken before by other calls are not part of that. Wanted leases that exclude each other
/// are error(access_conflict).
template <class... T>
UNIBUF_INLINED inline std::tuple<lease<T>...> lease_together(const wanted_lease<T>&... wanted) {
    const std::array<wanted_byte_lease, sizeof...(T)> all{wanted.bytes...};
    std::array<byte_lease, sizeof...(T)> taken;
    lease_together(std::span<const wanted_byte_lease>(all), std::span<byte_lease>(taken));
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple<lease<T>...>{lease<T>(detail::acquired_by{}, [&] { return std::move(taken[I]); })...};
    }(std::index_sequence_for<T...>());
}

/// An access to a buffer whose space is chosen by whoever takes it: opencl::enqueue, for one. The buffer has to live
/// until then.
struct wanted_access {
    const buffer* of;
    access what;
    access_options options;
};

// Each of these gives a buffer or a view, or the range of it that the options name, for such an access.
template <class Buffer>
wanted_access read(const Buffer& of, const access_options& options = {}) {
    const wanted_byte_lease bytes = of.to_read(host, options).bytes;
    return {bytes.of, bytes.what, bytes.options};
}
template <class Buffer>
wanted_access write(Buffer&& of, const access_options& options = {}) {
    const wanted_byte_lease bytes = of.to_write(host, options).bytes;
    return {bytes.of, bytes.what, bytes.options};
}
template <class Buffer>
wanted_access read_write(Buffer&& of, const access_options& options = {}) {
    const wanted_byte_lease bytes = of.to_read_write(host, options).bytes;
    return {bytes.of, bytes.what, bytes.options};
}

}  // namespace unibuf
