// backends/metal/committed_work.hpp: command buffers that were committed, as fences.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/metal/calls.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends::metal {

/// A place on a queue: the queue's event has this value, or a greater one, when the work before it has ended.
struct place {
    id queue = nullptr;
    id event = nullptr;  // lives as long as the process: see queues.hpp
    std::uint64_t value = 0;
};

/// The work of one command buffer, and perhaps of some before it on the same queue.
class committed_work final : public fence::work {
public:
    committed_work(owned commands, const place& end, std::vector<fence> earlier) noexcept
        : commands_(std::move(commands)), end_(end), earlier_(std::move(earlier)) {}

    bool wait(std::chrono::nanoseconds timeout) override;

    const place& end() const noexcept { return end_; }

private:
    bool is_done() const;

    const owned commands_;
    const place end_;
    const std::vector<fence> earlier_;
};

}  // namespace unibuf::backends::metal
