// peers/by_unibuf.cpp
#include "by_unibuf.hpp"

#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "device.hpp"

namespace peers {
namespace {

using array = unibuf::unified_buffer<element>;

class of_unibuf final : public contender {
public:
    of_unibuf(unibuf::space where, const unibuf::buffer_options& options)
        : where_(where), options_(options), device_(unibuf::opencl::handles_of(where)) {}

    way read_at_host() override { return read_at(unibuf::host); }
    way read_at_device() override { return read_at(where_); }
    way construct() override {
        return {.run =
                    [this] {
                        for (std::size_t i = 0; i < accesses; ++i) const array made({large}, options_);
                    },
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
    std::shared_ptr<array> made(std::size_t count) {
        auto result = std::make_shared<array>(unibuf::shape(count), options_);
        result->fill(1);
        look(*result, count);
        device_.finish();
        return result;
    }

    way read_at(unibuf::space place) {
        return {.run =
                    [place, of = made(large)] {
                        for (std::size_t i = 0; i < accesses; ++i) of->read(place).release();
                    },
                .times = accesses};
    }

    void look(const array& of, std::size_t count, std::size_t first = 0) {
        unibuf::opencl::enqueue(where_, device_.look(), pages(count), read(of), device_.places(),
                                static_cast<element>(first));
    }

    /// Returns a square that the device writes before each run.
    way of_square(const std::function<std::uint64_t(array&)>& read_part) {
        auto square = std::make_shared<array>(unibuf::shape(side, side), options_);
        square->fill(1);
        auto sum = std::make_shared<std::uint64_t>(0);
        return {.run = [square, sum, read_part] { *sum = read_part(*square); },
                .result = [sum] { return *sum; },
                .prepare =
                    [this, square, value = element{0}]() mutable {
                        unibuf::opencl::enqueue(where_, device_.touch(), pages(large), read_write(*square), ++value);
                        device_.finish();
                    }};
    }

    unibuf::space where_;
    unibuf::buffer_options options_;
    device device_;
};

way of_unibuf::change_named() {
    return {.run =
                [this, of = made(large), value = element{1}]() mutable {
                    of->write(unibuf::host, {.offset = changed, .count = 1})[0] = ++value;
                    look(*of, large);
                    device_.finish();
                },
            .result = [this] { return device_.seen(pages(large)); }};
}

way of_unibuf::change_unnamed() {
    auto of = made(large);
    return {.run =
                [this, of, kept = of->host(), value = element{1}]() mutable {
                    kept[changed] = ++value;
                    look(*of, large);
                    device_.finish();
                },
            .result = [this] { return device_.seen(pages(large)); }};
}

way of_unibuf::rewrite(std::size_t count) {
    return {.run =
                [this, of = made(count), count, value = element{1}]() mutable {
                    std::ranges::fill(of->write(unibuf::host), ++value);
                    look(*of, count);
                    device_.finish();
                },
            .result = [this, count] { return device_.seen(pages(count)); }};
}

way of_unibuf::row() {
    return of_square([](array& square) {
        const auto lease = square.read(unibuf::host, {.offset = changed_row * side, .count = side});
        return std::accumulate(lease.begin(), lease.end(), std::uint64_t{0});
    });
}

way of_unibuf::column() {
    return of_square([](array& square) {
        std::uint64_t sum = 0;
        const auto column = square.view(unibuf::full_extent, changed_column);
        column.read(unibuf::host).elements().for_each([&](element each) { sum += each; });
        return sum;
    });
}

way of_unibuf::temporary() {
    return {.run =
                [this, value = element{0}]() mutable {
                    for (std::size_t i = 0; i < temporaries; ++i) {
                        unibuf::pooled<element> made(unibuf::get_memory_pool(), unibuf::shape(middle), options_);
                        unibuf::opencl::enqueue(where_, device_.touch(), pages(middle), write(*made), ++value);
                        look(*made, middle);
                    }
                    device_.finish();
                },
            .result = [this] { return device_.seen(pages(middle)); },
            .times = temporaries};
}

way of_unibuf::many_small() {
    auto all = std::make_shared<std::vector<array>>();
    for (std::size_t i = 0; i < small_buffers; ++i) all->emplace_back(unibuf::shape(small), options_);
    return {.run =
                [this, all, value = element{0}]() mutable {
                    ++value;
                    for (std::size_t i = 0; i < all->size(); ++i) {
                        array& each = (*all)[i];
                        std::ranges::fill(each.write(unibuf::host), value);
                        look(each, small, i);
                    }
                    device_.finish();
                },
            .result = [this] { return device_.seen(small_buffers); },
            .times = small_buffers};
}

}  // namespace

std::unique_ptr<contender> by_unibuf(unibuf::space where, const std::string& placement) {
    unibuf::buffer_options options;
    if (placement == "mirrored") options.hint = unibuf::memory_hint::gpu_preferred;
    return std::make_unique<of_unibuf>(where, options);
}

}  // namespace peers
