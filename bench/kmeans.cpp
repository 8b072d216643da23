// bench/kmeans.cpp: clusters of points, found by a device and the host in turns, as published OpenCL programs do it.
#include <unibuf/opencl.hpp>
#include <unibuf/unibuf.hpp>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "common/opencl_api.hpp"
#include "opencl.hpp"
#include "race.hpp"

namespace {

namespace cl = bench::opencl;

constexpr int points = 100'000;
constexpr int features = 8;
constexpr int clusters = 5;

constexpr const char* source = R"(
kernel void assign(global const float* points, global const float* centers, global int* nearest, int features,
                   int clusters) {
    const size_t point = get_global_id(0);
    float least = INFINITY;
    for (int c = 0; c < clusters; ++c) {
        float distance = 0;
        for (int f = 0; f < features; ++f) {
            const float apart = points[point * features + f] - centers[c * features + f];
            distance += apart * apart;
        }
        if (distance < least) {
            least = distance;
            nearest[point] = c;
        }
    }
}
)";

std::vector<float> make_points() {
    std::vector<float> made(std::size_t{points} * features);
    unsigned random = 1;
    for (float& each : made) {
        random = random * 1664525U + 1013904223U;
        each = static_cast<float>(random >> 8U) / (1U << 24U);
    }
    return made;
}

/// Moves each center into the middle of its points, which is the host's part.
void move_centers(std::span<const float> of, std::span<const int> nearest, std::span<float> centers) {
    std::vector<float> sums(centers.size());
    std::vector<int> counts(clusters);
    for (std::size_t point = 0; point < nearest.size(); ++point) {
        const auto to = static_cast<std::size_t>(nearest[point]);
        ++counts[to];
        for (std::size_t f = 0; f < features; ++f) sums[to * features + f] += of[point * features + f];
    }
    for (std::size_t i = 0; i < centers.size(); ++i) {
        if (const int count = counts[i / features]; count != 0) centers[i] = sums[i] / static_cast<float>(count);
    }
}

/// Goes on for one round.
class by_library {
public:
    by_library(unibuf::space where, _cl_kernel* kernel, const std::vector<float>& content)
        : where_(where), kernel_(kernel), content_(content) {
        points_.copy_from(content);
        centers_.copy_from(std::span(content).first(centers_.size()));
    }

    void round() {
        unibuf::opencl::enqueue(where_, kernel_, points, read(points_), read(centers_), write(nearest_), features,
                                clusters);
        const auto nearest = nearest_.read(unibuf::host);
        const auto centers = centers_.read_write(unibuf::host);
        move_centers(content_, nearest.span(), centers.span());
    }

    std::vector<float> centers() {
        std::vector<float> result(centers_.size());
        centers_.copy_to(result);
        return result;
    }

private:
    static constexpr unibuf::buffer_options mirrored() {
        unibuf::buffer_options options;
        options.hint = unibuf::memory_hint::gpu_preferred;
        return options;
    }

    unibuf::space where_;
    _cl_kernel* kernel_;
    std::span<const float> content_;
    unibuf::unified_buffer<float> points_{{points, features}, mirrored()};
    unibuf::unified_buffer<float> centers_{{clusters, features}, mirrored()};
    unibuf::unified_buffer<int> nearest_{{points}, mirrored()};
};

class by_hand {
public:
    by_hand(const unibuf::opencl::handles& on, const examples::cl::kernel_program& kernel,
            const std::vector<float>& content)
        : queue_(on.queue),
          kernel_(kernel),
          content_(content),
          centers_(content.begin(), content.begin() + std::ptrdiff_t{clusters} * features),
          nearest_(points),
          points_at_device_(cl::create(on.context, content.size() * sizeof(float))),
          centers_at_device_(cl::create(on.context, centers_.size() * sizeof(float))),
          nearest_at_device_(cl::create(on.context, nearest_.size() * sizeof(int))) {
        cl::write(queue_, points_at_device_, std::as_bytes(content_));
    }
    ~by_hand() {
        for (const cl::memory each : {points_at_device_, centers_at_device_, nearest_at_device_}) cl::release(each);
    }
    by_hand(const by_hand&) = delete;
    by_hand& operator=(const by_hand&) = delete;

    void round() {
        cl::write(queue_, centers_at_device_, std::as_bytes(std::span(centers_)));
        kernel_.set(0, points_at_device_);
        kernel_.set(1, centers_at_device_);
        kernel_.set(2, nearest_at_device_);
        kernel_.set(3, features);
        kernel_.set(4, clusters);
        kernel_.enqueue(points, 1);
        cl::read(queue_, nearest_at_device_, std::as_writable_bytes(std::span(nearest_)));
        move_centers(content_, nearest_, centers_);
    }

    const std::vector<float>& centers() const noexcept { return centers_; }

private:
    cl::queue queue_;
    const examples::cl::kernel_program& kernel_;
    std::span<const float> content_;
    std::vector<float> centers_;
    std::vector<int> nearest_;
    cl::memory points_at_device_;
    cl::memory centers_at_device_;
    cl::memory nearest_at_device_;
};

/// Measures a round of each in turns.
bench::figures kmeans() {
    const unibuf::space where("opencl:0");
    const unibuf::opencl::handles on = unibuf::opencl::handles_of(where);
    const examples::cl::kernel_program kernel(on, source, "assign");
    const std::vector<float> content = make_points();
    by_library mine(where, kernel.native(), content);
    by_hand experts(on, kernel, content);
    const bench::seconds taken = bench::in_typical_turns(1000, [&] { mine.round(); }, [&] { experts.round(); });
    if (mine.centers() != experts.centers()) throw std::logic_error("the two have found other clusters");
    return bench::in_ns(taken);
}

const bench::declared clustering({.name = "opencl.kmeans",
                                  .unit = "ns",
                                  .goal = bench::ratio_at_most(1.02),
                                  .cases = {{"100,000 points of 8 features, 5 clusters", kmeans}}});

}  // namespace
