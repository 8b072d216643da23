// backends/host/pinned_blocks.hpp: pages of the host that are pinned for a device, and those that are kept for later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backends/arena.hpp"
#include "backends/backend.hpp"
#include "backends/room_of.hpp"
#include "unibuf/space.hpp"

namespace unibuf::backends {

class pinned_block final : public arena::block {
public:
    /// Pins for the device at `by`. Throws as device::pin_pages does.
    pinned_block(space by, std::size_t bytes);

    std::uintptr_t address() const noexcept override { return pages_->handle(); }
    space by() const noexcept { return by_; }
    std::size_t bytes() const noexcept { return bytes_; }
    bool starts_zero() const noexcept { return !used_ && pages_->starts_zero(); }
    std::span<std::byte> common_mapping() const noexcept { return pages_->common_mapping(); }

    /// Notes that the block has had a user.
    void was_used() noexcept { used_ = true; }

private:
    space by_;
    std::size_t bytes_;
    bool used_ = false;
    std::unique_ptr<memory> pages_;
    std::unique_ptr<pin> pin_;  // destroyed before the memory
};

/// Large blocks that nobody uses: to pin takes longer than to fill them. What was kept first goes first. Any thread.
class kept_blocks {
public:
    explicit kept_blocks(std::size_t most_bytes);

    /// The one for all buffers, which keeps a sixteenth of the memory that the process may have at most. It is never
    /// destroyed, as buffers may go when static objects do.
    static kept_blocks& instance();

    /// Returns a block that is larger than `bytes` by 1/64 or by a page at most: one that was kept, else a new one.
    std::unique_ptr<pinned_block> make(space by, std::size_t bytes);

    /// Keeps a block that no work uses any more, unless it is larger than all that may be kept.
    void keep(std::unique_ptr<pinned_block> unused) noexcept;

    /// Gives all back that is kept. Returns whether that was anything.
    bool clear() noexcept;

private:
    std::unique_ptr<pinned_block> take(space by, std::size_t bytes, std::size_t at_most) noexcept;

    const std::size_t most_bytes_;
    const int born_;  // in a child of the process that has pinned the blocks nobody may use them
    std::mutex mutex_;
    std::vector<std::unique_ptr<pinned_block>> all_;  // the oldest first
    std::size_t bytes_ = 0;
};

/// Returns what `make`, which pins memory, returns. Where there is no room, what is kept is given back, and `make` is
/// called once more.
template <class Make>
auto with_room_of_kept(const Make& make) {
    return with_room_of(&kept_blocks::instance(), make);
}

}  // namespace unibuf::backends
