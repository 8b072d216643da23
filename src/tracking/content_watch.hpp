// tracking/content_watch.hpp: a watch for a while in which pages are faulted in for writing that nobody writes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coherence/byte_ranges.hpp"
#include "tracking/watch.hpp"

namespace unibuf::tracking {

/// A driver that pins pages faults them in for writing, and a watch takes that for a write. With this in its place, a
/// unit that is found counts as written where its contents are others than they were, too: two contents of the same 64
/// bit hash count as the same.
class content_watch final : public watch {
public:
    /// Begins before any page is faulted in. `armed` are the bytes of `memory` that `by` watches; what was written of
    /// them until now is added to `written`.
    content_watch(std::unique_ptr<watch> by, std::span<const std::byte> memory, const byte_ranges& armed,
                  std::vector<byte_range>& written);

    /// Gives back the watch, when no pages are faulted in any more.
    std::unique_ptr<watch> end() && { return std::move(by_); }

    units in_units() const noexcept override { return by_->in_units(); }
    bool compares() const noexcept override { return by_->compares(); }
    byte_ranges compared() const override { return by_->compared(); }
    bool compares_any_of(byte_range range) const noexcept override { return by_->compares_any_of(range); }
    void copy_images(byte_range range, std::byte* to) const noexcept override { by_->copy_images(range, to); }
    void arm(byte_range range) override;
    void disarm(byte_range range) override { by_->disarm(range); }
    void scan(byte_range range, std::vector<byte_range>& written) override;
    bool any_written(byte_range range) override;
    void was_used() noexcept override { by_->was_used(); }
    void touched(byte_range range, std::vector<byte_range>& found) override { by_->touched(range, found); }
    void arm_fresh(byte_range range, std::vector<byte_range>& found) override;

private:
    void look_at(byte_range range);
    std::uint64_t& before(byte_range unit) noexcept;
    std::uint64_t hash_of(byte_range unit) const noexcept;

    std::unique_ptr<watch> by_;
    units units_;
    std::span<const std::byte> memory_;
    std::vector<std::uint64_t> before_;  // hash of each unit's contents
    std::vector<byte_range> seen_;       // what was found, and not compared yet
};

}  // namespace unibuf::tracking
