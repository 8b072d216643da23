// suite/kmeans.cpp: clusters of points, found by a device and the host in turns (Rodinia's kmeans).
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <span>

#include "program.hpp"
#include "random.hpp"

namespace suite::kmeans_program {
namespace {

constexpr const char* source = R"(
kernel void transpose(global const float* points, global float* columns, int features) {
    const int count = get_global_size(0), i = get_global_id(0);
    for (int f = 0; f < features; ++f) columns[f * count + i] = points[i * features + f];
}

kernel void assign(global const float* columns, global const float* centers, global int* nearest, int features,
                   int clusters) {
    const int count = get_global_size(0), i = get_global_id(0);
    float least = INFINITY;
    int found = 0;
    for (int c = 0; c < clusters; ++c) {
        float distance = 0;
        for (int f = 0; f < features; ++f) {
            const float apart = columns[f * count + i] - centers[c * features + f];
            distance += apart * apart;
        }
        if (distance < least) {
            least = distance;
            found = c;
        }
    }
    nearest[i] = found;
}
)";

constexpr int features = 34;
constexpr int clusters = 5;
constexpr int most_rounds = 500;

/// Notes the cluster that each point is in now, and moves each center into the middle of its points. Returns how many
/// points have changed their cluster.
int move_centers(std::span<const float> points, std::span<const int> nearest, std::span<int> membership,
                 std::span<float> centers) {
    std::vector<float> sums(centers.size());
    std::vector<int> counts(clusters);
    int changed = 0;
    for (std::size_t i = 0; i < nearest.size(); ++i) {
        changed += static_cast<int>(membership[i] != nearest[i]);
        membership[i] = nearest[i];
        const auto to = static_cast<std::size_t>(nearest[i]);
        ++counts[to];
        for (std::size_t f = 0; f < features; ++f) sums[to * features + f] += points[i * features + f];
    }
    for (std::size_t i = 0; i < centers.size(); ++i) {
        if (const int count = counts[i / features]; count != 0) centers[i] = sums[i] / static_cast<float>(count);
    }
    return changed;
}

class kmeans final : public program {
public:
    kmeans(unibuf::space where, scale size) : program(where, source), count_(size == scale::full ? 600'000 : 1'000) {
        random_numbers random;
        const std::vector<float> middles = random.take(centers_.size());
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t first = static_cast<std::size_t>(random.below(clusters)) * features;
            for (std::size_t f = 0; f < features; ++f) points_.push_back(middles[first + f] + spread * random.next());
        }
    }

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(centers_); }

private:
    static constexpr float spread = 2;  // so that clusters overlap, and it takes a dozen rounds to find them

    std::span<const float> first_points() const { return std::span(points_).first(centers_.size()); }

    std::size_t count_;
    cl::Kernel transpose_ = kernel("transpose");
    cl::Kernel assign_ = kernel("assign");
    std::vector<float> points_;
    std::vector<float> centers_ = std::vector<float>(std::size_t{clusters} * features);
    int rounds_ = 0;  // of the last run
};

void kmeans::published() {
    cl::Buffer points(context(), CL_MEM_READ_WRITE, points_.size() * sizeof(float)),
        columns(context(), CL_MEM_READ_WRITE, points_.size() * sizeof(float)),
        centers(context(), CL_MEM_READ_WRITE, centers_.size() * sizeof(float));
    cl::Buffer nearest(context(), CL_MEM_READ_WRITE, count_ * sizeof(int));
    std::vector<int> found(count_), membership(count_, -1);
    std::ranges::copy(first_points(), centers_.begin());
    queue().enqueueWriteBuffer(points, CL_TRUE, 0, points_.size() * sizeof(float), points_.data());
    run(queue(), transpose_, count_, points, columns, features);
    rounds_ = 0;
    do {
        ++rounds_;
        queue().enqueueWriteBuffer(centers, CL_TRUE, 0, centers_.size() * sizeof(float), centers_.data());
        run(queue(), assign_, count_, columns, centers, nearest, features, clusters);
        queue().enqueueReadBuffer(nearest, CL_TRUE, 0, count_ * sizeof(int), found.data());
    } while (move_centers(points_, found, membership, centers_) > 0 && rounds_ <= most_rounds);
}

