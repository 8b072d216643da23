// support/player.hpp: plays a history on a buffer and on an oracle side by side.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/face.hpp"
#include "support/faults.hpp"
#include "support/history.hpp"
#include "support/oracle.hpp"

namespace unibuf::test {

/// What the buffer did is not what it may do.
struct difference : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One of the two beside the host.
struct device_of_history {
    space where;
    fake_device* fake = nullptr;  // null of a real one
};

/// Of one thread: a history is what one thread does.
class player {
public:
    explicit player(const history& of);
    ~player();
    player(const player&) = delete;
    player& operator=(const player&) = delete;

    void step(const operation& op);

    /// All leases end, and every byte is read in every space.
    void finish();

    /// The buffer goes, and what it had with it.
    void close();

private:
    struct part {
        std::unique_ptr<face> handle;
        byte_range range;
    };
    struct held_lease {
        std::unique_ptr<face::held> lease;
        place where;
        byte_range range;
        access what;
        bool queued;
    };
    struct pointer {
        std::byte* data;
        byte_range range;
    };

    part& whole() { return *parts_[0]; }
    part& part_of(const operation& op);
    byte_range range_of(const operation& op, byte_range within) const;
    place default_place() const;
    space space_of(place where) const;
    const device_of_history& device_at(place where) const { return devices_[where - at_first]; }
    bool queues(place where) const { return (where == at_first || where == at_second) && device_at(where).fake; }
    bool borrows(place where) const { return device_at(where).fake && device_at(where).fake->does().borrows; }
    bool allocated(place where);
    bool shares(place where);

    bool excluded(byte_range range, access what) const;
    std::vector<error_code> conflicts(byte_range range, access what) const;

    bool attempt(const operation& op, const std::vector<error_code>& must_fail, const std::function<void()>& call);
    void settle();
    void expect_moves(byte_range range, place where, bool fetches);
    void expect_content(byte_range range, place where, const native_memory& at, bool queued);

    void take_lease(const operation& op);
    void take_lease_at(const operation& op, place where, byte_range range, access what);
    void end_lease(std::size_t index);
    void write_under_lease(const operation& op);
    void use_host(const operation& op);
    void use_old_pointer(const operation& op);
    void use_device(const operation& op);
    void mark(const operation& op);
    void synchronize(const operation& op, place where);
    bool any_allocated();
    void prefetch(const operation& op);
    void discard(const operation& op);
    void fill(const operation& op);
    void copy(const operation& op);
    void make_view(const operation& op);
    void look(place where);
    void store(const native_memory& at, std::size_t first, place where, byte_range range,
               std::span<const std::byte> content) const;

    std::array<device_of_history, 2> devices_;
    std::array<std::optional<part>, 4> parts_;
    oracle oracle_;
    oracle before_;  // the operation that is under way
    std::uint64_t moved_before_ = 0;
    std::vector<held_lease> leases_;
    std::vector<pointer> pointers_;
    place default_ = at_host_as_device;
    std::array<bool, places> asked_{};  // spaces that may have a copy
    bool leases_go_last_;
    bool joins_parts_;
    unsigned fired_ = 0;       // failures that were injected, as far as we have seen
    unsigned may_tell_ = 0;    // how often operations may still tell of them
    bool clean_ = true;        // none was in this history
    bool host_shown_ = false;  // pointers for reading are out
    bool tried_once_ = true;   // the last operation succeeded at its first attempt
};

}  // namespace unibuf::test
