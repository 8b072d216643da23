// suite/random.hpp: numbers that look random, and are the same in each run.
#pragma once

#include <cstdint>
#include <vector>

namespace suite {

class random_numbers {
public:
    /// Returns a number from 0 up to, but not including, 1.
    float next() { return static_cast<float>(step() >> 40U) / static_cast<float>(1U << 24U); }

    /// Returns a number from 0 up to, but not including, `limit`.
    int below(std::size_t limit) { return static_cast<int>((step() >> 33U) % limit); }

    std::vector<float> take(std::size_t count) {
        std::vector<float> result(count);
        for (float& each : result) each = next();
        return result;
    }

private:
    std::uint64_t step() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX generator
        return state_;
    }

    std::uint64_t state_ = 1;
};

}  // namespace suite
