// access/joint_passage.hpp: requests that are granted together, or none of them.
//
// Each request has a passage of its own, and no stage begins before all have come through the one before:
//   enter    all bytes are claimed, without waiting while any claim is held: where one request would have to wait, all
//            claims are dropped, that one waits alone, and all begin anew. So threads never wait for each
//            other in a circle, in whatever order they ask, and no user's lease, pointer or holder is waited for with
//            a claim. Where copies are missing, one thread at a time makes them with claims held. All that can be
//            refused is refused here, before content moves, but for what guards refuse.
//   bring    the steps of each, behind its claim; memory is reserved for what the next two stages note.
//   grant    claims become leases. Bytes that are about to be overwritten stop to count as current at that space, as
//            long as another space has them. Cannot fail.
//   wrote    what was written is newest. Cannot fail.
// Between two stages the locks are let go of.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "access/access_request.hpp"
#include "access/lock.hpp"
#include "access/passage.hpp"

namespace unibuf::detail {

class joint_passage {
public:
    joint_passage() = default;
    ~joint_passage() { drop_all(); }
    joint_passage(const joint_passage&) = delete;
    joint_passage& operator=(const joint_passage&) = delete;

    /// Adds a request, whose lease goes into `taken`, and ends what is there then, with no lock held. Requests are
    /// added in the order of the numbers of their buffers, and of their bytes. Their holders of views have been asked
    /// to let go.
    void add(core& of, const access_request& request, byte_lease& taken) { members_.emplace_back(of, request, taken); }

    /// Throws what the passage of each request would throw. Then nothing is held, no content has moved, and stores that
    /// were found stay found.
    void enter();

    /// Throws what the transfers throw. What has arrived stays.
    void bring();

    void grant() noexcept;  // REQUIRES: bring() has returned
    void wrote() noexcept;  // REQUIRES: grant() was called

private:
    /// One of the requests.
    class member {
    public:
        member(core& of, access_request request, byte_lease& taken);
        ~member();
        member(const member&) = delete;
        member& operator=(const member&) = delete;

        enum class answer { claimed, busy, lacks_copy };

        /// Claims the bytes, unless it would have to wait, or to make a copy which it may not.
        answer claim(bool may_make_copy);

        /// Waits for what is in the way, and makes the copy. Keeps the bytes from standing holds elsewhere from then
        /// on.
        void wait_alone();

        /// Lets no new readers in for a while, where this writes: until it is claimed, or this ends.
        void stand_in_line();

        // end_claim() ends the claim, and drop() the lock. All members end their claims before any of them ends its
        // lock: there bytes may go back to standing holds, for which the program is called, and it may want any of the
        // buffers.
        void end_claim() noexcept;
        void drop() noexcept;

        const wait_limit& limit() const noexcept { return request_.waits; }
        void ask_guards();
        void bring();
        void grant() noexcept;
        void hand_over() noexcept { taken_ = std::move(granted_); }
        void wrote() noexcept;

    private:
        /// The lock of the request's buffer. It is let go of, but within functions of this member.
        struct entered {
            explicit entered(core& of) : locked(of) {}

            lock locked;
            std::optional<passage> way;              // none where the bytes are free and current
            detail::claim at_a_glance{*locked};      // taken where there is no passage
            std::optional<lock::released> unlocked;  // ends first: the others need the lock
            bool has_ended = false;  // the claim has ended; guarded::waiting keeps the gate shut until drop()
        };

        /// Has the lock again as long as this lives.
        class relocked {
        public:
            explicit relocked(entered& of) noexcept : of_(of) { of_.unlocked.reset(); }
            ~relocked() { of_.unlocked.emplace(of_.locked); }
            relocked(const relocked&) = delete;
            relocked& operator=(const relocked&) = delete;

        private:
            entered& of_;
        };

        detail::claim& own_claim() noexcept {
            std::optional<passage>& way = entered_->way;
            return way ? way->own_claim() : entered_->at_a_glance;
        }
        bool has_to_ask(const guarded& state) const;
        bool is_only_read_there(const guarded& state) const;
        void keep_quiet(guarded& state);
        void end_quiet(guarded& state) noexcept;
        void end_start(guarded& state) noexcept;

        core& of_;
        access_request request_;
        byte_lease& taken_;
        std::uint64_t starting_ = 0;  // ticket of the lease that writes, until wrote()
        byte_lease granted_{};        // until all locks are let go of: it may end another lease, of any buffer
        std::unique_ptr<entered> entered_;
        std::optional<promise> promise_;  // for what is written
        std::optional<waiting_writers::entry> in_line_;
        bool has_let_writers_first_ = false;  // wait_alone() has let writers that waited go first
        held_view* quiet_ = nullptr;          // keeps the bytes from standing holds, where there are any
    };

    void drop_all() noexcept {
        for (member& each : members_) each.end_claim();
        for (member& each : members_) each.drop();
    }

    std::list<member> members_;
};

}  // namespace unibuf::detail
