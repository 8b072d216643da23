// memory/moves.cpp: the routes between two memories.
#include "memory/moves.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/pattern.hpp"

namespace unibuf::detail {
namespace {

constexpr std::size_t staging_bytes = std::size_t{4} << 20;

/// Moves bytes between two memories that only the host reaches.
void move_staged(backends::memory& from, byte_range range, backends::memory& to, std::size_t offset) {
    std::vector<std::byte> staging(std::min(range.size(), staging_bytes));
    for (std::size_t done = 0; done < range.size(); done += staging.size()) {
        const std::span piece(staging.data(), std::min(staging.size(), range.size() - done));
        from.read(range.begin + done, piece, {}).wait();
        to.write(offset + done, piece, {}).wait();
    }
}

using backends::rectangle_copy;

/// Returns the same copy with the other end without gaps.
rectangle_copy packed(rectangle_copy rows) noexcept {
    rows.there = rectangle_copy::end::without_gaps(rows.row_bytes, rows.axes, rows.counts);
    return rows;
}

/// Calls act(rectangle_copy, std::byte*) for some of the outermost indices of a rectangle at a time, with memory of the
/// host that has room for them.
template <class Act>
void in_staging(rectangle_copy rows, const Act& act) {
    const rectangle_copy all = rows;
    const std::size_t count = all.axes == 0 ? 1 : all.counts[0];
    const std::size_t each = all.bytes() / count;
    const std::size_t most = std::clamp<std::size_t>(staging_bytes / each, 1, count);
    std::vector<std::byte> staging(most * each);
    for (std::size_t done = 0; done < count; done += most) {
        rows.counts[0] = std::min(most, count - done);
        rows.here.offset = all.here.offset + done * all.here.pitches[0];
        rows.there.offset = all.there.offset + done * all.there.pitches[0];
        act(std::as_const(rows), staging.data());
    }
}

/// Returns the copy of a box from bytes that lie one behind the other; nothing for a range, and where the bytes are
/// some of the memory's own.
std::optional<rectangle_copy> rows_beside(const region& part, const std::byte* memory, const std::byte* packed) {
    const byte_range hull = part.hull();
    const bool is_own = packed < memory + hull.end && memory + hull.begin < packed + part.size();
    if (!part.as_box() || is_own) return std::nullopt;
    return rectangle_between(part, byte_range{0, part.size()});
}

/// Moves a part to the same place in another memory. `host` is the host's memory where that is one of the two.
fence move_part(backends::memory& from, backends::memory& to, std::byte* host, bool to_host, const region& part,
                queue on) {
    if (const box* const of = part.as_box()) {
        if (!host) return move_on_devices(from, to, in_place(*of), on);
        return to_host ? from.read_rectangle(in_place(*of), host, on) : to.write_rectangle(in_place(*of), host, on);
    }
    const byte_range range = part.hull();
    if (!host) return move_on_devices(from, range, to, range.begin, on);
    const std::span bytes(host + range.begin, range.size());
    return to_host ? from.read(range.begin, bytes, on) : to.write(range.begin, bytes, on);
}

}  // namespace

fence move_on_devices(backends::memory& from, byte_range range, backends::memory& to, std::size_t offset, queue on) {
    if (to.takes_from(from)) return to.write_from(from, range.begin, offset, range.size(), on);
    if (!to.host_address()) {
        move_staged(from, range, to, offset);
        return {};
    }
    to.poison_unseen(offset, range.size());
    from.read(range.begin, {to.host_address() + offset, range.size()}, {}).wait();  // not on the target's queue
    return to.publish_to_device(offset, range.size(), access::read, {});
}

rectangle_copy in_place(const box& of) noexcept {
    rectangle_copy result;
    const std::size_t inner = of.last_cut();
    result.row_bytes = of.extent(inner) * of.on.pitch[inner];
    for (std::size_t axis = 0; axis < inner; ++axis) {
        if (of.extent(axis) == 1) continue;
        result.counts[result.axes] = of.extent(axis);
        result.here.pitches[result.axes++] = of.on.pitch[axis];
    }
    result.here.offset = of.first_byte();
    result.there = result.here;
    return result;
}

std::optional<rectangle_copy> rectangle_between(const region& to, const region& from) {
    const auto rows_of = [](const region& part) {
        if (part.as_box()) return in_place(*part.as_box());
        rectangle_copy row{.row_bytes = part.size()};
        row.here.offset = row.there.offset = part.begin();
        return row;
    };
    const auto and_a_range = [](rectangle_copy rows, std::size_t begin) {
        rows.there = rectangle_copy::end::without_gaps(rows.row_bytes, rows.axes, rows.counts);
        rows.there.offset = begin;
        return rows;
    };
    rectangle_copy result = rows_of(to);
    const rectangle_copy other = rows_of(from);
    if (from.is_range()) return and_a_range(result, from.begin());
    if (to.is_range()) return and_a_range(other, to.begin()).turned();
    if (other.row_bytes != result.row_bytes || other.axes != result.axes || other.counts != result.counts) {
        return std::nullopt;
    }
    result.there = other.here;
    return result;
}

void scatter(const region& part, std::byte* memory, const std::byte* packed) {
    if (const auto rows = rows_beside(part, memory, packed)) return backends::copy_rows(*rows, memory, packed);
    part.for_each_run([&](byte_range run) {
        std::memmove(memory + run.begin, packed, run.size());
        packed += run.size();
    });
}

void gather(const region& part, const std::byte* memory, std::byte* packed) {
    if (const auto rows = rows_beside(part, memory, packed)) return backends::copy_rows(rows->turned(), packed, memory);
    part.for_each_run([&](byte_range run) {
        std::memmove(packed, memory + run.begin, run.size());
        packed += run.size();
    });
}

fence move_on_devices(backends::memory& from, backends::memory& to, const rectangle_copy& rows, queue on) {
    if (to.takes_from(from)) return to.write_rectangle_from(from, rows, on);
    if (std::byte* const host = to.host_address()) {
        rows.for_each_row([&](std::size_t here, std::size_t) { to.poison_unseen(here, rows.row_bytes); });
        from.read_rectangle(rows.turned(), host, {}).wait();  // not on the target's queue
        return to.publish_rows_to_device(rows, access::read, {});
    }
    in_staging(rows, [&](const rectangle_copy& some, std::byte* staging) {
        from.read_rectangle(packed(some.turned()), staging, {}).wait();
        to.write_rectangle(packed(some), staging, {}).wait();
    });
    return {};
}

void fill_box(backends::memory& to, const box& of, std::span<const std::byte> pattern) {
    in_staging(in_place(of), [&](const rectangle_copy& some, std::byte* staging) {
        backends::repeat(pattern, {staging, some.bytes()});
        to.write_rectangle(packed(some), staging, {}).wait();
    });
}

void move_parts(backends::memory& from, backends::memory& to, bool to_host, std::span<const region> parts, queue on,
                backends::fences& done) {
    std::byte* const host = to_host ? to.host_address() : from.host_address();
    const bool ranges = std::ranges::all_of(parts, &region::is_range);
    if (!host || !ranges || parts.size() == 1) {
        for (const region& each : parts) done.push_back(move_part(from, to, host, to_host, each, on));
        return;
    }
    std::vector<backends::part> pieces;
    pieces.reserve(parts.size());
    for (const region& each : parts) pieces.push_back({each.begin(), each.size()});
    to_host ? from.read_parts(pieces, host, on, done) : to.write_parts(pieces, host, on, done);
}

}  // namespace unibuf::detail
