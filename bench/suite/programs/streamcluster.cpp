// suite/streamcluster.cpp: a small number of centers for many points, which the host searches, and a device tells what
// each would change (Rodinia's streamcluster).
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <span>
#include <utility>

#include "center_search.hpp"
#include "program.hpp"

namespace suite::streamcluster_program {
namespace {

constexpr const char* source = R"(
typedef struct {
    float weight;
    long center;
    float cost;
} point;

// Each point sets one of its changes, which are 0 before: see center_search::saved_by.
kernel void change(global const point* points, global const float* coordinates, global const int* columns,
                  global float* changes, global char* switches, int dimensions, int candidate, int centers) {
    const int count = get_global_size(0), i = get_global_id(0);
    float distance = 0;
    for (int d = 0; d < dimensions; ++d) {
        const float apart = coordinates[d * count + i] - coordinates[d * count + candidate];
        distance += apart * apart;
    }
    const float more = points[i].weight * distance - points[i].cost;
    switches[i] = more < 0;
    if (more < 0) {
        changes[i * (centers + 1) + centers] = more;
    } else {
        changes[i * (centers + 1) + columns[points[i].center]] = -more;
    }
}
)";

class streamcluster final : public program {
public:
    streamcluster(unibuf::space where, scale size)
        : program(where, source),
          count_(size == scale::full ? 32'768 : 256),
          search_(count_, size == scale::full ? 200 : 40) {}

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override;

private:
    static constexpr int dimensions = static_cast<int>(center_search::dimensions);
    static constexpr std::size_t most_columns = center_search::most_columns;

    /// Returns how many changes there are, now that there are so many centers.
    std::size_t used() const { return count_ * static_cast<std::size_t>(search_.centers() + 1); }

    std::size_t count_;
    center_search search_;
    cl::Kernel change_ = kernel("change");
    std::vector<point> points_ = std::vector<point>(count_);
};

void streamcluster::published() {
    cl::Buffer coordinates(context(), CL_MEM_READ_WRITE, count_ * center_search::dimensions * sizeof(float)),
        changes(context(), CL_MEM_READ_WRITE, count_ * most_columns * sizeof(float));
    cl::Buffer points(context(), CL_MEM_READ_WRITE, count_ * sizeof(point));
    cl::Buffer columns(context(), CL_MEM_READ_WRITE, count_ * sizeof(int));
    cl::Buffer switches(context(), CL_MEM_READ_WRITE, count_);
    std::vector<float> found(count_ * most_columns);
    std::vector<int> column_of(count_);
    std::vector<char> switching(count_);
    queue().enqueueWriteBuffer(coordinates, CL_TRUE, 0, count_ * center_search::dimensions * sizeof(float),
                               search_.coordinates().data());
    search_.begin(points_, column_of);
    search_.run([&](int candidate) {
        queue().enqueueWriteBuffer(columns, CL_TRUE, 0, count_ * sizeof(int), column_of.data());
        queue().enqueueWriteBuffer(points, CL_TRUE, 0, count_ * sizeof(point), points_.data());
        queue().enqueueFillBuffer(changes, 0.0F, 0, used() * sizeof(float));
        run(queue(), change_, count_, points, coordinates, columns, changes, switches, dimensions, candidate,
            search_.centers());
        queue().enqueueReadBuffer(switches, CL_TRUE, 0, count_, switching.data());
        queue().enqueueReadBuffer(changes, CL_TRUE, 0, used() * sizeof(float), found.data());
        const float saved = search_.saved_by(found);
        if (saved > 0) search_.accept(candidate, switching, points_, column_of);
        return saved;
    });
}

void streamcluster::copy_all() {
    cl::Buffer coordinates(context(), CL_MEM_READ_WRITE, count_ * center_search::dimensions * sizeof(float)),
        changes(context(), CL_MEM_READ_WRITE, count_ * most_columns * sizeof(float));
    cl::Buffer points(context(), CL_MEM_READ_WRITE, count_ * sizeof(point));
    cl::Buffer columns(context(), CL_MEM_READ_WRITE, count_ * sizeof(int));
    cl::Buffer switches(context(), CL_MEM_READ_WRITE, count_);
    std::vector<float> found(count_ * most_columns);
    std::vector<int> column_of(count_);
    std::vector<char> switching(count_);
    search_.begin(points_, column_of);
    search_.run([&](int candidate) {
        const std::span all(found.data(), used());
        std::ranges::fill(all, 0.0F);
        queue().enqueueWriteBuffer(points, CL_TRUE, 0, count_ * sizeof(point), points_.data());
        queue().enqueueWriteBuffer(coordinates, CL_TRUE, 0, count_ * center_search::dimensions * sizeof(float),
                                   search_.coordinates().data());
        queue().enqueueWriteBuffer(columns, CL_TRUE, 0, count_ * sizeof(int), column_of.data());
        queue().enqueueWriteBuffer(changes, CL_TRUE, 0, count_ * most_columns * sizeof(float), all.data());
        queue().enqueueWriteBuffer(switches, CL_TRUE, 0, count_, switching.data());
        run(queue(), change_, count_, points, coordinates, columns, changes, switches, dimensions, candidate,
            search_.centers());
        queue().enqueueReadBuffer(changes, CL_TRUE, 0, count_ * most_columns * sizeof(float), all.data());
        queue().enqueueReadBuffer(switches, CL_TRUE, 0, count_, switching.data());
        const float saved = search_.saved_by(found);
        if (saved > 0) search_.accept(candidate, switching, points_, column_of);
        return saved;
    });
}

void streamcluster::expert() {
    cl::Buffer coordinates(context(), CL_MEM_READ_WRITE, count_ * center_search::dimensions * sizeof(float)),
        changes(context(), CL_MEM_READ_WRITE, count_ * most_columns * sizeof(float));
    cl::Buffer points(context(), CL_MEM_READ_WRITE, count_ * sizeof(point));
    cl::Buffer columns(context(), CL_MEM_READ_WRITE, count_ * sizeof(int));
    cl::Buffer switches(context(), CL_MEM_READ_WRITE, count_);
    std::vector<float> found(count_ * most_columns);
    std::vector<int> column_of(count_);
    std::vector<char> switching(count_);
    queue().enqueueWriteBuffer(coordinates, CL_TRUE, 0, count_ * center_search::dimensions * sizeof(float),
                               search_.coordinates().data());
    search_.begin(points_, column_of);
    bool has_changed = true;
    search_.run([&](int candidate) {
        if (has_changed) {
            queue().enqueueWriteBuffer(points, CL_TRUE, 0, count_ * sizeof(point), points_.data());
            queue().enqueueWriteBuffer(columns, CL_TRUE, 0, count_ * sizeof(int), column_of.data());
        }
        queue().enqueueFillBuffer(changes, 0.0F, 0, used() * sizeof(float));
        run(queue(), change_, count_, points, coordinates, columns, changes, switches, dimensions, candidate,
            search_.centers());
        queue().enqueueReadBuffer(changes, CL_TRUE, 0, used() * sizeof(float), found.data());
        const float saved = search_.saved_by(found);
        has_changed = saved > 0;
        if (has_changed) {
            queue().enqueueReadBuffer(switches, CL_TRUE, 0, count_, switching.data());
            search_.accept(candidate, switching, points_, column_of);
        }
        return saved;
    });
}

void streamcluster::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> coordinates({search_.coordinates().size()}, options);
    unified_buffer<float> all_changes({count_ * most_columns}, options);
    unified_buffer<point> points({count_}, options);
    unified_buffer<int> columns({count_}, options);
    unified_buffer<char> switches({count_}, options);
    coordinates.copy_from(search_.coordinates(), where());
    search_.begin(points.write(host).span(), columns.write(host).span());
    search_.run([&](int candidate) {
        auto changes = all_changes.view(0, used());
        changes.fill(0, where());
        opencl::enqueue(change_(), count_, read(points), read(coordinates), read(columns), read_write(changes),
                        write(switches), dimensions, candidate, search_.centers());
        const float saved = search_.saved_by(changes.read(host).span());
        if (saved > 0) {
            search_.accept(candidate, switches.read(host).span(), points.read_write(host).span(),
                           columns.read_write(host).span());
        }
        return saved;
    });
    points.copy_to(points_);
}

void streamcluster::touches(ledger& told) const {
    told.make("coordinates", search_.coordinates().size(), sizeof(float));
    told.make("changes", count_ * most_columns, sizeof(float));
    told.make("points", count_, sizeof(point));
    told.make("columns", count_, sizeof(int));
    told.make("switches", count_, sizeof(char));
    for (const char* each : {"coordinates", "points", "columns"}) told.host_writes(each);
    for (const center_search::tried& each : search_.tries()) {
        const touched changes("changes", 0, count_ * (each.centers + 1));
        told.fills(changes);
        told.device_reads({"points", "coordinates", "columns"});
        told.device_writes({changes, "switches"});
        told.host_reads(changes);
        if (!each.accepted) continue;
        told.host_reads("switches");
        told.host_writes("points");
        told.host_writes("columns");
    }
}

/// Leaves out what lies between the members of a point.
std::vector<std::byte> streamcluster::take_result() {
    std::vector<float> costs;
    for (const point& each : std::exchange(points_, std::vector<point>(count_))) costs.push_back(each.cost);
    return taken(costs);
}

const registered entry_of_streamcluster({.name = "streamcluster",
                                         .origin = "Rodinia",
                                         .problem = "centers for 32,768 points of 64 dimensions, with 200 candidates",
                                         .make = made<streamcluster>});

}  // namespace
}  // namespace suite::streamcluster_program