void kmeans::copy_all() {
    cl::Buffer points(context(), CL_MEM_READ_WRITE, points_.size() * sizeof(float)),
        columns(context(), CL_MEM_READ_WRITE, points_.size() * sizeof(float)),
        centers(context(), CL_MEM_READ_WRITE, centers_.size() * sizeof(float));
    cl::Buffer nearest(context(), CL_MEM_READ_WRITE, count_ * sizeof(int));
    std::vector<float> turned(points_.size());
    std::vector<int> found(count_), membership(count_, -1);
    std::ranges::copy(first_points(), centers_.begin());
    queue().enqueueWriteBuffer(points, CL_TRUE, 0, points_.size() * sizeof(float), points_.data());
    queue().enqueueWriteBuffer(columns, CL_TRUE, 0, points_.size() * sizeof(float), turned.data());
    run(queue(), transpose_, count_, points, columns, features);
    queue().enqueueReadBuffer(columns, CL_TRUE, 0, points_.size() * sizeof(float), turned.data());
    rounds_ = 0;
    do {
        ++rounds_;
        queue().enqueueWriteBuffer(columns, CL_TRUE, 0, points_.size() * sizeof(float), turned.data());
        queue().enqueueWriteBuffer(centers, CL_TRUE, 0, centers_.size() * sizeof(float), centers_.data());
        queue().enqueueWriteBuffer(nearest, CL_TRUE, 0, count_ * sizeof(int), found.data());
        run(queue(), assign_, count_, columns, centers, nearest, features, clusters);
        queue().enqueueReadBuffer(nearest, CL_TRUE, 0, count_ * sizeof(int), found.data());
    } while (move_centers(points_, found, membership, centers_) > 0 && rounds_ <= most_rounds);
}

void kmeans::expert() {
    cl::Buffer points(context(), CL_MEM_READ_WRITE, points_.size() * sizeof(float)),
        columns(context(), CL_MEM_READ_WRITE, points_.size() * sizeof(float)),
        centers(context(), CL_MEM_READ_WRITE, centers_.size() * sizeof(float));
    cl::Buffer nearest(context(), CL_MEM_READ_WRITE, count_ * sizeof(int));
    std::vector<int> found(count_), membership(count_, -1);
    std::ranges::copy(first_points(), centers_.begin());
    queue().enqueueWriteBuffer(points, CL_TRUE, 0, points_.size() * sizeof(float), points_.data());
    run(queue(), transpose_, count_, points, columns, features);
    rounds_ = 0;
    do {
        ++rounds_;
        queue().enqueueWriteBuffer(centers, CL_TRUE, 0, centers_.size() * sizeof(float), centers_.data());
        run(queue(), assign_, count_, columns, centers, nearest, features, clusters);
        queue().enqueueReadBuffer(nearest, CL_TRUE, 0, count_ * sizeof(int), found.data());
    } while (move_centers(points_, found, membership, centers_) > 0 && rounds_ <= most_rounds);
}

void kmeans::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> points({points_.size()}, options), columns({points_.size()}, options);
    unified_buffer<float> centers({centers_.size()}, options);
    unified_buffer<int> nearest({count_}, options);
    std::vector<int> membership(count_, -1);
    points.copy_from(points_, where());
    centers.copy_from(first_points());
    opencl::enqueue(transpose_(), count_, read(points), write(columns), features);
    rounds_ = 0;
    do {
        ++rounds_;
        opencl::enqueue(assign_(), count_, read(columns), read(centers), write(nearest), features, clusters);
    } while (move_centers(points_, nearest.read(host).span(), membership, centers.read_write(host).span()) > 0 &&
             rounds_ <= most_rounds);
    centers.copy_to(centers_);
}

void kmeans::touches(ledger& told) const {
    told.make("points", points_.size(), sizeof(float));
    told.make("columns", points_.size(), sizeof(float));
    told.make("centers", centers_.size(), sizeof(float));
    told.make("nearest", count_, sizeof(int));
    told.host_writes("points");
    told.device_reads({"points"});
    told.device_writes({"columns"});
    told.host_writes("centers");
    for (int round = 0; round < rounds_; ++round) {
        told.device_reads({"columns", "centers"});
        told.device_writes({"nearest"});
        told.host_reads("nearest");
        told.host_writes("centers");
    }
}

const registered entry_of_kmeans({.name = "kmeans",
                                  .origin = "Rodinia",
                                  .problem = "5 clusters of 600,000 points of 34 features",
                                  .make = made<kmeans>});

}  // namespace
}  // namespace suite::kmeans_program
