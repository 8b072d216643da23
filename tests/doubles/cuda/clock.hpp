// tests/doubles/cuda/clock.hpp: what has happened before, counted for each stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuda_double {

/// The n-th operation of a stream happened before whoever has a clock that has seen n of that stream.
class vector_clock {
public:
    bool has_seen(std::size_t stream, std::uint64_t operation) const noexcept {
        return stream < seen_.size() && seen_[stream] >= operation;
    }

    void see(std::size_t stream, std::uint64_t operation) {
        if (seen_.size() <= stream) seen_.resize(stream + 1);
        seen_[stream] = std::max(seen_[stream], operation);
    }

    void join(const vector_clock& other) {
        if (seen_.size() < other.seen_.size()) seen_.resize(other.seen_.size());
        for (std::size_t i = 0; i < other.seen_.size(); ++i) seen_[i] = std::max(seen_[i], other.seen_[i]);
    }

private:
    std::vector<std::uint64_t> seen_;
};

}  // namespace cuda_double
