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

/// Ends the oldest of the views, and gives one more.
const curve rolling("holds.views_that_roll", logarithmic, [](std::size_t alive) {
    const auto of = std::make_shared<parts_held<unibuf::host_view<std::byte>>>(alive, space("debug:0"));
    for (std::size_t i = 0; i < alive; ++i) of->all.push_back(of->buffer.host_view(0, (i + 1) * part));
    return [=, next = std::size_t{0}]() mutable {
        const std::size_t index = next++ % of->all.size();
        of->all[index] = of->buffer.host_view(0, (index + 1) * part);
    };
});

/// One lease of many that are taken, beside those that the same call takes.
const curve together("holds.lease_together", linear, [](std::size_t alive) {
    const auto of = std::make_shared<parts>(alive, space("debug:0"));
    const auto wanted = std::make_shared<std::vector<unibuf::wanted_byte_lease>>();
    for (std::size_t i = 0; i < alive / 10; ++i) {
        wanted->push_back({&of->buffer, unibuf::host, unibuf::access::write, of_part(i)});
    }
    return [of, wanted] {
        std::vector<byte_lease> taken(wanted->size());
        unibuf::lease_together(*wanted, taken);
    };
});

/// A hold of a device on each part.
std::shared_ptr<parts_held<unibuf::standing_hold>> bound(std::size_t alive, unibuf::access what) {
    const space where("debug:0");
    const auto of = std::make_shared<parts_held<unibuf::standing_hold>>(alive, where);
    for (std::size_t i = 0; i < alive; ++i) of->all.push_back(of->buffer.view(i * part, held).bind(where, what));
    return of;
}

const curve bind_among("holds.bind", logarithmic, [](std::size_t alive) {
    const auto of = bound(alive, unibuf::access::read);
    const auto last = std::make_shared<unibuf::buffer>(of->buffer.view(alive * part, held));
    return [=] { last->bind(space("debug:0"), unibuf::access::read).release(); };
});
const curve read_among("holds.host_read_beside_bound", linear, [](std::size_t alive) {
    const auto of = bound(alive, unibuf::access::read);
    return [=] { of->buffer.read(unibuf::host, of_part(of->last)).release(); };
});
const curve write_bound("holds.host_write_of_bound", linear, [](std::size_t alive) {
    const auto of = bound(alive, unibuf::access::read);
    return [=] { of->buffer.write(unibuf::host, of_part(0)).release(); };
});
const curve read_bound_written("holds.host_read_of_written", linear, [](std::size_t alive) {
    const auto of = bound(alive, unibuf::access::read_write);
    return [=] { of->buffer.read(unibuf::host, of_part(0)).release(); };
});

/// Work that is done when it is handed over.
class done final : public unibuf::fence::work {
public:
    bool wait(std::chrono::nanoseconds) override { return true; }
};

/// The program's own work on a part, which its lease ends with, among parts that are busy.
const curve fenced("holds.release_with_fence", logarithmic, [](std::size_t alive) {
    const space where("debug:0");
    const auto of = std::make_shared<parts>(alive, where);
    const unibuf::fence never(std::make_shared<endless>());
    for (std::size_t i = 0; i < alive; ++i) of->buffer.write(where, of_part(i)).release(never);
    const unibuf::fence own(std::make_shared<done>());
    return [=] { of->buffer.write(where, of_part(of->last)).release(own); };
});

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
