// conv2d/host.cpp: the convolution in C++, on all cores.
#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "job.hpp"

namespace conv2d::host {
namespace {

template <int Radius>
using rows = std::array<const float*, 2 * std::size_t{Radius} + 1>;

template <int Radius>
float at_border(const rows<Radius>& from, const float* weights, int x, int width) {
    float sum = 0;
    for (const float* row : from) {
        for (int dx = -Radius; dx <= Radius; ++dx) sum += *weights++ * row[std::clamp(x + dx, 0, width - 1)];
    }
    return sum;
}

template <int Radius>
float inside(const rows<Radius>& from, const float* weights, int x) {
    float sum = 0;
    for (const float* row : from) {
        for (int dx = -Radius; dx <= Radius; ++dx) sum += *weights++ * row[x + dx];
    }
    return sum;
}

template <int Radius>
void convolve_row(const rows<Radius>& from, const float* weights, int width, float* to) {
    const int left = std::min(Radius, width);
    const int right = std::max(left, width - Radius);
    for (int x = 0; x < left; ++x) to[x] = at_border<Radius>(from, weights, x, width);
    for (int x = left; x < right; ++x) to[x] = inside<Radius>(from, weights, x);
    for (int x = right; x < width; ++x) to[x] = at_border<Radius>(from, weights, x, width);
}

template <int Radius>
void convolve_rows(std::span<const float> from, const filter& by, extent size, std::span<float> to, int begin,
                   int end) {
    const auto start_of = [&](int y) {
        return static_cast<std::ptrdiff_t>(std::clamp(y, 0, size.height - 1)) * size.width;
    };
    for (int y = begin; y < end; ++y) {
        rows<Radius> near;
        int next = y - Radius;
        for (const float*& row : near) row = from.data() + start_of(next++);
        convolve_row<Radius>(near, by.weights.data(), size.width, to.data() + start_of(y));
    }
}

void convolve_on_cores(std::span<const float> from, const filter& by, extent size, std::span<float> to) {
    const auto band = by.radius == 1 ? &convolve_rows<1> : &convolve_rows<2>;
    const int cores = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, size.height);
    std::vector<std::jthread> threads;
    for (int i = 0; i < cores; ++i) {
        const auto part = [&](int n) { return static_cast<int>(std::int64_t{size.height} * n / cores); };
        threads.emplace_back(band, from, by, size, to, part(i), part(i + 1));
    }
}

class copying final : public job_on_arrays {
public:
    explicit copying(const order& of) : job_on_arrays(of.counts, of.size), by_(of.by), size_(of.size) {}

    void convolve() override {
        const pixel_array temporary_input(counts(), size_.pixels());
        const pixel_array temporary_output(counts(), size_.pixels());
        copy(counts(), input(), temporary_input.span());
        convolve_on_cores(temporary_input.span(), by_, size_, temporary_output.span());
        copy(counts(), temporary_output.span(), output());
    }

private:
    const filter& by_;
    extent size_;
};

/// Works on the arrays as they are: on the host a careful programmer copies nothing.
class careful final : public job_on_arrays {
public:
    explicit careful(const order& of) : job_on_arrays(of.counts, of.size), by_(of.by), size_(of.size) {}

    void convolve() override { convolve_on_cores(input(), by_, size_, output()); }

private:
    const filter& by_;
    extent size_;
};

class zero_copy final : public job_on_buffers {
public:
    explicit zero_copy(const order& of) : job_on_buffers(of.where, of.size), by_(of.by), size_(of.size) {}

    void convolve() override {
        const auto from = input().read(where());
        const auto to = output().write(where());
        convolve_on_cores(from.span(), by_, size_, to.span());
    }

private:
    const filter& by_;
    extent size_;
};

}  // namespace

std::unique_ptr<job> make_job(const order& of) { return make_job_of<copying, careful, zero_copy>(of); }

}  // namespace conv2d::host
