// suite/srad.cpp: removes the speckles of an image by diffusion that stops at edges (Rodinia's srad).
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <array>

#include "program.hpp"
#include "random.hpp"

namespace suite::srad_program {
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
    cl::Kernel extract_ = kernel("extract");
    cl::Kernel prepare_ = kernel("prepare");
    cl::Kernel reduce_ = kernel("reduce");
    cl::Kernel find_ = kernel("find");
    cl::Kernel diffuse_ = kernel("diffuse");
    cl::Kernel compress_ = kernel("compress");
    std::vector<float> image_;
    std::vector<int> north_;
    std::vector<int> south_;
    std::vector<int> west_;
    std::vector<int> east_;
    std::vector<float> result_ = std::vector<float>(pixels_);
};

void srad::published() {
    cl::Buffer image(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        sums(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        squares(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float));
    cl::Buffer north(context(), CL_MEM_READ_WRITE, rows_ * sizeof(int)),
        south(context(), CL_MEM_READ_WRITE, rows_ * sizeof(int)),
        west(context(), CL_MEM_READ_WRITE, columns_ * sizeof(int)),
        east(context(), CL_MEM_READ_WRITE, columns_ * sizeof(int));
    cl::Buffer to_north(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        to_south(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        to_west(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        to_east(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float));
    cl::Buffer diffusion(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float));
    std::array<float, 1> sum{}, square{};
    queue().enqueueWriteBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), image_.data());
    queue().enqueueWriteBuffer(north, CL_TRUE, 0, rows_ * sizeof(int), north_.data());
    queue().enqueueWriteBuffer(south, CL_TRUE, 0, rows_ * sizeof(int), south_.data());
    queue().enqueueWriteBuffer(west, CL_TRUE, 0, columns_ * sizeof(int), west_.data());
    queue().enqueueWriteBuffer(east, CL_TRUE, 0, columns_ * sizeof(int), east_.data());
    run(queue(), extract_, pixels_, image);
    for (int round = 0; round < rounds_; ++round) {
        run(queue(), prepare_, pixels_, image, sums, squares);
        run(queue(), reduce_, parts_, sums, squares, part, 1);
        run(queue(), reduce_, 1, sums, squares, parts_, part);
        queue().enqueueReadBuffer(sums, CL_TRUE, 0, sizeof(float), sum.data());
        queue().enqueueReadBuffer(squares, CL_TRUE, 0, sizeof(float), square.data());
        run(queue(), find_, {rows_, columns_}, image, north, south, west, east, to_north, to_south, to_west, to_east,
            diffusion, noise_of(sum[0], square[0]));
        run(queue(), diffuse_, {rows_, columns_}, image, south, east, to_north, to_south, to_west, to_east, diffusion,
            rate);
    }
    run(queue(), compress_, pixels_, image);
    queue().enqueueReadBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), result_.data());
}

