// tests/doubles/nvrtc/nvrtc_test.cpp: kernels on the double run, and what they do wrong is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "doubles/cuda/loaded.hpp"

struct CUmod_st;
struct CUfunc_st;
struct nvrtc_program;

namespace cuda_double::nvrtc_test {
namespace {

namespace api = unibuf::backends::cuda;
using api::device_pointer;
using api::result;
using api::stream_handle;
using module = CUmod_st*;
using function = CUfunc_st*;
using program = nvrtc_program*;

constexpr int count = 1000;

constexpr const char* source = R"(
static __device__ int place() { return (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; }

extern "C" __global__ void number(int* to, int limit, int first) {
    if (place() < limit) to[place()] = first + place();
}

extern "C" __global__ void add(const int* __restrict__ from, int* __restrict__ to, int limit) {
    if (place() < limit) to[place()] += max(from[place()], 0);
}
)";

template <class Function>
Function* compiler_function(const char* name) {
    static void* const library = ::dlopen(UNIBUF_NVRTC_DOUBLE, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(::dlsym(library, name));
}

struct compiled_program {
    int status = 0;
    std::string log;
    std::string image;
};

compiled_program compile(const std::string& text, const char* option = "--gpu-architecture=compute_90") {
    using size_function = int(program, std::size_t*);
    using text_function = int(program, char*);
    program made = nullptr;
    compiler_function<int(program*, const char*, const char*, int, const char* const*, const char* const*)>(
        "nvrtcCreateProgram")(&made, text.c_str(), "test.cu", 0, nullptr, nullptr);
    compiled_program got;
    got.status = compiler_function<int(program, int, const char* const*)>("nvrtcCompileProgram")(made, 1, &option);
    const auto fetch = [&](const char* size_name, const char* name) {
        std::size_t bytes = 0;
        EXPECT_EQ(compiler_function<size_function>(size_name)(made, &bytes), 0);
        std::string fetched(bytes, '\0');
        EXPECT_EQ(compiler_function<text_function>(name)(made, fetched.data()), 0);
        return fetched;
    };
    got.log = fetch("nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
    if (got.status == 0) got.image = fetch("nvrtcGetPTXSize", "nvrtcGetPTX");
    EXPECT_EQ(compiler_function<int(program*)>("nvrtcDestroyProgram")(&made), 0);
    return got;
}

class kernels : public ::testing::Test {
protected:
    void SetUp() override {
        if (!loaded()) GTEST_SKIP() << "a real driver is asked for";
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        EXPECT_EQ(driver_function<result(unsigned)>("cuInit")(0), 0);
        api::context_handle context = nullptr;
        EXPECT_EQ(driver_function<result(api::context_handle*, int)>("cuDevicePrimaryCtxRetain")(&context, 0), 0);
        EXPECT_EQ(driver_function<result(api::context_handle)>("cuCtxPushCurrent")(context), 0);
        static const std::string image = compile(source).image;
        ASSERT_EQ(load(image.c_str()), 0);
    }
    void TearDown() override {
        if (!loaded()) return;
        driver_function<result()>("cuCtxSynchronize")();
        EXPECT_EQ(unload(), 0);
        api::context_handle popped = nullptr;
        EXPECT_EQ(driver_function<result(api::context_handle*)>("cuCtxPopCurrent")(&popped), 0);
    }

    int load(const void* image) {
        return driver_function<result(module*, const void*)>("cuModuleLoadData")(&module_, image);
    }
    int unload() { return driver_function<result(module)>("cuModuleUnload")(module_); }
    int find(const char* name, function& found) {
        return driver_function<result(function*, module, const char*)>("cuModuleGetFunction")(&found, module_, name);
    }
    int launch(const char* name, stream_handle on, std::vector<void*> arguments, unsigned blocks = 4) {
        function found = nullptr;
        EXPECT_EQ(find(name, found), 0);
        return driver_function<result(function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      stream_handle, void**, void**)>("cuLaunchKernel")(
            found, blocks, 2, 1, 128, 1, 1, 0, on, arguments.data(), nullptr);
    }
    int number(stream_handle on, device_pointer to, int first = 0) {
        int limit = count;
        return launch("number", on, {&to, &limit, &first});
    }
    int add(stream_handle on, device_pointer from, device_pointer to) {
        int limit = count;
        return launch("add", on, {&from, &to, &limit});
    }

    static stream_handle stream() {
        stream_handle made = nullptr;
        EXPECT_EQ(driver_function<result(stream_handle*, unsigned)>("cuStreamCreate")(&made, api::stream_non_blocking),
                  0);
        return made;
    }
    static device_pointer allocate() {
        device_pointer made = 0;
        EXPECT_EQ(driver_function<result(device_pointer*, std::size_t)>("cuMemAlloc")(&made, count * sizeof(int)), 0);
        return made;
    }
    static void free(device_pointer address) { driver_function<result(device_pointer)>("cuMemFree")(address); }
    static std::vector<int> contents(stream_handle on, device_pointer from) {
        std::vector<int> got(count);
        driver_function<result(void*, device_pointer, std::size_t, stream_handle)>("cuMemcpyDtoHAsync")(
            got.data(), from, count * sizeof(int), on);
        driver_function<result(stream_handle)>("cuStreamSynchronize")(on);
        return got;
    }

    module module_ = nullptr;
};

TEST_F(kernels, run_each_thread_once_in_the_order_of_the_stream) {
    const stream_handle on = stream();
    const device_pointer first = allocate();
    const device_pointer second = allocate();
    EXPECT_EQ(number(on, first, -10), 0);
    EXPECT_EQ(number(on, second, 5), 0);
    EXPECT_EQ(add(on, first, second), 0);
    std::vector<int> expected;
    for (int i = 0; i < count; ++i) expected.push_back(i + 5 + std::max(i - 10, 0));
    EXPECT_EQ(contents(on, second), expected);
    free(first);
    free(second);
}

TEST_F(kernels, touch_what_their_pointers_lead_to) {
    const device_pointer from = allocate();
    const device_pointer to = allocate();
    const device_pointer other = allocate();
    const stream_handle first = stream();
    number(first, from);
    number(first, to);
    number(first, other);
    driver_function<result(stream_handle)>("cuStreamSynchronize")(first);
    add(first, from, to);
    add(stream(), from, other);  // both only read the one
    EXPECT_DEATH(number(stream(), from), "missing order: cuLaunchKernel.* writes .* reads ");
    EXPECT_DEATH(add(stream(), to, allocate()), "missing order: cuLaunchKernel.* reads .* writes ");
    EXPECT_DEATH(number(stream(), to + 100), "missing order: cuLaunchKernel.* writes .* writes ");
}

TEST_F(kernels, must_be_given_memory_of_their_device) {
    EXPECT_DEATH(number(stream(), 12345), "no memory of the device");
    EXPECT_DEATH(
        {
            const device_pointer memory = allocate();
            free(memory);
            number(stream(), memory);
        },
        "that memory was freed");
    EXPECT_DEATH(
        {
            api::context_handle other = nullptr;
            driver_function<result(api::context_handle*, int)>("cuDevicePrimaryCtxRetain")(&other, 1);
            driver_function<result(api::context_handle)>("cuCtxPushCurrent")(other);
            const device_pointer there = allocate();
            driver_function<result(api::context_handle*)>("cuCtxPopCurrent")(&other);
            number(stream(), there);
        },
        "memory of device 1");
}

TEST_F(kernels, keep_their_module) {
    EXPECT_DEATH(
        {
            number(stream(), allocate());
            unload();
        },
        "missing order: cuModuleUnload");
    EXPECT_DEATH(
        {
            function found = nullptr;
            unload();
            find("number", found);
        },
        "a module that was unloaded");
}

TEST(the_double_of_nvrtc, makes_code_for_one_card_and_ptx_for_all) {
    if (!loaded()) GTEST_SKIP() << "a real driver is asked for";
    EXPECT_EQ(compile(source, "--gpu-architecture=sm_90").status, 0);
    EXPECT_EQ(compile(source, "--gpu-architecture=sm_130").status, 5) << "NVRTC_ERROR_INVALID_OPTION";
}

TEST_F(kernels, are_refused_as_the_driver_refuses_them) {
    constexpr int invalid_image = 200;
    constexpr int not_found = 500;
    function found = nullptr;
    EXPECT_EQ(find("nothing", found), not_found);
    EXPECT_EQ(find("place", found), not_found);
    int limit = 0;
    device_pointer none = 0;
    EXPECT_EQ(launch("number", nullptr, {&none, &limit, &limit}, 0), api::invalid_value);
    EXPECT_EQ(launch("number", nullptr, {&none, &limit, &limit}), 0);
    module other = nullptr;
    EXPECT_EQ((driver_function<result(module*, const void*)>("cuModuleLoadData")(&other, "nonsense")), invalid_image);
}

TEST(the_double_of_nvrtc, tells_what_does_not_compile) {
    constexpr int invalid_option = 5;
    constexpr int compilation = 6;
    const compiled_program got = compile("extern \"C\" __global__ void broken() {\n    nonsense();\n}\n");
    EXPECT_EQ(got.status, compilation);
    EXPECT_THAT(got.log, testing::HasSubstr("test.cu:2"));
    EXPECT_THAT(got.log, testing::HasSubstr("nonsense"));
    EXPECT_EQ(compile(source, "--nonsense").status, invalid_option);
    EXPECT_EQ(compile(source).log, std::string(1, '\0'));
    EXPECT_EQ(compile("__global__ void f() { __syncthreads(); }").status, compilation);
}

}  // namespace
}  // namespace cuda_double::nvrtc_test
