// backends/host/pinned_memory.hpp: the host's memory, pinned for as long as it is there.
#pragma once

#include <memory>

#include "backends/host/addressed_memory.hpp"
#include "unibuf/space.hpp"

namespace unibuf::backends {

/// Allocates memory that is pinned for the device at `by`. As pinning takes long, small allocations are parts of larger
/// blocks, and large ones come from blocks that are kept, where nobody works with their handles. Throws
/// error(out_of_memory), and error(unsupported) where pinning is of no use to the device.
std::unique_ptr<memory> allocate_pinned(space by, std::size_t bytes);

/// Gives back the blocks of pinned memory that nothing is left in.
void trim_pinned();

class pinned_memory : public addressed_memory {
public:
    bool whole_pages() const noexcept override { return true; }
    bool is_populated() const noexcept override { return true; }
    void hand_out() noexcept override { is_out_ = true; }
    bool keeps_for_work_of(space where) const noexcept override { return where == by_; }

protected:
    pinned_memory(std::byte* address, space by) noexcept : addressed_memory(address), by_(by) {}

    bool is_out() const noexcept { return is_out_; }

private:
    space by_;
    bool is_out_ = false;
};

}  // namespace unibuf::backends
