// bench/growth/holds.cpp: leases and views of parts of one buffer, among others of it.
#include <unibuf/unibuf.hpp>

#include <array>
#include <memory>
#include <vector>

#include "count.hpp"
#include "curve.hpp"

namespace growth::holds {
namespace {

using unibuf::access_options;
using unibuf::byte_lease;
using unibuf::space;

constexpr std::size_t part = 64;  // bytes from the begin of one part to that of the next
constexpr std::array written{std::byte{1}};
constexpr std::size_t held = 32;  // bytes of it that somebody holds

access_options of_part(std::size_t index) { return {.offset = index * part, .count = held}; }

/// A buffer of one part more than `alive`, current at the host and at `where`.
struct parts {
    parts(std::size_t alive, space where) : buffer((alive + 1) * part), last(alive) {
        buffer.fill(written);
        buffer.read(where).release();
    }

    unibuf::buffer buffer;
    std::size_t last;
};

template <class Held>
struct parts_held : parts {
    using parts::parts;
    std::vector<Held> all;
};

std::function<void()> lease_among_leases(std::size_t alive, space where, unibuf::access what) {
    const auto of = std::make_shared<parts_held<byte_lease>>(alive, where);
    for (std::size_t i = 0; i < alive; ++i) of->all.push_back(of->buffer.acquire(where, what, of_part(i)));
    return [=] { of->buffer.acquire(where, what, of_part(of->last)).end(); };
}

const curve host_leases("holds.host_leases", logarithmic, [](std::size_t alive) {
    return lease_among_leases(alive, unibuf::host, unibuf::access::write);
});
const curve device_leases("holds.device_leases", logarithmic, [](std::size_t alive) {
    return lease_among_leases(alive, space("debug:0"), unibuf::access::write);
});
const curve readers("holds.readers", logarithmic,
                    [](std::size_t alive) { return lease_among_leases(alive, unibuf::host, unibuf::access::read); });

const curve views("holds.host_views", logarithmic, [](std::size_t alive) {
    const auto of = std::make_shared<parts_held<unibuf::host_view<std::byte>>>(alive, space("debug:0"));
    for (std::size_t i = 0; i < alive; ++i) of->all.push_back(of->buffer.host_view(i * part, held));
    return [=] { cost::use(of->buffer.host_view(of->last * part, held).data()); };
});

/// Views from the first byte on, so that all of them overlap.
const curve overlapping("holds.overlapping_views", logarithmic, [](std::size_t alive) {
    const auto of = std::make_shared<parts_held<unibuf::host_view<std::byte>>>(alive, space("debug:0"));
    for (std::size_t i = 0; i < alive; ++i) of->all.push_back(of->buffer.host_view(0, (i + 1) * part));
    return [=] { cost::use(of->buffer.host_view(0, held).data()); };
});

/// Work that nobody ends before the process does.
class endless final : public unibuf::fence::work {
public:
    bool wait(std::chrono::nanoseconds) override { return false; }
};

/// A lease that leaves its own work behind, among parts that are busy.
const curve queued("holds.queued_work", logarithmic, [](std::size_t alive) {
    const space where("debug:0");
    const auto of = std::make_shared<parts>(alive, where);
    const unibuf::fence never(std::make_shared<endless>());
    for (std::size_t i = 0; i < alive; ++i) of->buffer.write(where, of_part(i)).release(never);
    return [=] { of->buffer.write(where, of_part(of->last)).release(); };
});

}  // namespace
}  // namespace growth::holds