void srad::copy_all() {
    cl::Buffer image(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        sums(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        squares(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float));
    cl::Buffer north(context(), CL_MEM_READ_WRITE, rows_ * sizeof(int)),
        south(context(), CL_MEM_READ_WRITE, rows_ * sizeof(int)),
        west(context(), CL_MEM_READ_WRITE, columns_ * sizeof(int)),
        east(context(), CL_MEM_READ_WRITE, columns_ * sizeof(int));
    cl::Buffer to_north(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        to_south(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        to_west(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        to_east(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float));
    cl::Buffer diffusion(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float));
    std::vector<float> all_sums(pixels_), all_squares(pixels_), norths(pixels_), souths(pixels_), wests(pixels_);
    std::vector<float> easts(pixels_), diffusions(pixels_);
    queue().enqueueWriteBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), image_.data());
    run(queue(), extract_, pixels_, image);
    queue().enqueueReadBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), result_.data());
    for (int round = 0; round < rounds_; ++round) {
        queue().enqueueWriteBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), result_.data());
        queue().enqueueWriteBuffer(sums, CL_TRUE, 0, pixels_ * sizeof(float), all_sums.data());
        queue().enqueueWriteBuffer(squares, CL_TRUE, 0, pixels_ * sizeof(float), all_squares.data());
        run(queue(), prepare_, pixels_, image, sums, squares);
        queue().enqueueReadBuffer(sums, CL_TRUE, 0, pixels_ * sizeof(float), all_sums.data());
        queue().enqueueReadBuffer(squares, CL_TRUE, 0, pixels_ * sizeof(float), all_squares.data());
        queue().enqueueWriteBuffer(sums, CL_TRUE, 0, pixels_ * sizeof(float), all_sums.data());
        queue().enqueueWriteBuffer(squares, CL_TRUE, 0, pixels_ * sizeof(float), all_squares.data());
        run(queue(), reduce_, parts_, sums, squares, part, 1);
        queue().enqueueReadBuffer(sums, CL_TRUE, 0, pixels_ * sizeof(float), all_sums.data());
        queue().enqueueReadBuffer(squares, CL_TRUE, 0, pixels_ * sizeof(float), all_squares.data());
        queue().enqueueWriteBuffer(sums, CL_TRUE, 0, pixels_ * sizeof(float), all_sums.data());
        queue().enqueueWriteBuffer(squares, CL_TRUE, 0, pixels_ * sizeof(float), all_squares.data());
        run(queue(), reduce_, 1, sums, squares, parts_, part);
        queue().enqueueReadBuffer(sums, CL_TRUE, 0, pixels_ * sizeof(float), all_sums.data());
        queue().enqueueReadBuffer(squares, CL_TRUE, 0, pixels_ * sizeof(float), all_squares.data());
        queue().enqueueWriteBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), result_.data());
        queue().enqueueWriteBuffer(north, CL_TRUE, 0, rows_ * sizeof(int), north_.data());
        queue().enqueueWriteBuffer(south, CL_TRUE, 0, rows_ * sizeof(int), south_.data());
        queue().enqueueWriteBuffer(west, CL_TRUE, 0, columns_ * sizeof(int), west_.data());
        queue().enqueueWriteBuffer(east, CL_TRUE, 0, columns_ * sizeof(int), east_.data());
        queue().enqueueWriteBuffer(to_north, CL_TRUE, 0, pixels_ * sizeof(float), norths.data());
        queue().enqueueWriteBuffer(to_south, CL_TRUE, 0, pixels_ * sizeof(float), souths.data());
        queue().enqueueWriteBuffer(to_west, CL_TRUE, 0, pixels_ * sizeof(float), wests.data());
        queue().enqueueWriteBuffer(to_east, CL_TRUE, 0, pixels_ * sizeof(float), easts.data());
        queue().enqueueWriteBuffer(diffusion, CL_TRUE, 0, pixels_ * sizeof(float), diffusions.data());
        run(queue(), find_, {rows_, columns_}, image, north, south, west, east, to_north, to_south, to_west, to_east,
            diffusion, noise_of(all_sums[0], all_squares[0]));
        queue().enqueueReadBuffer(to_north, CL_TRUE, 0, pixels_ * sizeof(float), norths.data());
        queue().enqueueReadBuffer(to_south, CL_TRUE, 0, pixels_ * sizeof(float), souths.data());
        queue().enqueueReadBuffer(to_west, CL_TRUE, 0, pixels_ * sizeof(float), wests.data());
        queue().enqueueReadBuffer(to_east, CL_TRUE, 0, pixels_ * sizeof(float), easts.data());
        queue().enqueueReadBuffer(diffusion, CL_TRUE, 0, pixels_ * sizeof(float), diffusions.data());
        queue().enqueueWriteBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), result_.data());
        queue().enqueueWriteBuffer(south, CL_TRUE, 0, rows_ * sizeof(int), south_.data());
        queue().enqueueWriteBuffer(east, CL_TRUE, 0, columns_ * sizeof(int), east_.data());
        queue().enqueueWriteBuffer(to_north, CL_TRUE, 0, pixels_ * sizeof(float), norths.data());
        queue().enqueueWriteBuffer(to_south, CL_TRUE, 0, pixels_ * sizeof(float), souths.data());
        queue().enqueueWriteBuffer(to_west, CL_TRUE, 0, pixels_ * sizeof(float), wests.data());
        queue().enqueueWriteBuffer(to_east, CL_TRUE, 0, pixels_ * sizeof(float), easts.data());
        queue().enqueueWriteBuffer(diffusion, CL_TRUE, 0, pixels_ * sizeof(float), diffusions.data());
        run(queue(), diffuse_, {rows_, columns_}, image, south, east, to_north, to_south, to_west, to_east, diffusion,
            rate);
        queue().enqueueReadBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), result_.data());
    }
    queue().enqueueWriteBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), result_.data());
    run(queue(), compress_, pixels_, image);
    queue().enqueueReadBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), result_.data());
}

