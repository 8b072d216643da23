// suite/correlation.cpp: the correlation of each two columns of a table (PolyBench's correlation).
#include <unibuf/unibuf.hpp>

#include <array>

#include "program.hpp"
#include "random.hpp"

namespace suite {
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
    _cl_kernel* average_ = kernels_["average"];
    _cl_kernel* spread_ = kernels_["spread"];
    _cl_kernel* standardize_ = kernels_["standardize"];
    _cl_kernel* correlate_ = kernels_["correlate"];
    std::vector<float> data_;
    std::vector<float> matrix_ = std::vector<float>(columns_ * columns_);
};

void correlation::published() {
    std::vector<float> mean(columns_), deviation(columns_);
    const std::array<float, 1> one{1};
    device_array<float> device_data(on_, data_.size()), device_matrix(on_, matrix_.size());
    device_array<float> device_mean(on_, columns_), device_deviation(on_, columns_);
    device_data.write(data_);
    device_matrix.write(matrix_);
    device_deviation.write(deviation);
    device_mean.write(mean);
    run(on_, average_, columns_, device_data, device_mean, rows_);
    run(on_, spread_, columns_, device_data, device_mean, device_deviation, rows_);
    run(on_, standardize_, {columns_, rows_}, device_data, device_mean, device_deviation);
    run(on_, correlate_, {columns_, columns_}, device_data, device_matrix, rows_);
    device_matrix.write(one, matrix_.size() - 1);
    device_matrix.read(matrix_);
}

void correlation::copy_all() {
    std::vector<float> data = data_, mean(columns_), deviation(columns_);
    device_array<float> device_data(on_, data_.size()), device_matrix(on_, matrix_.size());
    device_array<float> device_mean(on_, columns_), device_deviation(on_, columns_);
    device_data.write(data);
    device_mean.write(mean);
    run(on_, average_, columns_, device_data, device_mean, rows_);
    device_mean.read(mean);
    device_data.write(data);
    device_mean.write(mean);
    device_deviation.write(deviation);
    run(on_, spread_, columns_, device_data, device_mean, device_deviation, rows_);
    device_deviation.read(deviation);
    device_data.write(data);
    device_mean.write(mean);
    device_deviation.write(deviation);
    run(on_, standardize_, {columns_, rows_}, device_data, device_mean, device_deviation);
    device_data.read(data);
    device_data.write(data);
    device_matrix.write(matrix_);
    run(on_, correlate_, {columns_, columns_}, device_data, device_matrix, rows_);
    device_matrix.read(matrix_);
}

void correlation::expert() {
    device_array<float> data(on_, data_.size()), matrix(on_, matrix_.size());
    device_array<float> mean(on_, columns_), deviation(on_, columns_);
    data.write(data_);
    run(on_, average_, columns_, data, mean, rows_);
    run(on_, spread_, columns_, data, mean, deviation, rows_);
    run(on_, standardize_, {columns_, rows_}, data, mean, deviation);
    run(on_, correlate_, {columns_, columns_}, data, matrix, rows_);
    matrix.read(matrix_);
}

void correlation::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> data({data_.size()}, options), matrix({matrix_.size()}, options);
    unified_buffer<float> mean({columns_}, options), deviation({columns_}, options);
    data.copy_from(data_, where_);
    opencl::enqueue(average_, columns_, read(data), write(mean), rows_);
    opencl::enqueue(spread_, columns_, read(data), read(mean), write(deviation), rows_);
    opencl::enqueue(standardize_, {columns_, rows_}, read_write(data), read(mean), read(deviation));
    opencl::enqueue(correlate_, {columns_, columns_}, read(data), write(matrix), rows_);
    matrix.copy_to(matrix_, where_);
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
}  // namespace suite
