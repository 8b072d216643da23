// suite/correlation.cpp: the correlation of each two columns of a table (PolyBench's correlation).
#include <unibuf/unibuf.hpp>

#include <array>

#include "program.hpp"
#include "random.hpp"

namespace suite::correlation_program {
namespace {

constexpr const char* source = R"(
kernel void average(global const float* data, global float* mean, int rows) {
    const int column = get_global_id(0);
    const int columns = get_global_size(0);
    float sum = 0;
    for (int row = 0; row < rows; ++row) sum += data[row * columns + column];
    mean[column] = sum / rows;
}

kernel void spread(global const float* data, global const float* mean, global float* deviation, int rows) {
    const int column = get_global_id(0);
    const int columns = get_global_size(0);
    float sum = 0;
    for (int row = 0; row < rows; ++row) {
        const float off = data[row * columns + column] - mean[column];
        sum += off * off;
    }
    const float found = sqrt(sum / rows);
    deviation[column] = found > 0.005f ? found : 1;
}

kernel void standardize(global float* data, global const float* mean, global const float* deviation) {
    const int column = get_global_id(0);
    const int at = get_global_id(1) * get_global_size(0) + column;
    data[at] = (data[at] - mean[column]) / (sqrt((float)get_global_size(1)) * deviation[column]);
}

kernel void correlate(global const float* data, global float* matrix, int rows) {
    const int column = get_global_id(0);
    const int other = get_global_id(1);
    const int columns = get_global_size(0);
    float sum = 0;
    for (int row = 0; row < rows; ++row) sum += data[row * columns + column] * data[row * columns + other];
    matrix[other * columns + column] = column == other ? 1 : sum;
}
)";

class correlation final : public program {
public:
    correlation(unibuf::space where, scale size)
        : program(where, source),
          columns_(size == scale::full ? 768 : 32),
          rows_(static_cast<int>(columns_)),
          data_(random_numbers().take(columns_ * columns_)) {}

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(matrix_); }

private:
    std::size_t columns_;
    int rows_;  // as many
    cl::Kernel average_ = kernel("average");
    cl::Kernel spread_ = kernel("spread");
    cl::Kernel standardize_ = kernel("standardize");
    cl::Kernel correlate_ = kernel("correlate");
    std::vector<float> data_;
    std::vector<float> matrix_ = std::vector<float>(columns_ * columns_);
};

void correlation::published() {
    std::vector<float> mean(columns_), deviation(columns_);
    const std::array<float, 1> one{1};
    cl::Buffer device_data(context(), CL_MEM_READ_WRITE, data_.size() * sizeof(float)),
        device_matrix(context(), CL_MEM_READ_WRITE, matrix_.size() * sizeof(float));
    cl::Buffer device_mean(context(), CL_MEM_READ_WRITE, columns_ * sizeof(float)),
        device_deviation(context(), CL_MEM_READ_WRITE, columns_ * sizeof(float));
    queue().enqueueWriteBuffer(device_data, CL_TRUE, 0, data_.size() * sizeof(float), data_.data());
    queue().enqueueWriteBuffer(device_matrix, CL_TRUE, 0, matrix_.size() * sizeof(float), matrix_.data());
    queue().enqueueWriteBuffer(device_deviation, CL_TRUE, 0, columns_ * sizeof(float), deviation.data());
    queue().enqueueWriteBuffer(device_mean, CL_TRUE, 0, columns_ * sizeof(float), mean.data());
    run(queue(), average_, columns_, device_data, device_mean, rows_);
    run(queue(), spread_, columns_, device_data, device_mean, device_deviation, rows_);
    run(queue(), standardize_, {columns_, rows_}, device_data, device_mean, device_deviation);
    run(queue(), correlate_, {columns_, columns_}, device_data, device_matrix, rows_);
    queue().enqueueWriteBuffer(device_matrix, CL_TRUE, (matrix_.size() - 1) * sizeof(float), sizeof(float), one.data());
    queue().enqueueReadBuffer(device_matrix, CL_TRUE, 0, matrix_.size() * sizeof(float), matrix_.data());
}

