// suite/bfs.cpp: breadth-first search in a random graph, level by level (Rodinia's bfs).
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <array>

#include "program.hpp"
#include "random.hpp"

namespace suite {
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
    bfs(unibuf::space where, scale size) : program(where, source), count_(size == scale::full ? 1'000'000 : 1'000) {
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
    _cl_kernel* expand_ = kernels_["expand"];
    _cl_kernel* advance_ = kernels_["advance"];
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
    device_array<node> device_nodes(on_, count_);
    device_array<int> device_edges(on_, edges_.size());
    device_array<char> device_front(on_, count_), device_next(on_, count_), device_seen(on_, count_);
    device_array<int> device_cost(on_, count_), device_more(on_, 1);
    device_nodes.write(nodes_);
    device_edges.write(edges_);
    device_front.write(front);
    device_next.write(next);
    device_seen.write(seen);
    device_cost.write(cost_);
    levels_ = 0;
    do {
        ++levels_;
        more[0] = 0;
        device_more.write(more);
        run(on_, expand_, count_, device_nodes, device_edges, device_front, device_next, device_seen, device_cost);
        run(on_, advance_, count_, device_front, device_next, device_seen, device_more);
        device_more.read(more);
    } while (more[0] != 0);
    device_cost.read(cost_);
}

void bfs::copy_all() {
    std::vector<char> front(count_), next(count_), seen(count_);
    std::array<int, 1> more{};
    front[0] = seen[0] = 1;
    std::ranges::fill(cost_, -1);
    cost_[0] = 0;
    device_array<node> device_nodes(on_, count_);
    device_array<int> device_edges(on_, edges_.size());
    device_array<char> device_front(on_, count_), device_next(on_, count_), device_seen(on_, count_);
    device_array<int> device_cost(on_, count_), device_more(on_, 1);
    levels_ = 0;
    do {
        ++levels_;
        device_nodes.write(nodes_);
        device_edges.write(edges_);
        device_front.write(front);
        device_next.write(next);
        device_seen.write(seen);
        device_cost.write(cost_);
        run(on_, expand_, count_, device_nodes, device_edges, device_front, device_next, device_seen, device_cost);
        device_front.read(front);
        device_next.read(next);
        device_cost.read(cost_);
        more[0] = 0;
        device_front.write(front);
        device_next.write(next);
        device_seen.write(seen);
        device_more.write(more);
        run(on_, advance_, count_, device_front, device_next, device_seen, device_more);
        device_front.read(front);
        device_next.read(next);
        device_seen.read(seen);
        device_more.read(more);
    } while (more[0] != 0);
}

void bfs::expert() {
    std::array<int, 1> found{};
    device_array<node> nodes(on_, count_);
    device_array<int> edges(on_, edges_.size());
    device_array<char> front(on_, count_), next(on_, count_), seen(on_, count_);
    device_array<int> cost(on_, count_), more(on_, 1);
    nodes.write(nodes_);
    edges.write(edges_);
    front.fill(0);
    next.fill(0);
    seen.fill(0);
    cost.fill(-1);
    front.fill(1, 0, 1);
    seen.fill(1, 0, 1);
    cost.fill(0, 0, 1);
    levels_ = 0;
    do {
        ++levels_;
        more.fill(0);
        run(on_, expand_, count_, nodes, edges, front, next, seen, cost);
        run(on_, advance_, count_, front, next, seen, more);
        more.read(found);
    } while (found[0] != 0);
    cost.read(cost_);
}

void bfs::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<node> nodes({count_}, options);
    unified_buffer<int> edges({edges_.size()}, options);
    unified_buffer<char> front({count_}, options), next({count_}, options), seen({count_}, options);
    unified_buffer<int> cost({count_}, options), more({1}, options);
    nodes.copy_from(nodes_, where_);
    edges.copy_from(edges_, where_);
    cost.fill(-1, where_);
    front.view(0, 1).fill(1, where_);
    seen.view(0, 1).fill(1, where_);
    cost.view(0, 1).fill(0, where_);
    levels_ = 0;
    do {
        ++levels_;
        more.fill(0, where_);
        opencl::enqueue(expand_, count_, read(nodes), read(edges), read_write(front), read_write(next), read(seen),
                        read_write(cost));
        opencl::enqueue(advance_, count_, read_write(front), read_write(next), read_write(seen), read_write(more));
    } while (more.read(host)[0] != 0);
    cost.copy_to(cost_, where_);
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
                               .problem = "breadth-first search of a graph of 1,000,000 nodes and 6,000,000 edges",
                               .make = made<bfs>});

}  // namespace
}  // namespace suite
