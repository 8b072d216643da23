// suite/srad.cpp: removes the speckles of an image by diffusion that stops at edges (Rodinia's srad).
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <array>

#include "program.hpp"
#include "random.hpp"

namespace suite {
namespace {

constexpr const char* source = R"(
// Pixels lie column by column.

kernel void extract(global float* image) {
    const int i = get_global_id(0);
    image[i] = exp(image[i] / 255);
}

kernel void prepare(global const float* image, global float* sums, global float* squares) {
    const int i = get_global_id(0);
    sums[i] = image[i];
    squares[i] = image[i] * image[i];
}

// Sums up `count` elements, which lie `apart` elements from each other, into the first of them.
kernel void reduce(global float* sums, global float* squares, int count, int apart) {
    const int first = get_global_id(0) * count * apart;
    float sum = 0, square = 0;
    for (int i = first; i < first + count * apart; i += apart) {
        sum += sums[i];
        square += squares[i];
    }
    sums[first] = sum;
    squares[first] = square;
}

kernel void find(global const float* image, global const int* north, global const int* south, global const int* west,
                 global const int* east, global float* to_north, global float* to_south, global float* to_west,
                 global float* to_east, global float* diffusion, float noise) {
    const int rows = get_global_size(0), row = get_global_id(0), column = get_global_id(1), i = column * rows + row;
    const float here = image[i];
    const float n = image[column * rows + north[row]] - here, s = image[column * rows + south[row]] - here;
    const float w = image[west[column] * rows + row] - here, e = image[east[column] * rows + row] - here;
    const float gradient = (n * n + s * s + w * w + e * e) / (here * here), laplacian = (n + s + w + e) / here;
    const float spread = 1 + 0.25f * laplacian;
    const float variation = (0.5f * gradient - laplacian * laplacian / 16) / (spread * spread);
    to_north[i] = n;
    to_south[i] = s;
    to_west[i] = w;
    to_east[i] = e;
    diffusion[i] = clamp(1 / (1 + (variation - noise) / (noise * (1 + noise))), 0.0f, 1.0f);
}

kernel void diffuse(global float* image, global const int* south, global const int* east, global const float* to_north,
                    global const float* to_south, global const float* to_west, global const float* to_east,
                    global const float* diffusion, float rate) {
    const int rows = get_global_size(0), row = get_global_id(0), column = get_global_id(1), i = column * rows + row;
    const float flow = diffusion[i] * (to_north[i] + to_west[i]) + diffusion[column * rows + south[row]] * to_south[i] +
                       diffusion[east[column] * rows + row] * to_east[i];
    image[i] += 0.25f * rate * flow;
}

kernel void compress(global float* image) {
    const int i = get_global_id(0);
    image[i] = log(image[i]) * 255;
}
)";

constexpr float rate = 0.5F;
constexpr int part = 512;  // so many pixels are summed up one by one

class srad final : public program {
public:
    srad(unibuf::space where, scale size)
        : program(where, source),
          rows_(size == scale::full ? 1'024 : 64),
          columns_(size == scale::full ? 512 : 32),
          rounds_(size == scale::full ? 200 : 5) {
        random_numbers random;
        for (std::size_t i = 0; i < pixels_; ++i) image_.push_back(static_cast<float>(random.below(256)));
        for (std::size_t row = 0; row < rows_; ++row) {
            north_.push_back(static_cast<int>(std::max<std::size_t>(row, 1) - 1));
            south_.push_back(static_cast<int>(std::min(row + 1, rows_ - 1)));
        }
        for (std::size_t column = 0; column < columns_; ++column) {
            west_.push_back(static_cast<int>(std::max<std::size_t>(column, 1) - 1));
            east_.push_back(static_cast<int>(std::min(column + 1, columns_ - 1)));
        }
    }

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(result_); }

private:
    /// Returns how much the image varies, from the sums of its values and of their squares: the host's part.
    float noise_of(float sum, float square) const {
        const float mean = sum / static_cast<float>(pixels_);
        return (square / static_cast<float>(pixels_) - mean * mean) / (mean * mean);
    }

