// tests/contract/opencl_kernel_test.cpp: kernels that are run on buffers.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include <gmock/gmock.h>

#include "backends/opencl/api.hpp"
#include "contract/contract.hpp"
#include "contract/opencl_fixture.hpp"
#include "system/loader.hpp"
#include "unibuf/opencl.hpp"
#include "unibuf/unified_buffer.hpp"

struct _cl_program;

namespace unibuf::contract {
namespace {

namespace cl = backends::cl;
using cl::api;
using testing::HasSubstr;

constexpr const char* source = R"(
kernel void saxpy(global const float* x, global float* y, float a) {
    const size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
kernel void place(global int* at) {
    const size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    at[i] = 100 * get_work_dim() + 10 * get_local_size(0) + get_local_size(1);
}
kernel void sum_of_group(global const float* x, global float* sums, local float* kept) {
    kept[get_local_id(0)] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) != 0) return;
    float sum = 0;
    for (size_t i = 0; i < get_local_size(0); ++i) sum += kept[i];
    sums[get_group_id(0)] = sum;
}
)";

/// The kernels of `source`, built for one context.
class program {
public:
    explicit program(cl::cl_context context) {
        const system::library opencl({"libOpenCL.so.1"});
        _cl_program* (*make)(cl::cl_context, cl::cl_uint, const char**, const std::size_t*, cl::cl_int*) = nullptr;
        cl::cl_int (*build)(_cl_program*, cl::cl_uint, const cl::cl_device_id*, const char*, void*, void*) = nullptr;
        opencl.find("clCreateProgramWithSource", make);
        opencl.find("clBuildProgram", build);
        opencl.find("clCreateKernel", create_);
        opencl.find("clReleaseKernel", release_);
        opencl.find("clReleaseProgram", release_program_);
        cl::cl_int status = cl::success;
        const char* text = source;
        made_ = make(context, 1, &text, nullptr, &status);
        ok(status);
        ok(build(made_, 0, nullptr, "", nullptr, nullptr));
    }
    ~program() {
        for (const cl::cl_kernel each : kernels_) release_(each);
        release_program_(made_);
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    cl::cl_kernel kernel(const char* name) {
        cl::cl_int status = cl::success;
        kernels_.push_back(create_(made_, name, &status));
        ok(status);
        return kernels_.back();
    }

private:
    cl::cl_kernel (*create_)(_cl_program*, const char*, cl::cl_int*) = nullptr;
    cl::cl_int (*release_)(cl::cl_kernel) = nullptr;
    cl::cl_int (*release_program_)(_cl_program*) = nullptr;
    _cl_program* made_ = nullptr;
    std::vector<cl::cl_kernel> kernels_;
};

class opencl_kernel_test : public on_opencl {
protected:
    void SetUp() override {
        on_opencl::SetUp();
        if (IsSkipped()) return;
        program_ = std::make_unique<program>(opencl::handles_of(where_).context);
        saxpy_ = program_->kernel("saxpy");
        std::vector<float> content(count);
        std::iota(content.begin(), content.end(), 0.0f);
        x_.copy_from(content);
        y_.copy_from(content);
    }

    /// Fails the test where `y` is not `a` times its index plus its index in [begin, end), and its index elsewhere.
    void expect_saxpy(float a, std::size_t begin, std::size_t end) {
        const auto got = y_.read(host);
        for (std::size_t i = 0; i < got.size(); ++i) {
            const float factor = i >= begin && i < end ? a + 1 : 1;
            ASSERT_EQ(got[i], factor * static_cast<float>(i)) << i;
        }
    }

    std::string refusal(const std::function<void()>& call) {
        std::string message;
        EXPECT_EQ(code_of(call, &message), error_code::invalid_argument) << message;
        return message;
    }

