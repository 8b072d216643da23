// unibuf/guard.hpp: transfers that nobody asked for by name, told or refused; and how many bytes may move.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "unibuf/export.hpp"
#include "unibuf/space.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf {

enum class guard_action : std::uint8_t {
    allow,
    log,     // a line on the standard error stream for each access
    refuse,  // the access throws error(access_conflict), and none of its bytes has moved
};

/// Transfers between two spaces; of any where one is not given.
struct transfer_link {
    std::optional<space> from = {};
    std::optional<space> to = {};
};

/// Says what becomes of transfers that this thread's accesses make by the way: leases, raw pointers and handles,
/// exports. Those that the program asks for by name (sync, prefetch, copies) and evictions go on. A copy that was made
/// for what is refused stays; of leases that are taken together, those before may have brought their bytes.
///
///     unibuf::transfer_guard quiet(unibuf::guard_action::refuse, {.to = "cuda:0"});
///
/// Of the guards that are about a transfer the innermost decides. A guard ends on its thread.
class UNIBUF_API transfer_guard {
public:
    explicit transfer_guard(guard_action action, const transfer_link& along = {});
    ~transfer_guard();
    transfer_guard(const transfer_guard&) = delete;
    transfer_guard& operator=(const transfer_guard&) = delete;

private:
    std::uint64_t number_;
};

/// Counts what all buffers move, on any thread and for any cause, from its making on. reset_statistics() disturbs it.
class UNIBUF_API transfer_budget {
public:
    explicit transfer_budget(std::uint64_t bytes, const transfer_link& along = {});

    std::uint64_t moved() const;

    /// Throws error(access_conflict) where more was moved; the message says from where to where, and what for.
    void check() const;

private:
    std::vector<transfer_count> made() const;

    std::uint64_t bytes_;
    transfer_link along_;
    statistics before_;
};

}  // namespace unibuf
