// peers/starpu.cpp: StarPU, with one OpenCL worker. A part of an array is a child of a partition, as its guide has it.
#include <starpu.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "by_unibuf.hpp"
#include "device.hpp"

namespace peers {
namespace {

/// What the worker's thread uses. StarPU gives codelets no other place for it.
device* at_worker = nullptr;

_cl_mem* memory(void* of) { return reinterpret_cast<_cl_mem*>(STARPU_MATRIX_GET_DEV_HANDLE(of)); }
std::size_t elements_of(void* of) { return std::size_t{STARPU_MATRIX_GET_NX(of)} * STARPU_MATRIX_GET_NY(of); }

void look(void* buffers[], void* arguments) {
    std::size_t first = 0;
    starpu_codelet_unpack_args(arguments, &first);
    at_worker->look(memory(buffers[0]), elements_of(buffers[0]), first);
}

void touch(void* buffers[], void* arguments) {
    element value = 0;
    starpu_codelet_unpack_args(arguments, &value);
    at_worker->touch(memory(buffers[0]), elements_of(buffers[0]), value);
}

starpu_codelet codelet(void (*run)(void**, void*), starpu_data_access_mode how) {
    starpu_codelet made;
    starpu_codelet_init(&made);
    made.opencl_funcs[0] = run;
    made.opencl_flags[0] = STARPU_OPENCL_ASYNC;
    made.nbuffers = 1;
    made.modes[0] = how;
    return made;
}

/// Cuts a matrix into what is before, the row that is changed, and what is after it.
void cut(void* parent, void* child, starpu_data_filter*, unsigned id, unsigned) {
    const auto& all = *static_cast<starpu_matrix_interface*>(parent);
    auto& part = *static_cast<starpu_matrix_interface*>(child);
    const std::uint32_t begins[] = {0, changed_row, changed_row + 1, all.ny};
    part = all;
    part.ny = begins[id + 1] - begins[id];
    if (all.dev_handle == 0) return;
    const std::size_t skipped = std::size_t{begins[id]} * all.ld * all.elemsize;
    if (all.ptr != 0) part.ptr = all.ptr + skipped;
    part.offset = all.offset + skipped;
}

/// An array that StarPU knows.
class known_array {
public:
    known_array(std::size_t rows, std::size_t columns) : host_(rows * columns, 1) {
        starpu_matrix_data_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(host_.data()),
                                    static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(columns),
                                    static_cast<std::uint32_t>(rows), sizeof(element));
    }
    ~known_array() { starpu_data_unregister_no_coherency(handle_); }
    known_array(const known_array&) = delete;
    known_array& operator=(const known_array&) = delete;

    starpu_data_handle_t handle() const noexcept { return handle_; }
    std::vector<element>& host() noexcept { return host_; }

    /// Calls use() while the changed row is acquired at the host: a child of a partition, which is gathered at the
    /// device.
    template <class Use>
    void with_row(unsigned device_node, starpu_data_access_mode how, Use use) {
        starpu_data_filter filter{};
        filter.filter_func = cut;
        filter.nchildren = 3;
        starpu_data_partition(handle_, &filter);
        starpu_data_handle_t row = starpu_data_get_sub_data(handle_, 1, 1);
        starpu_data_acquire(row, how);
        use();
        starpu_data_release(row);
        starpu_data_unpartition(handle_, device_node);
    }

    /// Calls use() while all is acquired at the host.
    template <class Use>
    void with_all(starpu_data_access_mode how, Use use) {
        starpu_data_acquire(handle_, how);
        use();
        starpu_data_release(handle_);
    }

private:
    std::vector<element> host_;
    starpu_data_handle_t handle_ = nullptr;
};

class of_starpu final : public contender {
public:
    of_starpu(unsigned node, device& at) : node_(node), device_(at) {}

    void enter() override { starpu_resume(); }
    void leave() override { starpu_pause(); }

    way read_at_host() override { return read_at(STARPU_MAIN_RAM, "starpu_data_acquire"); }
    way read_at_device() override { return read_at(static_cast<int>(node_), "starpu_data_acquire_on_node"); }
    way construct() override {
        return {.run =
                    [] {
                        for (std::size_t i = 0; i < accesses; ++i)
                            starpu_data_unregister_no_coherency(temporary_of(large));
                    },
                .note = "a handle is registered and unregistered",
                .times = accesses};
    }
    way change_named() override;
    way change_unnamed() override;
    way rewrite(std::size_t count) override;
    way row() override;
    way column() override;
    way temporary() override;
    way many_small() override;

private:
    static starpu_data_handle_t temporary_of(std::size_t count) {
        starpu_data_handle_t made = nullptr;
        starpu_matrix_data_register(&made, -1, 0, page, page, static_cast<std::uint32_t>(count / page),
                                    sizeof(element));
        return made;
    }

    std::shared_ptr<known_array> made(std::size_t rows, std::size_t columns) {
        auto result = std::make_shared<known_array>(rows, columns);
        use(result->handle());
        finish();
        return result;
    }

    void use(starpu_data_handle_t of, std::size_t first = 0) {
        check(starpu_task_insert(&look_, STARPU_R, of, STARPU_VALUE, &first, sizeof first, 0));
    }
    void write(starpu_data_handle_t of, element value, starpu_codelet& by) {
        check(starpu_task_insert(&by, by.modes[0], of, STARPU_VALUE, &value, sizeof value, 0));
    }
    static void check(int answer) {
        if (answer != 0) throw std::runtime_error("StarPU refuses a task");
    }
    static void finish() { starpu_task_wait_for_all(); }

    way read_at(int node, const char* note) {
        return {.run =
                    [node, of = made(side, side)] {
                        for (std::size_t i = 0; i < accesses; ++i) {
                            starpu_data_acquire_on_node(of->handle(), node, STARPU_R);
                            starpu_data_release_on_node(of->handle(), node);
                        }
                    },
                .note = note,
                .times = accesses};
    }

