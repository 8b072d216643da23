// suite/backprop.cpp: one step of training of a neural network, by back propagation (Rodinia's backprop).
#include <unibuf/unibuf.hpp>

#include <array>
#include <cmath>
#include <span>

#include "program.hpp"
#include "random.hpp"

namespace suite::backprop_program {
namespace {

constexpr const char* source = R"(
// Weights have a row for each input unit, and a column for each hidden one. Row 0 is that of the bias.

kernel void forward(global const float* input, global const float* weights, global float* partial_sums) {
    const int hidden = get_global_size(0), unit = get_global_id(0), block = get_global_id(1);
    float sum = 0;
    for (int i = block * 16 + 1; i <= (block + 1) * 16; ++i) sum += weights[i * hidden + unit] * input[i];
    partial_sums[block * hidden + unit] = sum;
}

kernel void adjust(global const float* input, global const float* delta, global float* weights, global float* changes) {
    const int hidden = get_global_size(0), unit = get_global_id(0), i = get_global_id(1);
    const float change = 0.3f * delta[unit] * input[i] + 0.3f * changes[i * hidden + unit];
    weights[i * hidden + unit] += change;
    changes[i * hidden + unit] = change;
}
)";

constexpr std::size_t hidden = 16;
constexpr std::size_t block = 16;
constexpr float target = 0.1F;

float sigmoid(float of) { return 1 / (1 + std::exp(-of)); }

class backprop final : public program {
public:
    backprop(unibuf::space where, scale size)
        : program(where, source), inputs_(size == scale::full ? 2'097'152 : 1'024), blocks_(inputs_ / block) {
        random_numbers random;
        input_ = random.take(inputs_ + 1);
        input_[0] = 1;
        weights_ = random.take((inputs_ + 1) * hidden);
        changes_ = random.take((inputs_ + 1) * hidden);
        output_weights_ = random.take(hidden + 1);
    }

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(trained_); }

private:
    /// Finds the network's output from what the inputs sum up to, adjusts the weights of the output layer, and returns
    /// the errors of the hidden units. The sums are made means, of which a sigmoid is not just 1.
    std::array<float, hidden> errors_from(std::span<const float> partial_sums);

    std::size_t inputs_;
    std::size_t blocks_;
    cl::Kernel forward_ = kernel("forward");
    cl::Kernel adjust_ = kernel("adjust");
    std::vector<float> input_;
    std::vector<float> weights_;
    std::vector<float> changes_;  // that an earlier step has made to the weights, which go on for a while
    std::vector<float> output_weights_;
    std::vector<float> trained_output_;
    std::vector<float> trained_ = std::vector<float>((inputs_ + 1) * hidden);
};

std::array<float, hidden> backprop::errors_from(std::span<const float> partial_sums) {
    std::array<float, hidden> values{};
    for (std::size_t i = 0; i < partial_sums.size(); ++i) values[i % hidden] += partial_sums[i];
    float sum = output_weights_[0];
    for (std::size_t unit = 0; unit < hidden; ++unit) {
        values[unit] = sigmoid(values[unit] / static_cast<float>(inputs_) + weights_[unit]);
        sum += values[unit] * output_weights_[unit + 1];
    }
    const float output = sigmoid(sum);
    const float error = output * (1 - output) * (target - output);
    std::array<float, hidden> errors{};
    trained_output_ = output_weights_;
    trained_output_[0] += 0.3F * error;
    for (std::size_t unit = 0; unit < hidden; ++unit) {
        errors[unit] = values[unit] * (1 - values[unit]) * error * output_weights_[unit + 1];
        trained_output_[unit + 1] += 0.3F * error * values[unit];
    }
    return errors;
}

void backprop::published() {
    cl::Buffer input(context(), CL_MEM_READ_WRITE, input_.size() * sizeof(float)),
        weights(context(), CL_MEM_READ_WRITE, weights_.size() * sizeof(float)),
        changes(context(), CL_MEM_READ_WRITE, changes_.size() * sizeof(float));
    cl::Buffer partial_sums(context(), CL_MEM_READ_WRITE, blocks_ * hidden * sizeof(float)),
        errors(context(), CL_MEM_READ_WRITE, hidden * sizeof(float));
    std::vector<float> sums(blocks_ * hidden);
    queue().enqueueWriteBuffer(input, CL_TRUE, 0, input_.size() * sizeof(float), input_.data());
    queue().enqueueWriteBuffer(weights, CL_TRUE, 0, weights_.size() * sizeof(float), weights_.data());
    run(queue(), forward_, {hidden, blocks_}, input, weights, partial_sums);
    queue().enqueueReadBuffer(partial_sums, CL_TRUE, 0, blocks_ * hidden * sizeof(float), sums.data());
    const auto found = errors_from(sums);
    queue().enqueueWriteBuffer(errors, CL_TRUE, 0, hidden * sizeof(float), found.data());
    queue().enqueueWriteBuffer(changes, CL_TRUE, 0, changes_.size() * sizeof(float), changes_.data());
    queue().enqueueWriteBuffer(weights, CL_TRUE, 0, weights_.size() * sizeof(float), weights_.data());
    run(queue(), adjust_, {hidden, inputs_ + 1}, input, errors, weights, changes);
    queue().enqueueReadBuffer(input, CL_TRUE, 0, input_.size() * sizeof(float), input_.data());
    queue().enqueueReadBuffer(weights, CL_TRUE, 0, weights_.size() * sizeof(float), trained_.data());
}

