// suite/bfs.cpp: breadth-first search in a random graph, level by level (Rodinia's bfs).
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <array>

#include "program.hpp"
#include "random.hpp"

namespace suite::bfs_program {
namespace {

constexpr const char* source = R"(
typedef struct { int first, count; } node;

kernel void expand(global const node* nodes, global const int* edges, global char* front, global char* next,
                   global const char* seen, global int* cost) {
    const int i = get_global_id(0);
    if (!front[i]) return;
    front[i] = 0;
    for (int edge = nodes[i].first; edge < nodes[i].first + nodes[i].count; ++edge) {
        const int to = edges[edge];
        if (seen[to]) continue;
        cost[to] = cost[i] + 1;
        next[to] = 1;
    }
}

kernel void advance(global char* front, global char* next, global char* seen, global int* more) {
    const int i = get_global_id(0);
    if (!next[i]) return;
    front[i] = 1;
    seen[i] = 1;
    next[i] = 0;
    *more = 1;
}
)";

struct node {
    int first;
    int count;
};

constexpr std::size_t degree = 6;

class bfs final : public program {
public:
    bfs(unibuf::space where, scale size) : program(where, source), count_(size == scale::full ? 4'000'000 : 1'000) {
        random_numbers random;
        for (std::size_t i = 0; i < count_; ++i) nodes_.push_back({static_cast<int>(i * degree), degree});
        for (std::size_t i = 0; i < count_ * degree; ++i) edges_.push_back(random.below(count_));
    }

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(cost_); }

private:
    std::size_t count_;
    cl::Kernel expand_ = kernel("expand");
    cl::Kernel advance_ = kernel("advance");
    std::vector<node> nodes_;
    std::vector<int> edges_;
    std::vector<int> cost_ = std::vector<int>(count_);
    int levels_ = 0;  // of the last run
};

void bfs::published() {
    std::vector<char> front(count_), next(count_), seen(count_);
    std::array<int, 1> more{};
    front[0] = seen[0] = 1;
    std::ranges::fill(cost_, -1);
    cost_[0] = 0;
    cl::Buffer device_nodes(context(), CL_MEM_READ_WRITE, count_ * sizeof(node));
    cl::Buffer device_edges(context(), CL_MEM_READ_WRITE, edges_.size() * sizeof(int));
    cl::Buffer device_front(context(), CL_MEM_READ_WRITE, count_), device_next(context(), CL_MEM_READ_WRITE, count_),
        device_seen(context(), CL_MEM_READ_WRITE, count_);
    cl::Buffer device_cost(context(), CL_MEM_READ_WRITE, count_ * sizeof(int)),
        device_more(context(), CL_MEM_READ_WRITE, sizeof(int));
    queue().enqueueWriteBuffer(device_nodes, CL_TRUE, 0, count_ * sizeof(node), nodes_.data());
    queue().enqueueWriteBuffer(device_edges, CL_TRUE, 0, edges_.size() * sizeof(int), edges_.data());
    queue().enqueueWriteBuffer(device_front, CL_TRUE, 0, count_, front.data());
    queue().enqueueWriteBuffer(device_next, CL_TRUE, 0, count_, next.data());
    queue().enqueueWriteBuffer(device_seen, CL_TRUE, 0, count_, seen.data());
    queue().enqueueWriteBuffer(device_cost, CL_TRUE, 0, count_ * sizeof(int), cost_.data());
    levels_ = 0;
    do {
        ++levels_;
        more[0] = 0;
        queue().enqueueWriteBuffer(device_more, CL_TRUE, 0, sizeof(int), more.data());
        run(queue(), expand_, count_, device_nodes, device_edges, device_front, device_next, device_seen, device_cost);
        run(queue(), advance_, count_, device_front, device_next, device_seen, device_more);
        queue().enqueueReadBuffer(device_more, CL_TRUE, 0, sizeof(int), more.data());
    } while (more[0] != 0);
    queue().enqueueReadBuffer(device_cost, CL_TRUE, 0, count_ * sizeof(int), cost_.data());
}