void correlation::copy_all() {
    std::vector<float> data = data_, mean(columns_), deviation(columns_);
    cl::Buffer device_data(context(), CL_MEM_READ_WRITE, data_.size() * sizeof(float)),
        device_matrix(context(), CL_MEM_READ_WRITE, matrix_.size() * sizeof(float));
    cl::Buffer device_mean(context(), CL_MEM_READ_WRITE, columns_ * sizeof(float)),
        device_deviation(context(), CL_MEM_READ_WRITE, columns_ * sizeof(float));
    queue().enqueueWriteBuffer(device_data, CL_TRUE, 0, data_.size() * sizeof(float), data.data());
    queue().enqueueWriteBuffer(device_mean, CL_TRUE, 0, columns_ * sizeof(float), mean.data());
    run(queue(), average_, columns_, device_data, device_mean, rows_);
    queue().enqueueReadBuffer(device_mean, CL_TRUE, 0, columns_ * sizeof(float), mean.data());
    queue().enqueueWriteBuffer(device_data, CL_TRUE, 0, data_.size() * sizeof(float), data.data());
    queue().enqueueWriteBuffer(device_mean, CL_TRUE, 0, columns_ * sizeof(float), mean.data());
    queue().enqueueWriteBuffer(device_deviation, CL_TRUE, 0, columns_ * sizeof(float), deviation.data());
    run(queue(), spread_, columns_, device_data, device_mean, device_deviation, rows_);
    queue().enqueueReadBuffer(device_deviation, CL_TRUE, 0, columns_ * sizeof(float), deviation.data());
    queue().enqueueWriteBuffer(device_data, CL_TRUE, 0, data_.size() * sizeof(float), data.data());
    queue().enqueueWriteBuffer(device_mean, CL_TRUE, 0, columns_ * sizeof(float), mean.data());
    queue().enqueueWriteBuffer(device_deviation, CL_TRUE, 0, columns_ * sizeof(float), deviation.data());
    run(queue(), standardize_, {columns_, rows_}, device_data, device_mean, device_deviation);
    queue().enqueueReadBuffer(device_data, CL_TRUE, 0, data_.size() * sizeof(float), data.data());
    queue().enqueueWriteBuffer(device_data, CL_TRUE, 0, data_.size() * sizeof(float), data.data());
    queue().enqueueWriteBuffer(device_matrix, CL_TRUE, 0, matrix_.size() * sizeof(float), matrix_.data());
    run(queue(), correlate_, {columns_, columns_}, device_data, device_matrix, rows_);
    queue().enqueueReadBuffer(device_matrix, CL_TRUE, 0, matrix_.size() * sizeof(float), matrix_.data());
}

void correlation::expert() {
    cl::Buffer data(context(), CL_MEM_READ_WRITE, data_.size() * sizeof(float)),
        matrix(context(), CL_MEM_READ_WRITE, matrix_.size() * sizeof(float));
    cl::Buffer mean(context(), CL_MEM_READ_WRITE, columns_ * sizeof(float)),
        deviation(context(), CL_MEM_READ_WRITE, columns_ * sizeof(float));
    queue().enqueueWriteBuffer(data, CL_TRUE, 0, data_.size() * sizeof(float), data_.data());
    run(queue(), average_, columns_, data, mean, rows_);
    run(queue(), spread_, columns_, data, mean, deviation, rows_);
    run(queue(), standardize_, {columns_, rows_}, data, mean, deviation);
    run(queue(), correlate_, {columns_, columns_}, data, matrix, rows_);
    queue().enqueueReadBuffer(matrix, CL_TRUE, 0, matrix_.size() * sizeof(float), matrix_.data());
}

void correlation::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> data({data_.size()}, options), matrix({matrix_.size()}, options);
    unified_buffer<float> mean({columns_}, options), deviation({columns_}, options);
    data.copy_from(data_, where());
    opencl::enqueue(average_(), columns_, read(data), write(mean), rows_);
    opencl::enqueue(spread_(), columns_, read(data), read(mean), write(deviation), rows_);
    opencl::enqueue(standardize_(), {columns_, rows_}, read_write(data), read(mean), read(deviation));
    opencl::enqueue(correlate_(), {columns_, columns_}, read(data), write(matrix), rows_);
    matrix.copy_to(matrix_, where());
}

void correlation::touches(ledger& told) const {
    told.make("data", data_.size(), sizeof(float));
    for (const char* each : {"mean", "deviation"}) told.make(each, columns_, sizeof(float));
    told.make("matrix", matrix_.size(), sizeof(float));
    told.host_writes("data");
    told.device_reads({"data"});
    told.device_writes({"mean"});
    told.device_reads({"data", "mean"});
    told.device_writes({"deviation"});
    told.device_reads({"data", "mean", "deviation"});
    told.device_writes({"data"});
    told.device_reads({"data"});
    told.device_writes({"matrix"});
    told.host_reads("matrix");
}

const registered entry_of_correlation({.name = "correlation",
                                       .origin = "PolyBench",
                                       .problem = "the correlations of 768 columns of 768 numbers each",
                                       .make = made<correlation>});

}  // namespace
}  // namespace suite::correlation_program
