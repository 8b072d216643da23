// access/access_request.hpp: an access as it was asked for.
#pragma once

#include <cstdint>
#include <string>

#include "buffer/named_queue.hpp"
#include "coherence/region.hpp"
#include "coherence/spaces.hpp"
#include "memory/wait_limit.hpp"
#include "unibuf/error.hpp"
#include "unibuf/options.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf::detail {

class core;

/// The purpose of an access.
enum class purpose : std::uint8_t {
    use,      // the content is made current at the space, whose memory may then be used
    fill,     // the content is to be overwritten at the space where nothing has to be fetched: coherence chooses it
    declare,  // the caller says that the bytes at the space stand: nothing is fetched, and no copy is made
    drop,     // the copy goes: nothing is fetched, and work that is queued on it is waited for
};

struct access_request {
    region part{};
    space where{};
    access what = access::read;
    cause why = cause::read;
    named_queue on = {};
    space queue_of = host;          // at the host: the device of the queue `on`; host for whichever the bytes come from
    bool may_return_early = false;  // transfers may go on after the call
    bool joint = false;             // one of several that are granted together: see joint_passage.hpp
    wait_limit waits = wait_limit::of_call();
    purpose aim = purpose::use;
    const char* verb = nullptr;   // its name in messages where it is no lease: "to fill", of bytes [0, 64) at host
    bool keeps_to_mode = true;    // where false, buffer_options::access is not asked: no bytes are for the program
    bool asks_holders = true;     // where false, the holders of views have been asked to let go before
    bool is_recorded = true;      // where false, traces have the access as a part of another
    bool is_guarded = true;       // where false, guards are not asked: the access is not the program's own
    bool waits_for_holds = true;  // where false, the request is refused where holds of others are in the way
    bool makes_copy = true;       // where false, the request is refused where there is no copy

    /// Returns whether this marks all of a buffer at the host, which overrules what other processes have newer.
    bool settles_for_all(std::size_t bytes) const noexcept {
        return aim == purpose::declare && where == host && part == region(byte_range{0, bytes});
    }

    /// Returns how long holds of others may be in the way.
    wait_limit hold_limit() const noexcept { return waits_for_holds ? waits : wait_limit{.until = {}}; }
};

/// Returns the queue that the caller named where it is one of the device `executor`, else none. A queue that is named
/// for an access at the host belongs to the device that the bytes come from.
queue queue_at(const access_request& request, coherence::space_id executor) noexcept;

/// Returns what was asked for: "a read lease of bytes [0, 64) at host", "to fill bytes [0, 64) at host".
std::string describe(const access_request& request);

/// Throws `failure` again with the buffer and the access in its message, as a backend knows neither.
[[noreturn]] void rethrow_naming_access(const core& of, const access_request& request, const error& failure);

}  // namespace unibuf::detail