void bfs::copy_all() {
    std::vector<char> front(count_), next(count_), seen(count_);
    std::array<int, 1> more{};
    front[0] = seen[0] = 1;
    std::ranges::fill(cost_, -1);
    cost_[0] = 0;
    cl::Buffer device_nodes(context(), CL_MEM_READ_WRITE, count_ * sizeof(node));
    cl::Buffer device_edges(context(), CL_MEM_READ_WRITE, edges_.size() * sizeof(int));
    cl::Buffer device_front(context(), CL_MEM_READ_WRITE, count_), device_next(context(), CL_MEM_READ_WRITE, count_),
        device_seen(context(), CL_MEM_READ_WRITE, count_);
    cl::Buffer device_cost(context(), CL_MEM_READ_WRITE, count_ * sizeof(int)),
        device_more(context(), CL_MEM_READ_WRITE, sizeof(int));
    levels_ = 0;
    do {
        ++levels_;
        queue().enqueueWriteBuffer(device_nodes, CL_TRUE, 0, count_ * sizeof(node), nodes_.data());
        queue().enqueueWriteBuffer(device_edges, CL_TRUE, 0, edges_.size() * sizeof(int), edges_.data());
        queue().enqueueWriteBuffer(device_front, CL_TRUE, 0, count_, front.data());
        queue().enqueueWriteBuffer(device_next, CL_TRUE, 0, count_, next.data());
        queue().enqueueWriteBuffer(device_seen, CL_TRUE, 0, count_, seen.data());
        queue().enqueueWriteBuffer(device_cost, CL_TRUE, 0, count_ * sizeof(int), cost_.data());
        run(queue(), expand_, count_, device_nodes, device_edges, device_front, device_next, device_seen, device_cost);
        queue().enqueueReadBuffer(device_front, CL_TRUE, 0, count_, front.data());
        queue().enqueueReadBuffer(device_next, CL_TRUE, 0, count_, next.data());
        queue().enqueueReadBuffer(device_cost, CL_TRUE, 0, count_ * sizeof(int), cost_.data());
        more[0] = 0;
        queue().enqueueWriteBuffer(device_front, CL_TRUE, 0, count_, front.data());
        queue().enqueueWriteBuffer(device_next, CL_TRUE, 0, count_, next.data());
        queue().enqueueWriteBuffer(device_seen, CL_TRUE, 0, count_, seen.data());
        queue().enqueueWriteBuffer(device_more, CL_TRUE, 0, sizeof(int), more.data());
        run(queue(), advance_, count_, device_front, device_next, device_seen, device_more);
        queue().enqueueReadBuffer(device_front, CL_TRUE, 0, count_, front.data());
        queue().enqueueReadBuffer(device_next, CL_TRUE, 0, count_, next.data());
        queue().enqueueReadBuffer(device_seen, CL_TRUE, 0, count_, seen.data());
        queue().enqueueReadBuffer(device_more, CL_TRUE, 0, sizeof(int), more.data());
    } while (more[0] != 0);
}

void bfs::expert() {
    std::array<int, 1> found{};
    cl::Buffer nodes(context(), CL_MEM_READ_WRITE, count_ * sizeof(node));
    cl::Buffer edges(context(), CL_MEM_READ_WRITE, edges_.size() * sizeof(int));
    cl::Buffer front(context(), CL_MEM_READ_WRITE, count_), next(context(), CL_MEM_READ_WRITE, count_),
        seen(context(), CL_MEM_READ_WRITE, count_);
    cl::Buffer cost(context(), CL_MEM_READ_WRITE, count_ * sizeof(int)),
        more(context(), CL_MEM_READ_WRITE, sizeof(int));
    queue().enqueueWriteBuffer(nodes, CL_TRUE, 0, count_ * sizeof(node), nodes_.data());
    queue().enqueueWriteBuffer(edges, CL_TRUE, 0, edges_.size() * sizeof(int), edges_.data());
    queue().enqueueFillBuffer(front, char{0}, 0, count_);
    queue().enqueueFillBuffer(next, char{0}, 0, count_);
    queue().enqueueFillBuffer(seen, char{0}, 0, count_);
    queue().enqueueFillBuffer(cost, -1, 0, count_ * sizeof(int));
    queue().enqueueFillBuffer(front, char{1}, 0, 1);
    queue().enqueueFillBuffer(seen, char{1}, 0, 1);
    queue().enqueueFillBuffer(cost, 0, 0, sizeof(int));
    levels_ = 0;
    do {
        ++levels_;
        queue().enqueueFillBuffer(more, 0, 0, sizeof(int));
        run(queue(), expand_, count_, nodes, edges, front, next, seen, cost);
        run(queue(), advance_, count_, front, next, seen, more);
        queue().enqueueReadBuffer(more, CL_TRUE, 0, sizeof(int), found.data());
    } while (found[0] != 0);
    queue().enqueueReadBuffer(cost, CL_TRUE, 0, count_ * sizeof(int), cost_.data());
}

void bfs::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<node> nodes({count_}, options);
    unified_buffer<int> edges({edges_.size()}, options);
    unified_buffer<char> front({count_}, options), next({count_}, options), seen({count_}, options);
    unified_buffer<int> cost({count_}, options), more({1}, options);
    nodes.copy_from(nodes_, where());
    edges.copy_from(edges_, where());
    cost.fill(-1, where());
    front.view(0, 1).fill(1, where());
    seen.view(0, 1).fill(1, where());
    cost.view(0, 1).fill(0, where());
    levels_ = 0;
    do {
        ++levels_;
        more.fill(0, where());
        opencl::enqueue(expand_(), count_, read(nodes), read(edges), read_write(front), read_write(next), read(seen),
                        read_write(cost));
        opencl::enqueue(advance_(), count_, read_write(front), read_write(next), read_write(seen), read_write(more));
    } while (more.read(host)[0] != 0);
    cost.copy_to(cost_, where());
}

void bfs::touches(ledger& told) const {
    told.make("nodes", count_, sizeof(node));
    told.make("edges", edges_.size(), sizeof(int));
    told.make("cost", count_, sizeof(int));
    for (const char* each : {"front", "next", "seen"}) told.make(each, count_, sizeof(char));
    told.make("more", 1, sizeof(int));
    told.host_writes("nodes");
    told.host_writes("edges");
    for (int level = 0; level < levels_; ++level) {
        told.fills("more");
        told.device_reads({"nodes", "edges", "front", "next", "seen", "cost"});
        told.device_writes({"front", "next", "seen", "cost", "more"});
        told.host_reads("more");
    }
    told.host_reads("cost");
}

const registered entry_of_bfs({.name = "bfs",
                               .origin = "Rodinia",
                               .problem = "breadth-first search of a graph of 4,000,000 nodes and 24,000,000 edges",
                               .make = made<bfs>});

}  // namespace
}  // namespace suite::bfs_program
