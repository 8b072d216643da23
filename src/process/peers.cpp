// process/peers.cpp: the processes that share the host's copy of a buffer, and which of them holds newer content.
#include "process/peers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "process/forks.hpp"
#include "unibuf/error.hpp"

namespace unibuf::process {

namespace {

/// A forked child has what its parent has claimed, and it is not its own.
bool is_of_this_process(identity claimed) noexcept {
    return claimed != 0 && number_of(claimed) == static_cast<std::uint32_t>(::getpid());
}

}  // namespace

peers::peers(std::shared_ptr<shared_memory> memory) : memory_(std::move(memory)), forks_(forks()) { this_process(); }

void peers::refuse(identity holder) {
    if (is_alive(holder)) {
        throw error(error_code::access_conflict,
                    fmt::format("process {} holds newer content of this shared buffer on a device of its own: let it "
                                "call sync_to_host, or say by mark_host_dirty that what is at the host stands",
                                number_of(holder)));
    }
    const bool dropped = holder == number_of(holder);  // lose() leaves a number without a begin
    throw error(error_code::transfer_failed,
                fmt::format("process {} has {} with newer content of this shared buffer on a device of its own, which "
                            "is lost: mark_host_dirty says that what is at the host stands",
                            number_of(holder), dropped ? "dropped it" : "ended"));
}

/// Joins after a fork: the child has the memory without having asked.
void peers::note_fork() noexcept {
    if (forks_ == forks()) return;
    forks_ = forks();
    note_another();
}

void peers::check() {
    note_fork();
    const identity holder = memory_->newest_at().load();
    if (holder != 0 && !is_own(holder)) refuse(holder);
}

void peers::claim() {
    note_fork();
    const identity mine = this_process();
    identity holder = 0;
    if (!memory_->newest_at().compare_exchange_strong(holder, mine) && !is_own(holder)) refuse(holder);
    claimed_ = mine;
}

bool peers::is_own(identity holder) const noexcept { return holder == claimed_ && is_of_this_process(claimed_); }

bool peers::holds() const { return is_own(memory_->newest_at().load()); }

bool peers::another_holds() const {
    const identity holder = memory_->newest_at().load();
    return holder != 0 && !is_own(holder);
}

void peers::settle() noexcept {
    if (identity mine = std::exchange(claimed_, 0); is_of_this_process(mine))
        memory_->newest_at().compare_exchange_strong(mine, 0);
}

/// Leaves a number without a begin, which stands for no process that lives.
void peers::lose() noexcept {
    if (identity mine = std::exchange(claimed_, 0); is_of_this_process(mine))
        memory_->newest_at().compare_exchange_strong(mine, number_of(mine));
}

}  // namespace unibuf::process