void backprop::copy_all() {
    cl::Buffer input(context(), CL_MEM_READ_WRITE, input_.size() * sizeof(float)),
        weights(context(), CL_MEM_READ_WRITE, weights_.size() * sizeof(float)),
        changes(context(), CL_MEM_READ_WRITE, changes_.size() * sizeof(float));
    cl::Buffer partial_sums(context(), CL_MEM_READ_WRITE, blocks_ * hidden * sizeof(float)),
        errors(context(), CL_MEM_READ_WRITE, hidden * sizeof(float));
    std::vector<float> sums(blocks_ * hidden), last_changes(changes_.size());
    queue().enqueueWriteBuffer(input, CL_TRUE, 0, input_.size() * sizeof(float), input_.data());
    queue().enqueueWriteBuffer(weights, CL_TRUE, 0, weights_.size() * sizeof(float), weights_.data());
    queue().enqueueWriteBuffer(partial_sums, CL_TRUE, 0, blocks_ * hidden * sizeof(float), sums.data());
    run(queue(), forward_, {hidden, blocks_}, input, weights, partial_sums);
    queue().enqueueReadBuffer(partial_sums, CL_TRUE, 0, blocks_ * hidden * sizeof(float), sums.data());
    queue().enqueueWriteBuffer(input, CL_TRUE, 0, input_.size() * sizeof(float), input_.data());
    const auto found = errors_from(sums);
    queue().enqueueWriteBuffer(errors, CL_TRUE, 0, hidden * sizeof(float), found.data());
    queue().enqueueWriteBuffer(weights, CL_TRUE, 0, weights_.size() * sizeof(float), weights_.data());
    queue().enqueueWriteBuffer(changes, CL_TRUE, 0, changes_.size() * sizeof(float), changes_.data());
    run(queue(), adjust_, {hidden, inputs_ + 1}, input, errors, weights, changes);
    queue().enqueueReadBuffer(weights, CL_TRUE, 0, weights_.size() * sizeof(float), trained_.data());
    queue().enqueueReadBuffer(changes, CL_TRUE, 0, changes_.size() * sizeof(float), last_changes.data());
}

void backprop::expert() {
    cl::Buffer input(context(), CL_MEM_READ_WRITE, input_.size() * sizeof(float)),
        weights(context(), CL_MEM_READ_WRITE, weights_.size() * sizeof(float)),
        changes(context(), CL_MEM_READ_WRITE, changes_.size() * sizeof(float));
    cl::Buffer partial_sums(context(), CL_MEM_READ_WRITE, blocks_ * hidden * sizeof(float)),
        errors(context(), CL_MEM_READ_WRITE, hidden * sizeof(float));
    std::vector<float> sums(blocks_ * hidden);
    queue().enqueueWriteBuffer(input, CL_TRUE, 0, input_.size() * sizeof(float), input_.data());
    queue().enqueueWriteBuffer(weights, CL_TRUE, 0, weights_.size() * sizeof(float), weights_.data());
    run(queue(), forward_, {hidden, blocks_}, input, weights, partial_sums);
    queue().enqueueReadBuffer(partial_sums, CL_TRUE, 0, blocks_ * hidden * sizeof(float), sums.data());
    const auto found = errors_from(sums);
    queue().enqueueWriteBuffer(errors, CL_TRUE, 0, hidden * sizeof(float), found.data());
    queue().enqueueWriteBuffer(changes, CL_TRUE, 0, changes_.size() * sizeof(float), changes_.data());
    run(queue(), adjust_, {hidden, inputs_ + 1}, input, errors, weights, changes);
    queue().enqueueReadBuffer(weights, CL_TRUE, 0, weights_.size() * sizeof(float), trained_.data());
}

void backprop::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> input({input_.size()}, options), weights({weights_.size()}, options);
    unified_buffer<float> changes({changes_.size()}, options);
    unified_buffer<float> partial_sums({blocks_ * hidden}, options), errors({hidden}, options);
    input.copy_from(input_, where());
    weights.copy_from(weights_, where());
    changes.copy_from(changes_, where());
    opencl::enqueue(forward_(), {hidden, blocks_}, read(input), read(weights), write(partial_sums));
    errors.copy_from(errors_from(partial_sums.read(host).span()), where());
    opencl::enqueue(adjust_(), {hidden, inputs_ + 1}, read(input), read(errors), read_write(weights),
                    read_write(changes));
    weights.copy_to(trained_, where());
}

void backprop::touches(ledger& told) const {
    told.make("input", input_.size(), sizeof(float));
    told.make("weights", weights_.size(), sizeof(float));
    told.make("changes", changes_.size(), sizeof(float));
    told.make("partial sums", blocks_ * hidden, sizeof(float));
    told.make("errors", hidden, sizeof(float));
    for (const char* each : {"input", "weights", "changes"}) told.host_writes(each);
    told.device_reads({"input", "weights"});
    told.device_writes({"partial sums"});
    told.host_reads("partial sums");
    told.host_writes("errors");
    told.device_reads({"input", "errors", "weights", "changes"});
    told.device_writes({"weights", "changes"});
    told.host_reads("weights");
}

const registered entry_of_backprop(
    {.name = "backprop",
     .origin = "Rodinia",
     .problem = "one step of training of a network of 2,097,152 input and 16 hidden units",
     .make = made<backprop>});

}  // namespace
}  // namespace suite::backprop_program