    std::size_t rows_;
    std::size_t columns_;
    std::size_t pixels_ = rows_ * columns_;
    int parts_ = static_cast<int>(pixels_) / part;
    int rounds_;
    _cl_kernel* extract_ = kernels_["extract"];
    _cl_kernel* prepare_ = kernels_["prepare"];
    _cl_kernel* reduce_ = kernels_["reduce"];
    _cl_kernel* find_ = kernels_["find"];
    _cl_kernel* diffuse_ = kernels_["diffuse"];
    _cl_kernel* compress_ = kernels_["compress"];
    std::vector<float> image_;
    std::vector<int> north_;
    std::vector<int> south_;
    std::vector<int> west_;
    std::vector<int> east_;
    std::vector<float> result_ = std::vector<float>(pixels_);
};

void srad::published() {
    device_array<float> image(on_, pixels_), sums(on_, pixels_), squares(on_, pixels_);
    device_array<int> north(on_, rows_), south(on_, rows_), west(on_, columns_), east(on_, columns_);
    device_array<float> to_north(on_, pixels_), to_south(on_, pixels_), to_west(on_, pixels_), to_east(on_, pixels_);
    device_array<float> diffusion(on_, pixels_);
    std::array<float, 1> sum{}, square{};
    image.write(image_);
    north.write(north_);
    south.write(south_);
    west.write(west_);
    east.write(east_);
    run(on_, extract_, pixels_, image);
    for (int round = 0; round < rounds_; ++round) {
        run(on_, prepare_, pixels_, image, sums, squares);
        run(on_, reduce_, parts_, sums, squares, part, 1);
        run(on_, reduce_, 1, sums, squares, parts_, part);
        sums.read(sum);
        squares.read(square);
        run(on_, find_, {rows_, columns_}, image, north, south, west, east, to_north, to_south, to_west, to_east,
            diffusion, noise_of(sum[0], square[0]));
        run(on_, diffuse_, {rows_, columns_}, image, south, east, to_north, to_south, to_west, to_east, diffusion,
            rate);
    }
    run(on_, compress_, pixels_, image);
    image.read(result_);
}

void srad::copy_all() {
    device_array<float> image(on_, pixels_), sums(on_, pixels_), squares(on_, pixels_);
    device_array<int> north(on_, rows_), south(on_, rows_), west(on_, columns_), east(on_, columns_);
    device_array<float> to_north(on_, pixels_), to_south(on_, pixels_), to_west(on_, pixels_), to_east(on_, pixels_);
    device_array<float> diffusion(on_, pixels_);
    std::vector<float> all_sums(pixels_), all_squares(pixels_), norths(pixels_), souths(pixels_), wests(pixels_);
    std::vector<float> easts(pixels_), diffusions(pixels_);
    image.write(image_);
    run(on_, extract_, pixels_, image);
    image.read(result_);
    for (int round = 0; round < rounds_; ++round) {
        image.write(result_);
        sums.write(all_sums);
        squares.write(all_squares);
        run(on_, prepare_, pixels_, image, sums, squares);
        sums.read(all_sums);
        squares.read(all_squares);
        sums.write(all_sums);
        squares.write(all_squares);
        run(on_, reduce_, parts_, sums, squares, part, 1);
        sums.read(all_sums);
        squares.read(all_squares);
        sums.write(all_sums);
        squares.write(all_squares);
        run(on_, reduce_, 1, sums, squares, parts_, part);
        sums.read(all_sums);
        squares.read(all_squares);
        image.write(result_);
        north.write(north_);
        south.write(south_);
        west.write(west_);
        east.write(east_);
        to_north.write(norths);
        to_south.write(souths);
        to_west.write(wests);
        to_east.write(easts);
        diffusion.write(diffusions);
        run(on_, find_, {rows_, columns_}, image, north, south, west, east, to_north, to_south, to_west, to_east,
            diffusion, noise_of(all_sums[0], all_squares[0]));
        to_north.read(norths);
        to_south.read(souths);
        to_west.read(wests);
        to_east.read(easts);
        diffusion.read(diffusions);
        image.write(result_);
        south.write(south_);
        east.write(east_);
        to_north.write(norths);
        to_south.write(souths);
        to_west.write(wests);
        to_east.write(easts);
        diffusion.write(diffusions);
        run(on_, diffuse_, {rows_, columns_}, image, south, east, to_north, to_south, to_west, to_east, diffusion,
            rate);
        image.read(result_);
    }
    image.write(result_);
    run(on_, compress_, pixels_, image);
    image.read(result_);
}

void srad::expert() {
    device_array<float> image(on_, pixels_), sums(on_, pixels_), squares(on_, pixels_);
    device_array<int> north(on_, rows_), south(on_, rows_), west(on_, columns_), east(on_, columns_);
    device_array<float> to_north(on_, pixels_), to_south(on_, pixels_), to_west(on_, pixels_), to_east(on_, pixels_);
    device_array<float> diffusion(on_, pixels_);
    std::array<float, 1> sum{}, square{};
    image.write(image_);
    north.write(north_);
    south.write(south_);
    west.write(west_);
    east.write(east_);
    run(on_, extract_, pixels_, image);
    for (int round = 0; round < rounds_; ++round) {
        run(on_, prepare_, pixels_, image, sums, squares);
        run(on_, reduce_, parts_, sums, squares, part, 1);
        run(on_, reduce_, 1, sums, squares, parts_, part);
        sums.read(sum);
        squares.read(square);
        run(on_, find_, {rows_, columns_}, image, north, south, west, east, to_north, to_south, to_west, to_east,
            diffusion, noise_of(sum[0], square[0]));
        run(on_, diffuse_, {rows_, columns_}, image, south, east, to_north, to_south, to_west, to_east, diffusion,
            rate);
    }
    run(on_, compress_, pixels_, image);
    image.read(result_);
}

void srad::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> image({pixels_}, options), sums({pixels_}, options), squares({pixels_}, options);
    unified_buffer<int> north({rows_}, options), south({rows_}, options);
    unified_buffer<int> west({columns_}, options), east({columns_}, options);
    unified_buffer<float> to_north({pixels_}, options), to_south({pixels_}, options);
    unified_buffer<float> to_west({pixels_}, options), to_east({pixels_}, options), diffusion({pixels_}, options);
    image.copy_from(image_, where_);
    north.copy_from(north_, where_);
    south.copy_from(south_, where_);
    west.copy_from(west_, where_);
    east.copy_from(east_, where_);
    opencl::enqueue(extract_, pixels_, read_write(image));
    for (int round = 0; round < rounds_; ++round) {
        opencl::enqueue(prepare_, pixels_, read(image), write(sums), write(squares));
        opencl::enqueue(reduce_, parts_, read_write(sums), read_write(squares), part, 1);
        opencl::enqueue(reduce_, 1, read_write(sums), read_write(squares), parts_, part);
        const float noise = noise_of(sums.read(host, {.count = 1})[0], squares.read(host, {.count = 1})[0]);
        opencl::enqueue(find_, {rows_, columns_}, read(image), read(north), read(south), read(west), read(east),
                        write(to_north), write(to_south), write(to_west), write(to_east), write(diffusion), noise);
        opencl::enqueue(diffuse_, {rows_, columns_}, read_write(image), read(south), read(east), read(to_north),
                        read(to_south), read(to_west), read(to_east), read(diffusion), rate);
    }
    opencl::enqueue(compress_, pixels_, read_write(image));
    image.copy_to(result_, where_);
}

