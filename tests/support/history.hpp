// support/history.hpp: a history of operations on one buffer, as data: what RapidCheck makes and libFuzzer decodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "support/fake_device.hpp"

namespace unibuf::test {

enum class verb : std::uint8_t {
    read,
    write,
    read_write,
    end_lease,
    write_under_lease,
    host_write,
    host_read,
    old_pointer_write,
    release_host,
    device_read,
    device_write,
    host_write_and_mark,
    mark,
    sync_to_host,
    sync_to_device,
    prefetch,
    discard,
    discard_content,
    fill,
    copy_from,
    copy_to,
    view,
    drop_view,
    set_default,
    fail,
    make_room,
    hold_copy,  // a host_view, or a copy_view of a device
    let_go,
    bind,
    write_unseen,  // by the device of a standing hold
    pause_hold,
    resume_hold,
    end_hold,
};
inline constexpr std::uint8_t verbs = static_cast<std::uint8_t>(verb::end_hold) + 1;

/// Every value of every member means something, so that any bytes are a history.
struct operation {
    verb does = verb::read;
    std::uint8_t where = 0;   // the host, the first device, the second
    std::uint8_t handle = 0;  // the whole buffer, or a view of it
    std::uint8_t offset = 0;
    std::uint8_t count = 0;
    std::uint8_t value = 0;
    std::uint8_t flags = 0;

    static constexpr std::uint8_t hold = 1;      // the lease, over the next operations
    static constexpr std::uint8_t on_queue = 2;  // the lease's or prefetch's work
    static constexpr std::uint8_t partly = 4;    // not all that may be written is; or what else the verb says
    static constexpr std::uint8_t give_up = 8;   // after an injected failure, instead of trying again
    static constexpr std::uint8_t beyond = 16;   // one byte more than there is
    static constexpr std::uint8_t look = 32;     // at the whole buffer afterwards, from another space

    friend bool operator==(const operation&, const operation&) = default;
};

/// Two devices, beside the host: fakes, or, where one is named, a real one.
struct arrangement {
    const char* name;
    fake_traits first;
    fake_traits second;
    std::array<const char*, 2> real{};
};
std::span<const arrangement> arrangements();

/// Nothing, or why one of its devices is not there.
std::string why_missing(const arrangement& of);

struct history {
    std::uint8_t arrangement = 0;
    std::uint8_t hint = 0;
    std::uint8_t size = 0;
    std::uint8_t flags = 0;
    std::vector<operation> operations;

    static constexpr std::uint8_t uninitialized = 1;
    static constexpr std::uint8_t name_device = 2;        // in the buffer's options
    static constexpr std::uint8_t leases_go_last = 4;     // after the buffer
    static constexpr std::uint8_t default_is_device = 8;  // from the beginning
    static constexpr std::uint8_t joins_parts = 16;       // that are to be moved, whatever lies between
    static constexpr std::uint8_t by_c = 32;              // the buffer is that of unibuf.h

    static history decode(std::span<const std::uint8_t> bytes);
    std::vector<std::uint8_t> encode() const;
};

std::ostream& operator<<(std::ostream& out, const operation& what);
std::ostream& operator<<(std::ostream& out, const history& what);

/// Plays it on a buffer and on an oracle. Nothing, or where they first differ, and at which operation.
std::string play(const history& what);

}  // namespace unibuf::test
