// unibuf/space.hpp: the memory spaces of this process, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unibuf/export.hpp"

namespace unibuf {

/// A space is where a copy can live: "host", "cuda:0", "opengl:0", "opencl:0", "debug:0".
///
/// A small value, cheap to keep; looking one up by name may load the driver behind it (hundreds of milliseconds, once).
/// Throws error(invalid_argument) for a name that is malformed or of no known kind, error(device_unavailable), with the
/// reason, for one that is not there. Any thread.
class UNIBUF_API space {
public:
    constexpr space() noexcept = default;  // the host
    space(std::string_view name);
    space(const char* name) : space(std::string_view(name)) {}
    space(const std::string& name) : space(std::string_view(name)) {}

    /// REQUIRES: a space has the number, as id() has returned it. numbered() checks that.
    static constexpr space from_id(std::uint8_t id) noexcept {
        space result;
        result.id_ = id;
        return result;
    }

    /// Returns the space of a number that comes from outside; nothing where no space has it.
    static std::optional<space> numbered(std::int64_t id) noexcept;

    /// Returns the number of this space in this process; the host is 0.
    constexpr std::uint8_t id() const noexcept { return id_; }

    /// Returns the name, which lives as long as the process.
    const std::string& name() const noexcept;

    friend constexpr bool operator==(space, space) noexcept = default;

private:
    std::uint8_t id_ = 0;
};

inline constexpr space host{};

/// The most spaces that one process can have. Adopting a context makes one more space.
inline constexpr std::size_t max_spaces = 32;

/// One more fact that a driver tells of a device, for people and logs: {"compute capability", "9.0"}.
struct device_property {
    std::string name;
    std::string value;
};

/// Tells what a space is, or why it is missing.
struct device_info {
    std::string name;  // "opencl:0"; of a kind that is missing, or of which a driver has no device: "opencl"
    bool available = false;
    std::string reason;              // why it is not available; empty where it is
    std::string description;         // name that its driver gives it
    bool own_memory = false;         // memory of its own, apart from the host's
    bool aliases_host = false;       // can use the host's memory in place
    bool host_visible = false;       // can give memory that the host addresses too
    bool asynchronous = false;       // queues work; fences tell when it is done
    std::uint64_t memory_bytes = 0;  // memory_info::total at the time when the space was found
    std::vector<device_property> properties = {};
};

/// Every space there is and every kind that is missing or lacks devices. Loads all drivers at the first call.
UNIBUF_API std::vector<device_info> devices();

/// The memory that a space has, in bytes. At the host that is what the cgroups of this process let it have (Linux,
/// versions 1 and 2), and free is what it can have without swapping; file cache that nobody has used for long is free.
struct memory_info {
    std::uint64_t total = 0;            // 0 where its driver does not say
    std::optional<std::uint64_t> free;  // nothing where its driver does not say
};

/// Asks the driver at each call; another program may have taken what was free when this returns. At a CUDA device it
/// makes the context where nobody has yet, which takes some hundred milliseconds, and some hundred MB on the card.
/// Throws error(device_lost), and error(device_unavailable) where a context of the caller's cannot be had here.
UNIBUF_API memory_info memory_of(space where);

inline constexpr std::uint64_t no_memory_limit = ~std::uint64_t{0};

/// Sets the most bytes that buffers may hold in a space from now on; no_memory_limit takes the limit away.
///
/// Where the limit is reached, or where a device has no more, copies of other buffers make room: those that are current
/// elsewhere first, then those that were used least recently, after their newest bytes have been written back to the
/// host. Copies that are leased stay. So do those of which a plain handle is out: one of device() is out until
/// buffer::release_device, one of host() until buffer::release_host. Copies at the host go only where a device has all
/// that they have. An access for which nothing can go gives others a second to end their leases, then throws
/// error(out_of_memory), and nothing is lost.
///
/// What is held beyond a new limit goes at once, as far as it can. Work that is queued on what goes is waited for. What
/// had to stay then goes when something needs its memory, or the limit is set again.
UNIBUF_API void limit_memory(space where, std::uint64_t bytes);

/// Gives back to the system what unibuf keeps of a space for later: blocks of small buffers that have gone, at the host
/// all pinned memory of buffers that have gone, and what the driver keeps of the rest. Waits for work that may use it.
/// Buffers that pools hold stay: see memory_pool::trim.
UNIBUF_API void trim_memory(space where);

/// Returns the space that `device()`, `sync_to_device()` and `mark_device_dirty()` mean when they are called: the one
/// that was set, else the first CUDA device, else the host.
UNIBUF_API space default_device();
UNIBUF_API void set_default_device(space where);

/// The host in the place of a device, where the host is the default device. Its memory is always the host's, but it is
/// a space of its own to the directory, so that states move as they do with any device. No list of devices has it.
inline constexpr space host_as_device = space::from_id(1);

namespace detail {

/// Returns the space as a buffer's device: host_as_device for the host.
constexpr space as_device(space where) noexcept { return where == host ? host_as_device : where; }

/// Returns the space by the name that the program has for it: the host for host_as_device.
constexpr space as_named(space where) noexcept { return where == host_as_device ? host : where; }

}  // namespace detail

/// Returns the default device as copies are told apart: host_as_device where it is the host.
UNIBUF_API space current_device();

}  // namespace unibuf