void srad::expert() {
    cl::Buffer image(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        sums(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        squares(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float));
    cl::Buffer north(context(), CL_MEM_READ_WRITE, rows_ * sizeof(int)),
        south(context(), CL_MEM_READ_WRITE, rows_ * sizeof(int)),
        west(context(), CL_MEM_READ_WRITE, columns_ * sizeof(int)),
        east(context(), CL_MEM_READ_WRITE, columns_ * sizeof(int));
    cl::Buffer to_north(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        to_south(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        to_west(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float)),
        to_east(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float));
    cl::Buffer diffusion(context(), CL_MEM_READ_WRITE, pixels_ * sizeof(float));
    std::array<float, 1> sum{}, square{};
    queue().enqueueWriteBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), image_.data());
    queue().enqueueWriteBuffer(north, CL_TRUE, 0, rows_ * sizeof(int), north_.data());
    queue().enqueueWriteBuffer(south, CL_TRUE, 0, rows_ * sizeof(int), south_.data());
    queue().enqueueWriteBuffer(west, CL_TRUE, 0, columns_ * sizeof(int), west_.data());
    queue().enqueueWriteBuffer(east, CL_TRUE, 0, columns_ * sizeof(int), east_.data());
    run(queue(), extract_, pixels_, image);
    for (int round = 0; round < rounds_; ++round) {
        run(queue(), prepare_, pixels_, image, sums, squares);
        run(queue(), reduce_, parts_, sums, squares, part, 1);
        run(queue(), reduce_, 1, sums, squares, parts_, part);
        queue().enqueueReadBuffer(sums, CL_TRUE, 0, sizeof(float), sum.data());
        queue().enqueueReadBuffer(squares, CL_TRUE, 0, sizeof(float), square.data());
        run(queue(), find_, {rows_, columns_}, image, north, south, west, east, to_north, to_south, to_west, to_east,
            diffusion, noise_of(sum[0], square[0]));
        run(queue(), diffuse_, {rows_, columns_}, image, south, east, to_north, to_south, to_west, to_east, diffusion,
            rate);
    }
    run(queue(), compress_, pixels_, image);
    queue().enqueueReadBuffer(image, CL_TRUE, 0, pixels_ * sizeof(float), result_.data());
}

void srad::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> image({pixels_}, options), sums({pixels_}, options), squares({pixels_}, options);
    unified_buffer<int> north({rows_}, options), south({rows_}, options);
    unified_buffer<int> west({columns_}, options), east({columns_}, options);
    unified_buffer<float> to_north({pixels_}, options), to_south({pixels_}, options);
    unified_buffer<float> to_west({pixels_}, options), to_east({pixels_}, options), diffusion({pixels_}, options);
    image.copy_from(image_, where());
    north.copy_from(north_, where());
    south.copy_from(south_, where());
    west.copy_from(west_, where());
    east.copy_from(east_, where());
    opencl::enqueue(extract_(), pixels_, read_write(image));
    for (int round = 0; round < rounds_; ++round) {
        opencl::enqueue(prepare_(), pixels_, read(image), write(sums), write(squares));
        opencl::enqueue(reduce_(), parts_, read_write(sums), read_write(squares), part, 1);
        opencl::enqueue(reduce_(), 1, read_write(sums), read_write(squares), parts_, part);
        const float noise = noise_of(sums.read(host, {.count = 1})[0], squares.read(host, {.count = 1})[0]);
        opencl::enqueue(find_(), {rows_, columns_}, read(image), read(north), read(south), read(west), read(east),
                        write(to_north), write(to_south), write(to_west), write(to_east), write(diffusion), noise);
        opencl::enqueue(diffuse_(), {rows_, columns_}, read_write(image), read(south), read(east), read(to_north),
                        read(to_south), read(to_west), read(to_east), read(diffusion), rate);
    }
    opencl::enqueue(compress_(), pixels_, read_write(image));
    image.copy_to(result_, where());
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
}  // namespace suite::srad_program