    static constexpr std::size_t count = 4096;
    std::unique_ptr<program> program_;
    cl::cl_kernel saxpy_ = nullptr;
    unified_buffer<float> x_{{count}};
    unified_buffer<float> y_{{count}};
};

TEST_F(opencl_kernel_test, runs_on_buffers) {
    opencl::enqueue(saxpy_, count, read(x_), read_write(y_), 2.0f);
    EXPECT_EQ(y_.state(), buffer_state::device_dirty);
    EXPECT_EQ(x_.state(), buffer_state::synchronized);
    expect_saxpy(2, 0, count);
}

TEST_F(opencl_kernel_test, runs_on_memory_that_is_shared) {
    for (const std::size_t size : {std::size_t{600}, count * 16}) {
        unified_buffer<float> x({size}, {.hint = memory_hint::cpu_preferred});
        unified_buffer<float> y({size}, {.hint = memory_hint::cpu_preferred});
        x.fill(3);
        for (int round = 1; round <= 3; ++round) {
            opencl::enqueue(saxpy_, size, read(x), read_write(y), 1.0f);
            EXPECT_EQ(std::as_const(y).host()[size - 1], 3.0f * static_cast<float>(round));
        }
    }
}

TEST_F(opencl_kernel_test, touches_the_range_that_an_access_names) {
    x_.read(where_).release();
    y_.read(where_).release();
    y_.host()[count - 1] = -1;  // moves where the kernel is to touch it
    const auto moved = [&] { return y_.statistics().bytes_moved(); };
    const std::uint64_t before = moved();
    opencl::enqueue(saxpy_, 100, read(x_, {.count = 100}), read_write(y_, {.count = 100}), 4.0f);
    EXPECT_EQ(moved(), before);
    y_.host()[count - 1] = static_cast<float>(count - 1);
    expect_saxpy(4, 0, 100);
}

TEST_F(opencl_kernel_test, runs_on_views) {
    cl::cl_uint bits = 0;
    ok(api().clGetDeviceInfo(opencl::handles_of(where_).device, cl::device_mem_base_addr_align, sizeof bits, &bits,
                             nullptr));
    const std::size_t begin = 2 * bits / 8 / sizeof(float);
    auto x = x_.view(begin, 200);
    auto y = y_.view(begin, 200);
    opencl::enqueue(saxpy_, 100, read(x, {.count = 100}), read_write(y, {.count = 100}), 4.0f);
    expect_saxpy(4, begin, begin + 100);

    auto unaligned = y_.view(begin + 1, 10);
    EXPECT_THAT(
        refusal([&] { opencl::enqueue(saxpy_, 10, read(x), read_write(unaligned), 1.0f); }),
        HasSubstr("argument 1 of the kernel 'saxpy' begins at byte " + std::to_string((begin + 1) * sizeof(float))));
    expect_saxpy(4, begin, begin + 100);
    opencl::enqueue(saxpy_, 100, read(x), read_write(y_.view(begin, 200)), -5.0f);
    expect_saxpy(-1, begin, begin + 100);
    auto nothing = y_.view(7, 0);
    opencl::enqueue(saxpy_, 1, read(x), read(nothing), 0.0f);
}

TEST_F(opencl_kernel_test, takes_sizes_of_items_and_groups) {
    unified_buffer<int> at({64});
    const auto cl_place = program_->kernel("place");
    const int width = 8;
    const auto first = [&] { return at.read(host)[0] / 10; };
    opencl::enqueue(cl_place, {width, 8}, write(at));
    EXPECT_EQ(first() / 10, 2);
    opencl::enqueue(cl_place, {{width, 8}, {4, 2}}, write(at));
    EXPECT_EQ(at.read(host)[63], 242);
    opencl::enqueue(cl_place, {{64}, {16}}, write(at));
    EXPECT_EQ(at.read(host)[63], 100 + 160 + 1);
    EXPECT_THAT(refusal([&] { opencl::enqueue(cl_place, {width, -1}, write(at)); }), HasSubstr("negative"));
    EXPECT_THAT(refusal([&] { opencl::enqueue(cl_place, {{width, 8}, {16}}, write(at)); }), HasSubstr("dimensions"));
}

TEST_F(opencl_kernel_test, gives_groups_memory_of_their_own) {
    unified_buffer<float> sums({count / 64});
    opencl::enqueue(program_->kernel("sum_of_group"), {{count}, {64}}, read(x_), write(sums),
                    opencl::local_memory{64 * sizeof(float)});
    EXPECT_EQ(sums.read(host)[1], 64 * (64 + 127) / 2.0f);
}

TEST_F(opencl_kernel_test, a_kernel_that_is_refused_changes_nothing) {
    const auto group_of_7 = [&] { opencl::enqueue(saxpy_, {{count}, {7}}, read(x_), write(y_), 2.0f); };
    if (refusal(group_of_7).empty()) GTEST_SKIP();
    EXPECT_THAT(refusal([&] { opencl::enqueue(saxpy_, count, read(x_), write(y_), 2.0); }),
                HasSubstr("argument 2 of the kernel 'saxpy': 8 bytes were given: CL_INVALID_ARG_SIZE"));
    EXPECT_THAT(refusal([&] { opencl::enqueue(saxpy_, count, read(x_), write(y_)); }),
                HasSubstr("the kernel 'saxpy' takes 3 arguments; 2 were given"));
    const queue named = opencl::queue_of(opencl::handles_of(where_).queue);
    EXPECT_THAT(refusal([&] { opencl::enqueue(saxpy_, count, read(x_), write(y_, {.on = named}), 2.0f); }),
                HasSubstr("argument 1 of the kernel 'saxpy' names a queue"));
    EXPECT_THAT(refusal([&] { opencl::enqueue(nullptr, count, read(x_), write(y_), 2.0f); }),
                HasSubstr("CL_INVALID_KERNEL"));
    EXPECT_EQ(code_of([&] { opencl::enqueue(saxpy_, count, read(x_), read_write(x_), 2.0f); }),
              error_code::access_conflict);
    expect_saxpy(0, 0, 0);
    y_.write(host).release();  // nothing is held
}

TEST_F(opencl_kernel_test, a_kernel_that_is_refused_leaves_shared_memory_as_it_was) {
    unified_buffer<float> y({count}, {.hint = memory_hint::cpu_preferred});
    y.fill(1);
    y.read(where_).release();
    y.write(host)[17] = 42;
    EXPECT_FALSE(refusal([&] { opencl::enqueue(saxpy_, {{count}, {7}}, read(x_), write(y), 2.0f); }).empty());
    EXPECT_EQ(y.read(host)[17], 42);
    opencl::enqueue(saxpy_, count, read(x_), read_write(y), 0.0f);
    EXPECT_EQ(y.read(host)[17], 42);
}

TEST_F(opencl_kernel_test, takes_its_arguments_from_leases) {
    const opencl::handles known = opencl::handles_of(where_);
    {
        const auto x = x_.read(where_, {.on = opencl::queue_of(known.queue)});
        const auto y = y_.read_write(where_, {.on = opencl::queue_of(known.queue)});
        opencl::set_arguments(saxpy_, x, y, 5.0f);
        ok(api().clEnqueueNDRangeKernel(known.queue, saxpy_, 1, nullptr, &count, nullptr, 0, nullptr, nullptr));
    }
    expect_saxpy(5, 0, count);
    EXPECT_THAT(refusal([&] { opencl::set_arguments(saxpy_, read(x_), read(y_), 5.0f); }), HasSubstr("call enqueue"));
    const auto inside = x_.read(where_, {.offset = 1024});
    EXPECT_THAT(refusal([&] { opencl::set_arguments(saxpy_, inside, inside, 5.0f); }),
                HasSubstr("begins at byte 4096"));
    EXPECT_THAT(refusal([&] { opencl::enqueue(saxpy_, count, inside, inside, 5.0f); }),
                HasSubstr("argument 0 of the kernel 'saxpy' is a lease"));
    const auto at_host = y_.read(host);
    EXPECT_THAT(refusal([&] { opencl::set_arguments(saxpy_, at_host, at_host, 5.0f); }),
                HasSubstr("argument 0 of the kernel 'saxpy' is a lease at host"));
    EXPECT_THAT(refusal([&] { opencl::set_arguments(saxpy_, 5.0f); }), HasSubstr("takes 3 arguments; 1 were given"));
}

TEST_F(opencl_kernel_test, runs_in_a_context_of_the_programs_own) {
    const cl::cl_device_id device = opencl::handles_of(where_).device;
    cl::cl_int status = cl::success;
    const cl::cl_context context = api().clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    ok(status);
    program mine(context);
    const cl::cl_kernel saxpy = mine.kernel("saxpy");
    EXPECT_THAT(refusal([&] { opencl::enqueue(saxpy, count, read(x_), read_write(y_), 2.0f); }),
                HasSubstr("opencl::use makes one"));

    const space adopted = opencl::use(context, device);
    EXPECT_EQ(opencl::use(context, device), adopted);
    EXPECT_EQ(opencl::use(context, device, opencl::handles_of(adopted).queue), adopted);
    EXPECT_EQ(opencl::use(opencl::handles_of(where_).context, device), where_);
    EXPECT_EQ(opencl::space_of(saxpy), adopted);
    opencl::enqueue(saxpy, count, read(x_), read_write(y_), 2.0f);
    expect_saxpy(2, 0, count);

    const cl::cl_command_queue other = api().clCreateCommandQueue(context, device, 0, &status);
    ok(status);
    const space second = opencl::use(context, device, other);
    EXPECT_THAT(refusal([&] { opencl::enqueue(saxpy, count, read(x_), read_write(y_), 2.0f); }),
                HasSubstr("of the context of " + adopted.name() + " and " + second.name()));
    opencl::enqueue(second, saxpy, count, read(x_), read_write(y_), 1.0f);
    const auto got = y_.read(host);
    EXPECT_EQ(got[100], 400);
    EXPECT_THAT(refusal([&] { opencl::use(context, nullptr); }), HasSubstr("one of them is null"));
    api().clReleaseCommandQueue(other);
    api().clReleaseContext(context);
}

}  // namespace
}  // namespace unibuf::contract
