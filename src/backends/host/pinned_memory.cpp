// backends/host/pinned_memory.cpp: the host's memory, pinned for as long as it is there.
#include "backends/host/pinned_memory.hpp"

#include <array>
#include <mutex>
#include <utility>

#include "backends/arena.hpp"
#include "backends/host/pinned_blocks.hpp"
#include "backends/spaces.hpp"
#include "process/mutex.hpp"
#include "system/pages.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

// Blocks are smaller than a huge page, so that none becomes one, which would be split.
constexpr std::size_t block_of_small = std::size_t{1} << 20;

/// Whole pages can be pinned, and watched.
arena::measures small() noexcept {
    return {.block = block_of_small, .granule = system::page_size(), .largest = block_of_small / 8};
}

/// One arena for each device; they are never destroyed, as buffers may go when static objects do.
struct arenas {
    process::mutex mutex{process::mutex::rank::renewed};
    std::array<std::unique_ptr<arena>, max_spaces> of;

    static arenas& instance() {
        static auto* const only = new arenas;
        return *only;
    }
};

arena& small_pinned(space by) {
    arenas& all = arenas::instance();
    const std::scoped_lock lock(all.mutex);
    std::unique_ptr<arena>& found = all.of[by.id()];
    if (!found) {
        found = std::make_unique<arena>(
            small(),
            [by](std::size_t bytes) {
                return with_room_of_kept([&] { return std::make_unique<pinned_block>(by, bytes); });
            },
            [by] { device_of(by).record({}); });
        device_of(by).tell_of_fences({.begin = [parts = found.get()] { parts->begin_fence(); },
                                      .end = [parts = found.get()](const fence& behind) { parts->end_fence(behind); }});
    }
    return *found;
}

class part_of_block final : public pinned_memory {
public:
    part_of_block(space by, arena& of, std::size_t bytes) : part_of_block(by, of, of.allocate(bytes), bytes) {}
    ~part_of_block() override { of_.free(handle(), bytes_, is_out()); }
    part_of_block(const part_of_block&) = delete;
    part_of_block& operator=(const part_of_block&) = delete;

    std::span<std::byte> common_mapping() const noexcept override {
        return {reinterpret_cast<std::byte*>(block_), block_of_small};
    }

private:
    part_of_block(space by, arena& of, arena::place at, std::size_t bytes)
        : pinned_memory(reinterpret_cast<std::byte*>(at.address), by), of_(of), block_(at.block), bytes_(bytes) {}

    arena& of_;
    std::uintptr_t block_;
    std::size_t bytes_;
};

class own_block final : public pinned_memory {
public:
    own_block(space by, std::unique_ptr<pinned_block> made)
        : pinned_memory(reinterpret_cast<std::byte*>(made->address()), by), made_(std::move(made)) {}
    ~own_block() override {
        if (!is_out()) kept_blocks::instance().keep(std::move(made_));
    }
    own_block(const own_block&) = delete;
    own_block& operator=(const own_block&) = delete;

    bool starts_zero() const noexcept override { return made_->starts_zero(); }
    std::span<std::byte> common_mapping() const noexcept override { return made_->common_mapping(); }

private:
    std::unique_ptr<pinned_block> made_;
};

std::unique_ptr<memory> make_own_block(space by, std::size_t bytes) {
    return std::make_unique<own_block>(by, kept_blocks::instance().make(by, bytes));
}

}  // namespace

std::unique_ptr<memory> allocate_pinned(space by, std::size_t bytes) {
    arena& parts = small_pinned(by);
    try {
        if (parts.serves(bytes)) return std::make_unique<part_of_block>(by, parts, bytes);
        return make_own_block(by, bytes);
    } catch (const error& failure) {
        if (failure.code() != error_code::out_of_memory) throw;
        const bool helps = parts.trim(std::chrono::seconds(1)) || parts.serves(bytes);
        if (!helps) throw;
        return make_own_block(by, bytes);
    }
}

void trim_pinned() {
    kept_blocks::instance().clear();
    arenas& all = arenas::instance();
    for (std::size_t i = 0; i < max_spaces; ++i) {
        arena* each = nullptr;
        {
            const std::scoped_lock lock(all.mutex);
            each = all.of[i].get();
        }
        if (each) each->trim();
    }
}

}  // namespace unibuf::backends
