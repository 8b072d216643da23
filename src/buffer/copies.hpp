// buffer/copies.hpp: the copies of one buffer, and how each space comes by its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "coherence/spaces.hpp"
#include "trace/counters.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/options.hpp"

namespace unibuf::detail {

struct copy {
    coherence::space_id where = coherence::host;
    bool untouched = true;  // nothing was written to it since it was allocated
    unibuf::placement placed = placement::mirrored;
    coherence::space_id lender = coherence::host;  // of a host copy: the device whose memory it is, or the host
    std::shared_ptr<backends::memory> memory;      // of a host copy that a device lends, the device's own object
    trace::held_bytes held;
    std::string reason;  // why it was placed so
};

/// Not thread-safe: the buffer's lock guards it. Memory that is under a transfer stays where it is while others are
/// added.
class copies {
public:
    copies(std::size_t bytes, const buffer_options& options) noexcept;

    copy* find(coherence::space_id where) noexcept;
    const copy* find(coherence::space_id where) const noexcept;

    /// The copy at `where`, allocated if there is none: with memory that host and device share where that is wanted and
    /// can be had. Throws what the backend throws; then nothing has changed.
    copy& make(coherence::space_id where);

    /// Frees the copy at `where`, unless others use its memory.
    void free(coherence::space_id where) noexcept;

    /// Frees all, those that use the memory of others first.
    void free_all() noexcept;

    coherence::space_set allocated() const noexcept;
    const coherence::sharing& memories() const noexcept { return memories_; }
    const buffer_options& options() const noexcept { return options_; }
    bool any_poisons() const noexcept { return any_poisons_; }

    std::vector<copy>::iterator begin() noexcept { return all_.begin(); }
    std::vector<copy>::iterator end() noexcept { return all_.end(); }

private:
    copy& make_host();
    copy& make_device(coherence::space_id where);
    bool try_share(copy& made, backends::device& device, const backends::request& what);
    copy& add(copy made);
    backends::request wanted() const noexcept;

    std::vector<copy> all_;
    coherence::sharing memories_;
    std::size_t bytes_;
    buffer_options options_;
    bool any_poisons_ = false;
};

}  // namespace unibuf::detail
