// process/peers.hpp: the processes that share the host's copy of a buffer, and which of them holds newer content.
//
// At most one is the holder: it may have newer content than the memory on a device of its own, and the others are
// refused until it has brought that back or has ended. Whoever says that the memory stands as it is, settles that for
// all: a holder finds itself overruled then, and drops what it has.
#pragma once

#include <memory>
#include <string>

#include "process/identity.hpp"
#include "process/shared_memory.hpp"

namespace unibuf::process {

/// The peers of one buffer, as one process sees them. A buffer that goes while it is leased may have another one of the
/// same process beside it: each is a peer to the other. Not thread-safe: the buffer's lock guards it.
class peers {
public:
    explicit peers(std::shared_ptr<shared_memory> memory);

    /// Says that this process holds nothing any more.
    ~peers() { settle(); }
    peers(const peers&) = delete;
    peers& operator=(const peers&) = delete;

    /// Notes for all that one process more has the memory than the one that made it: this one.
    void note_another() noexcept { ++memory_->attached(); }

    const std::shared_ptr<shared_memory>& memory() const noexcept { return memory_; }

    /// Checks an access before it begins. Throws where another process is the holder: error(access_conflict), or
    /// error(transfer_failed) where that process has ended.
    void check();

    /// Checks as check() does, before an access that makes a device of this process newest, and makes this process the
    /// holder.
    void claim();

    /// Returns whether other processes have, or had, the memory too: they may have written it at any time.
    bool were_ever_others() const noexcept { return memory_->attached().load() != 0; }

    bool holds() const;
    bool another_holds() const;

    /// Says that the memory holds what is newest, as far as this process knows.
    void settle() noexcept;

    /// Says that what this process had newer is lost; the others are told so.
    void lose() noexcept;

    /// Says that the memory stands as it is, whoever is the holder.
    void settle_for_all() noexcept { memory_->newest_at().store(0); }

private:
    [[noreturn]] static void refuse(identity holder);
    bool is_own(identity holder) const noexcept;
    void note_fork() noexcept;

    std::shared_ptr<shared_memory> memory_;
    int forks_;
    identity claimed_ = 0;  // as which this one, and no other of the process, has become the holder; else 0
};

}  // namespace unibuf::process