    /// Returns a square that the device writes before each run. `read_part` is called with it and the sum of what it
    /// reads.
    template <class Read>
    way of_square(Read read_part, const char* note) {
        auto square = made(side, side);
        auto sum = std::make_shared<std::uint64_t>(0);
        return {.run = [square, sum, read_part] { *sum = read_part(*square); },
                .result = [sum] { return *sum; },
                .prepare =
                    [this, square, value = element{0}]() mutable {
                        write(square->handle(), ++value, change_);
                        finish();
                    },
                .note = note};
    }

    unsigned node_;
    device& device_;
    starpu_codelet look_ = codelet(look, STARPU_R);
    starpu_codelet change_ = codelet(touch, STARPU_RW);
    starpu_codelet write_ = codelet(touch, STARPU_W);
};

way of_starpu::change_named() {
    return {.run =
                [this, of = made(side, side), value = element{1}]() mutable {
                    of->with_row(node_, STARPU_RW, [&] { of->host()[changed] = ++value; });
                    use(of->handle());
                    finish();
                },
            .result = [this] { return device_.seen(pages(large)); },
            .note = "its row, by starpu_data_partition"};
}

way of_starpu::change_unnamed() {
    return {.run =
                [this, of = made(side, side), value = element{1}]() mutable {
                    of->with_all(STARPU_RW, [&] { of->host()[changed] = ++value; });
                    use(of->handle());
                    finish();
                },
            .result = [this] { return device_.seen(pages(large)); },
            .note = "all is acquired"};
}

way of_starpu::row() {
    return of_square(
        [node = node_](known_array& square) {
            std::uint64_t sum = 0;
            square.with_row(node, STARPU_R, [&] {
                const auto first = square.host().begin() + changed_row * side;
                sum = std::accumulate(first, first + side, std::uint64_t{0});
            });
            return sum;
        },
        "by starpu_data_partition");
}

way of_starpu::column() {
    return of_square(
        [](known_array& square) {
            std::uint64_t sum = 0;
            square.with_all(STARPU_R, [&] {
                for (std::size_t i = 0; i < side; ++i) sum += square.host()[i * side + changed_column];
            });
            return sum;
        },
        "all is acquired: a partition of columns takes longer");
}

way of_starpu::rewrite(std::size_t count) {
    return {.run =
                [this, of = made(count / page, page), value = element{1}]() mutable {
                    of->with_all(STARPU_W, [&] { std::ranges::fill(of->host(), ++value); });
                    use(of->handle());
                    finish();
                },
            .result = [this, count] { return device_.seen(pages(count)); }};
}

way of_starpu::temporary() {
    return {.run =
                [this, value = element{0}]() mutable {
                    for (std::size_t i = 0; i < temporaries; ++i) {
                        starpu_data_handle_t made = temporary_of(middle);
                        write(made, ++value, write_);
                        use(made);
                        starpu_data_unregister_submit(made);
                    }
                    finish();
                },
            .result = [this] { return device_.seen(pages(middle)); },
            .note = "registered at no node, two tasks, unregistered when they are done",
            .times = temporaries};
}

way of_starpu::many_small() {
    auto all = std::make_shared<std::vector<std::unique_ptr<known_array>>>();
    for (std::size_t i = 0; i < small_buffers; ++i) all->push_back(std::make_unique<known_array>(1, small));
    return {.run =
                [this, all, value = element{0}]() mutable {
                    ++value;
                    for (std::size_t i = 0; i < all->size(); ++i) {
                        known_array& each = *(*all)[i];
                        each.with_all(STARPU_W, [&] { std::ranges::fill(each.host(), value); });
                        use(each.handle(), i);
                    }
                    finish();
                },
            .result = [this] { return device_.seen(small_buffers); },
            .note = "a task each",
            .times = small_buffers};
}

/// StarPU, as long as it lives.
struct runtime {
    runtime() {
        // A CPU's driver counts as well, StarPU prints nothing, and copies no temporaries to the host ahead of a need.
        for (const char* name : {"STARPU_OPENCL_ON_CPUS", "STARPU_SILENT"}) ::setenv(name, "1", 0);
        for (const char* name : {"STARPU_MINIMUM_CLEAN_BUFFERS", "STARPU_TARGET_CLEAN_BUFFERS"}) ::setenv(name, "0", 0);
        starpu_conf how;
        starpu_conf_init(&how);
        how.ncpus = 0;
        how.ncuda = 0;
        how.nopencl = 1;
        if (starpu_init(&how) != 0) throw std::runtime_error("StarPU finds no OpenCL device");
    }
    ~runtime() { starpu_shutdown(); }
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;
};

void run(int argc, char** argv) {
    const runtime starpu;
    const int worker = starpu_worker_get_by_type(STARPU_OPENCL_WORKER, 0);
    const int number = starpu_worker_get_devid(worker);
    unibuf::opencl::handles on;
    starpu_opencl_get_context(number, &on.context);
    starpu_opencl_get_device(number, &on.device);
    starpu_opencl_get_queue(number, &on.queue);
    const unibuf::space where = unibuf::opencl::use(on.context, on.device, nullptr);
    device at(on);
    at_worker = &at;
    of_starpu by_starpu(starpu_worker_get_memory_node(static_cast<unsigned>(worker)), at);
    by_starpu.leave();
    play({.peer = "StarPU",
          .by_peer = &by_starpu,
          .by_unibuf = [where](const std::string& placement) { return by_unibuf(where, placement); }},
         argc, argv);
    by_starpu.enter();
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) {
    return peers::guarded([&] { peers::run(argc, argv); });
}