void srad::touches(ledger& told) const {
    for (const char* each : {"image", "sums", "squares", "to north", "to south", "to west", "to east", "diffusion"}) {
        told.make(each, pixels_, sizeof(float));
    }
    for (const char* each : {"north", "south"}) told.make(each, rows_, sizeof(int));
    for (const char* each : {"west", "east"}) told.make(each, columns_, sizeof(int));
    for (const char* each : {"image", "north", "south", "west", "east"}) told.host_writes(each);
    told.device_reads({"image"});
    told.device_writes({"image"});
    for (int round = 0; round < rounds_; ++round) {
        told.device_reads({"image"});
        told.device_writes({"sums", "squares"});
        told.device_reads({"sums", "squares"});
        told.device_writes({"sums", "squares"});
        told.host_reads({"sums", 0, 1});
        told.host_reads({"squares", 0, 1});
        told.device_reads({"image", "north", "south", "west", "east"});
        told.device_writes({"to north", "to south", "to west", "to east", "diffusion"});
        told.device_reads({"image", "south", "east", "to north", "to south", "to west", "to east", "diffusion"});
        told.device_writes({"image"});
    }
    told.device_reads({"image"});
    told.device_writes({"image"});
    told.host_reads("image");
}

const registered entry_of_srad({.name = "srad",
                                .origin = "Rodinia",
                                .problem = "200 rounds of diffusion in an image of 1024 x 512 pixels",
                                .make = made<srad>});

}  // namespace
}  // namespace suite
