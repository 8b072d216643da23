// peers/by_hand.cpp: OpenCL's own calls, by a program that knows what is where. With --shared the device uses the
// host's memory (CL_MEM_USE_HOST_PTR), which is mapped for the host.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "by_unibuf.hpp"
#include "device.hpp"

namespace peers {
namespace {

/// Memory at the host and a cl_mem; the one on the other, where they are shared.
class array {
public:
    array(const unibuf::opencl::handles& on, std::size_t count, bool is_shared)
        : on_(on),
          is_shared_(is_shared),
          host_(static_cast<element*>(std::aligned_alloc(4096, std::max<std::size_t>(count * sizeof(element), 4096)))),
          count_(count),
          memory_(bench::opencl::create(on.context, count * sizeof(element), is_shared ? host_.get() : nullptr)) {}
    ~array() { bench::opencl::release(memory_); }
    array(const array&) = delete;
    array& operator=(const array&) = delete;

    _cl_mem* memory() const noexcept { return memory_; }

    /// Calls change(elements) at the host, and brings those to the device; where they are not shared, nobody waits.
    template <class Change>
    void write(std::size_t offset, std::size_t count, Change change) {
        const std::span part(host_.get() + offset, count);
        if (is_shared_) {
            void* const mapped = bench::opencl::map(on_.queue, memory_, count_ * sizeof(element));
            change(part);
            bench::opencl::unmap(on_.queue, memory_, mapped);
        } else {
            change(part);
            examples::cl::check(
                examples::cl::api().clEnqueueWriteBuffer(on_.queue, memory_, 0, offset * sizeof(element),
                                                         part.size_bytes(), part.data(), 0, nullptr, nullptr),
                "clEnqueueWriteBuffer");
        }
    }

    /// Brings a rectangle from the device, and returns the sum of its elements.
    std::uint64_t read(const bench::opencl::rectangle& of) {
        if (is_shared_) {
            void* const mapped = bench::opencl::map(on_.queue, memory_, count_ * sizeof(element));
            const std::uint64_t sum = sum_of(of);
            bench::opencl::unmap(on_.queue, memory_, mapped);
            return sum;
        }
        bench::opencl::read_rectangle(on_.queue, memory_, std::as_writable_bytes(std::span(host_.get(), count_)).data(),
                                      of);
        return sum_of(of);
    }

private:
    struct freed {
        void operator()(element* gone) const noexcept { std::free(gone); }
    };

    std::uint64_t sum_of(const bench::opencl::rectangle& of) const {
        std::uint64_t sum = 0;
        const element* row = host_.get() + of.offset / sizeof(element);
        for (std::size_t i = 0; i < of.rows; ++i, row += of.pitch / sizeof(element)) {
            sum = std::accumulate(row, row + of.row_bytes / sizeof(element), sum);
        }
        return sum;
    }

    unibuf::opencl::handles on_;
    bool is_shared_;
    std::unique_ptr<element, freed> host_;
    std::size_t count_;
    _cl_mem* memory_;
};

class of_hands final : public contender {
public:
    explicit of_hands(bool is_shared) : is_shared_(is_shared) {}

    way read_at_host() override { return missing("the program knows: there is nothing to ask"); }
    way read_at_device() override { return missing("the program knows: there is nothing to ask"); }
    way construct() override {
        return {.run =
                    [this] {
                        for (std::size_t i = 0; i < accesses; ++i) const array made(device_.on(), large, is_shared_);
                    },
                .times = accesses};
    }
    way change_named() override { return changed_part(changed, 1, "4 bytes are written"); }
    way change_unnamed() override {
        return changed_part(0, large, "all is written: the program does not know what changed");
    }
    way rewrite(std::size_t count) override {
        return {.run =
                    [this, of = made(count), count, value = element{1}]() mutable {
                        of->write(0, count, [each = ++value](std::span<element> all) { std::ranges::fill(all, each); });
                        use(*of, count);
                    },
                .result = [this, count] { return device_.seen(pages(count)); }};
    }
    way row() override {
        return of_square({.row_bytes = side * sizeof(element),
                          .rows = 1,
                          .pitch = side * sizeof(element),
                          .offset = changed_row * side * sizeof(element)});
    }
    way column() override {
        return of_square({.row_bytes = sizeof(element),
                          .rows = side,
                          .pitch = side * sizeof(element),
                          .offset = changed_column * sizeof(element)});
    }
    way temporary() override {
        if (is_shared_) return missing("a temporary has nothing at the host to share");
        return {.run =
                    [this, value = element{0}]() mutable {
                        for (std::size_t i = 0; i < temporaries; ++i) {
                            const bench::opencl::owned made(device_.on().context, middle * sizeof(element));
                            device_.touch(made.get(), middle, ++value);
                            device_.look(made.get(), middle);
                        }
                        device_.finish();
                    },
                .result = [this] { return device_.seen(pages(middle)); },
                .note = "a cl_mem each time: no pool",
                .times = temporaries};
    }
    way many_small() override;

private:
    std::shared_ptr<array> made(std::size_t count) {
        auto result = std::make_shared<array>(device_.on(), count, is_shared_);
        result->write(0, count, [](std::span<element> all) { std::ranges::fill(all, 1); });
        return result;
    }

    void use(const array& of, std::size_t count) {
        device_.look(of.memory(), count);
        device_.finish();
    }

    way changed_part(std::size_t offset, std::size_t count, const char* note) {
        return {.run =
                    [this, of = made(large), offset, count, value = element{1}]() mutable {
                        of->write(offset, count, [&](std::span<element> part) { part[changed - offset] = ++value; });
                        use(*of, large);
                    },
                .result = [this] { return device_.seen(pages(large)); },
                .note = is_shared_ ? "all is mapped and unmapped" : note};
    }

    way of_square(const bench::opencl::rectangle& part) {
        auto square = made(large);
        auto sum = std::make_shared<std::uint64_t>(0);
        return {.run = [square, sum, part] { *sum = square->read(part); },
                .result = [sum] { return *sum; },
                .prepare =
                    [this, square, value = element{0}]() mutable {
                        device_.touch(square->memory(), large, ++value);
                        device_.finish();
                    }};
    }

    bool is_shared_;
    device device_{unibuf::opencl::handles_of("opencl:0")};
};

way of_hands::many_small() {
    auto all = std::make_shared<std::vector<std::unique_ptr<array>>>();
    for (std::size_t i = 0; i < small_buffers; ++i) {
        all->push_back(std::make_unique<array>(device_.on(), small, is_shared_));
    }
    return {.run =
                [this, all, value = element{0}]() mutable {
                    ++value;
                    for (std::size_t i = 0; i < all->size(); ++i) {
                        array& each = *(*all)[i];
                        each.write(0, small, [&](std::span<element> part) { std::ranges::fill(part, value); });
                        device_.look(each.memory(), small, i);
                    }
                    device_.finish();
                },
            .result = [this] { return device_.seen(small_buffers); },
            .times = small_buffers};
}

void run(int argc, char** argv) {
    const bool is_shared = argc > 1 && std::strcmp(argv[1], "--shared") == 0;
    of_hands by_hand(is_shared);
    play({.peer = is_shared ? "OpenCL by hand, shared" : "OpenCL by hand",
          .by_peer = &by_hand,
          .by_unibuf = [](const std::string& placement) { return by_unibuf("opencl:0", placement); }},
         argc - is_shared, argv + is_shared);
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) {
    return peers::guarded([&] { peers::run(argc, argv); });
}
