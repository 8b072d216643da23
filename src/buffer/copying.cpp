// buffer/copying.cpp: copies from one buffer to another, where the bytes are.
#include <array>
#include <cstring>

#include "backends/spaces.hpp"
#include "buffer/core.hpp"
#include "buffer/lock.hpp"
#include "buffer/moves.hpp"
#include "buffer/request.hpp"
#include "coherence/plan.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf {
namespace detail {
namespace {

/// Returns where to copy `range` of `source`: no byte moves to get there. What the host writes meanwhile may be found
/// by the leases only; then they bring it.
space place_to_copy(core& source, byte_range range, core& target) {
    coherence::space_set complete = 0;
    {
        const lock through(source);
        complete = coherence::complete_at(through->directory, range, through->copies.allocated());
    }
    const lock through(target);
    space place = host;
    bool found = coherence::has(complete, coherence::host);
    coherence::for_each_space(complete, [&](coherence::space_id each) {
        if (each == coherence::host || (found && !through->copies.find(each))) return;
        place = space::from_id(each);
        found = true;
    });
    return place;
}

/// Returns the memory at `where`, which a lease that is held keeps.
backends::memory& memory_at(core& of, space where) {
    const lock through(of);
    return *through->copies.find(where.id())->memory;
}

}  // namespace
}  // namespace detail

void buffer::copy(const buffer& source, std::size_t from, buffer& target, std::size_t to, std::size_t bytes) {
    detail::core& source_core = detail::core_of(source.gate_);
    detail::core& target_core = detail::core_of(target.gate_);
    const detail::request read = source.request_of(unibuf::host, access::read, {.offset = from, .count = bytes});
    const detail::request write = target.request_of(unibuf::host, access::write, {.offset = to, .count = bytes});
    if (bytes == 0) return;
    const space where = detail::place_to_copy(source_core, read.range, target_core);
    const std::array wanted{source.to_read(where, {.offset = from, .count = bytes}).bytes,
                            target.to_write(where, {.offset = to, .count = bytes}).bytes};
    std::array<byte_lease, 2> taken;
    fence done;
    lease_together(wanted, taken, [&] {
        if (backends::is_host(where)) {
            std::memcpy(taken[1].data(), taken[0].data(), bytes);
        } else {
            done = detail::move_on_devices(detail::memory_at(source_core, where), read.range,
                                           detail::memory_at(target_core, where), write.range.begin, {});
        }
    });
    for (byte_lease& each : taken) {
        if (done.native()) each.end(done);
    }
}

void buffer::copy_from(const buffer& source, std::size_t offset) { copy(source, 0, *this, offset, source.bytes_); }

void buffer::copy_to(buffer& target, std::size_t offset) const { copy(*this, offset, target, 0, target.bytes_); }

}  // namespace unibuf
