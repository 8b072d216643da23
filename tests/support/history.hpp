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
    hold_copy,  // takes a host_view, or a copy_view of a device
    let_go,
    bind,
    write_unseen,  // the device of a standing hold writes
    pause_hold,
    resume_hold,
    end_hold,
    recycle,    // the buffer goes to its pool, and another is taken, with operation::partly of another size
    rectangle,  // something is done with a rectangle of the buffer, which is seen as an array
};
inline constexpr std::uint8_t verbs = static_cast<std::uint8_t>(verb::rectangle) + 1;

/// Every value of every member means something, so that any bytes are a history.
struct operation {
    verb does = verb::read;
    std::uint8_t where = 0;   // the host, the first device, the second
    std::uint8_t handle = 0;  // the whole buffer, or a view of it
    std::uint8_t offset = 0;
    std::uint8_t count = 0;
    std::uint8_t value = 0;
    std::uint8_t flags = 0;

    static constexpr std::uint8_t hold = 1;      // keeps the lease over the next operations
    static constexpr std::uint8_t on_queue = 2;  // names a queue for the work of the lease or the prefetch
    static constexpr std::uint8_t partly = 4;  // writes not all that may be written; some verbs give it another meaning
    static constexpr std::uint8_t give_up = 8;  // does not try again after an injected failure
    static constexpr std::uint8_t beyond = 16;  // asks for one byte more than there is
    static constexpr std::uint8_t look = 32;    // looks at the whole buffer afterwards, from another space

    friend bool operator==(const operation&, const operation&) = default;
};

/// The two devices beside the host, which are fakes, or real where one is named.
struct arrangement {
    const char* name;
    fake_traits first;
    fake_traits second;
    std::array<const char*, 2> real{};
};
std::span<const arrangement> arrangements();

/// Returns why a device of the arrangement is not there; "" where both are.
std::string why_missing(const arrangement& of);

struct history {
    std::uint8_t arrangement = 0;
    std::uint8_t hint = 0;
    std::uint8_t size = 0;
    std::uint8_t flags = 0;
    std::vector<operation> operations;

    static constexpr std::uint8_t uninitialized = 1;
    static constexpr std::uint8_t name_device = 2;        // the buffer's options name the device
    static constexpr std::uint8_t leases_go_last = 4;     // leases end after the buffer
    static constexpr std::uint8_t default_is_device = 8;  // a device is the default device from the beginning
    static constexpr std::uint8_t joins_parts = 16;  // parts that are to be moved are joined, whatever lies between
    static constexpr std::uint8_t by_c = 32;         // the buffer is that of unibuf.h
    static constexpr std::uint8_t pooled = 64;       // the buffer is of a pool

    static history decode(std::span<const std::uint8_t> bytes);
    std::vector<std::uint8_t> encode() const;
};

std::ostream& operator<<(std::ostream& out, const operation& what);
std::ostream& operator<<(std::ostream& out, const history& what);

/// Returns the line by which the shell makes a file of the history for tests/fuzz/corpus; "" where a device is real, as
/// the fuzzer has fakes alone.
std::string as_input(const history& what);

/// Plays a history on a buffer and on an oracle. Returns where the two first differ, and at which operation; "" where
/// they do not.
std::string play(const history& what);

}  // namespace unibuf::test
