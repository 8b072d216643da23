// trace/fates.hpp: what became of the bytes that transfers have brought.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "unibuf/trace.hpp"

namespace unibuf::trace {

/// A transfer of one buffer, and what became of its bytes where they went.
struct brought {
    const event* made = nullptr;
    const event* writer = nullptr;  // wrote its first byte last; null where nobody is known
    std::uint64_t used = 0;         // bytes, as are the next three
    std::uint64_t overwritten = 0;  // there, before anybody used them
    std::uint64_t unread = 0;       // were written elsewhere, or given up, before anybody used them
    std::uint64_t evicted = 0;      // had been there, and are there again as others needed the memory meanwhile
    bool is_back = false;           // none of its bytes is news: all had been there, and nobody had written there since
    std::optional<std::size_t> answers{};  // the transfer the other way that had brought what its bytes were made from
};

/// Returns the transfers of a buffer in their order. The events are those of one buffer, oldest first.
std::vector<brought> fates_of(std::span<const event* const> events);

}  // namespace unibuf::trace
