// support/player.hpp: plays a history on a buffer and on an oracle side by side.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "coherence/region.hpp"
#include "support/face.hpp"
#include "support/faults.hpp"
#include "support/history.hpp"
#include "support/oracle.hpp"
#include "unibuf/error.hpp"

namespace unibuf::test {

/// Thrown where the buffer did what it may not do.
struct difference : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One of the two devices beside the host.
struct device_of_history {
    space where;
    fake_device* fake = nullptr;  // null for a real device
};

/// The threads of a program that write on a device, and can be stopped.
struct device_threads {
    bool can_stop = false;
    bool stopped = false;
    unsigned refusals = 0;  // how often they refuse before they stop
    unsigned refused = 0;
    std::string wrong{};  // how they were called when they should not have been
};

/// The places that operations name.
inline constexpr std::array explicit_places{at_host, at_first, at_second};

/// The codes with which fakes fail when they are told to.
inline constexpr std::array injected{error_code::out_of_memory, error_code::transfer_failed, error_code::device_lost};

/// Returns bytes that tell their place and the operation that wrote them.
std::vector<std::byte> content_of(const operation& op, std::size_t count);

/// Plays one history. It is used by one thread, as a history is what one thread does.
class player {
public:
    explicit player(const history& of);
    ~player();
    player(const player&) = delete;
    player& operator=(const player&) = delete;

    void step(const operation& op);

    /// Ends all leases, and reads every byte in every space.
    void finish();

    /// Destroys the buffer, and checks that its memory has gone.
    void close();

    /// Puts devices back as they were at the beginning, after a difference.
    void forget();

private:
    struct part {
        std::unique_ptr<face> handle;
        byte_range range;
    };
    struct held_lease {
        std::unique_ptr<face::held> lease;
        place where;
        region bytes;
        access what;
        bool queued;
    };
    struct pointer {
        std::byte* data;
        byte_range range;
    };
    /// A copy of the host or of a device that is held in place.
    struct held_copy {
        std::unique_ptr<face::shown> held;
        place where;
        region bytes;
        std::uint64_t name;
        bool goes_when_asked = false;
    };
    /// The holder of a copy, who is asked by the buffer to let go of it.
    struct asked_holder {
        player& in;
        std::uint64_t name;

        static void let_go(void* context) noexcept;
    };
    /// A standing hold. Its rules have the same index in the oracle.
    struct standing {
        std::unique_ptr<face::bound> hold;
        std::shared_ptr<device_threads> threads;
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

    /// Returns whether a copy at `where` has to stay where it is, whoever is asked.
    bool pinned(place where) const;
    bool stands_at(place where) const;

    bool excluded(const region& bytes, access what) const;
    std::vector<error_code> conflicts(const region& bytes, access what) const;

    bool attempt(const operation& op, const std::vector<error_code>& must_fail, const std::function<void()>& call);
    bool is_refusal(const error& thrown);
    void settle();
    void expect_moves(const region& bytes, place where, bool fetches, bool gives_back = false, std::size_t others = 0);
    void expect_content(const region& bytes, place where, const native_memory& at, bool queued);

    void take_lease(const operation& op);
    void take_lease_at(const operation& op, place where, byte_range range, access what);
    void lose(byte_range range, place where);
    void use_rectangle(const operation& op);
    void lease_rectangle(const operation& op, face& of, const region& bytes);
    void point_into_rectangle(const operation& op, face& of, const region& bytes);
    void end_lease(std::size_t index);
    void write_under_lease(const operation& op);
    void use_host(const operation& op);
    void use_old_pointer(const operation& op);
    void write_and_take_back(const operation& op);
    void use_device(const operation& op);
    void mark(const operation& op);
    void synchronize(const operation& op, place where);
    bool any_allocated();
    void prefetch(const operation& op);
    void discard(const operation& op);
    void fill(const operation& op);
    void copy(const operation& op);
    void copy_content(const operation& op, face& of, std::size_t offset, const region& bytes, bool from,
                      std::span<std::byte> content, const std::vector<error_code>& must_fail);
    void make_view(const operation& op);
    void make_room(const operation& op);
    void recycle(operation op);
    void release_pointers(const operation& op);
    void forget_ended_pointers();
    void end_device_pointers();
    void hold_copy(const operation& op);
    void hold_copy(const operation& op, face& of, const access_options& part, const region& bytes);
    void let_go(std::size_t index);

    standing_options options_of_hold(const operation& op, place where,
                                     const std::shared_ptr<device_threads>& threads) const;
    void bind(const operation& op);
    void write_unseen(const operation& op);
    void pause_hold(const operation& op, std::size_t index);
    void resume_hold(const operation& op, std::size_t index);
    void end_hold(std::size_t index);
    void settle_standing();
    void check_threads(const standing_rules& rules, device_threads& of) const;
    bool has(const standing_rules& rules, std::size_t at) const;
    std::vector<byte_range> had_by(const standing_rules& rules, byte_range range, bool written_unseen) const;
    void expect_device_sees(std::size_t index, byte_range range, bool written_unseen);

    void carry_out(const operation& op);
    void look(place where);
    void store(const native_memory& at, std::size_t first, place where, byte_range range,
               std::span<const std::byte> content) const;

    std::array<device_of_history, 2> devices_;
    std::array<std::optional<part>, 4> parts_;
    bool uninitialized_;
    oracle oracle_;
    oracle before_;  // oracle before the operation that is under way
    std::uint64_t moved_before_ = 0;
    std::vector<held_lease> leases_;
    std::vector<pointer> pointers_;
    std::vector<held_copy> copies_;
    std::string wrong_when_asked_{};
    std::vector<standing> standing_;
    std::vector<byte_range> rectangles_;  // from the first byte to the last of each rectangle that was used
    std::vector<bool> leased_;            // for each byte, whether somebody leases it
    std::uint64_t names_ = 0;
    place default_ = at_host_as_device;
    std::array<bool, places> asked_{};  // spaces that may have a copy
    bool leases_go_last_;
    bool joins_parts_;
    unsigned fired_ = 0;       // injected failures that have been seen
    unsigned may_tell_ = 0;    // how many operations may still tell of injected failures
    bool clean_ = true;        // no failure was injected in this history
    bool host_shown_ = false;  // pointers for reading are out
    bool tried_once_ = true;   // the last operation succeeded at its first attempt
};

}  // namespace unibuf::test
