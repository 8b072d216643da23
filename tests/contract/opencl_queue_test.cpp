// tests/contract/opencl_queue_test.cpp: work on the program's queues, and its order.
#include <algorithm>
#include <array>

#include "backends/opencl/device.hpp"
#include "contract/contract.hpp"
#include "contract/opencl_fixture.hpp"
#include "contract/wrong_queue.hpp"
#include "system/loader.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf::contract {
namespace {

namespace cl = backends::cl;
using namespace std::chrono_literals;
using cl::api;

std::unique_ptr<held_queue> hold_queue(space where) { return std::make_unique<held_opencl_queue>(where, 0); }
TEST_F(opencl_queues, refuses_queues_of_another_context) {
    callers_own other;
    const auto memory = device().allocate({.bytes = 100});
    const bytes content = noise(100);
    const auto write = [&](cl::cl_command_queue on) { memory->write(0, content, opencl::queue_of(on)); };
    EXPECT_EQ(code_of([&] { write(other.queue()); }), error_code::invalid_argument);
    expect_refused(where_, opencl::queue_of(other.queue()));
}

TEST_F(opencl_queues, refuses_queues_of_another_device_of_its_context) {
    const system::library opencl_library({"libOpenCL.so.1"});
    cl::cl_int (*part)(cl::cl_device_id, const std::intptr_t*, cl::cl_uint, cl::cl_device_id*, cl::cl_uint*) = nullptr;
    opencl_library.find("clCreateSubDevices", part);
    constexpr std::array<std::intptr_t, 3> into_units{0x1086, 1, 0};  // CL_DEVICE_PARTITION_EQUALLY
    std::array<cl::cl_device_id, 64> parts{};
    cl::cl_uint count = 0;
    const cl::cl_device_id whole = opencl::handles_of(where_).device;
    constexpr cl::cl_uint most_sub_devices = 0x1043;  // CL_DEVICE_PARTITION_MAX_SUB_DEVICES
    ok(api().clGetDeviceInfo(whole, most_sub_devices, sizeof count, &count, nullptr));
    const bool parted =
        count > 1 && part(whole, into_units.data(), 64, parts.data(), &count) == cl::success && count > 1;
    if (!parted) GTEST_SKIP() << "the device cannot be parted";
    cl::cl_int status = cl::success;
    const cl::cl_context both = api().clCreateContext(nullptr, 2, parts.data(), nullptr, nullptr, &status);
    ok(status);
    const space first = opencl::use(both, parts[0]);
    const cl::cl_command_queue second = api().clCreateCommandQueue(both, parts[1], 0, &status);
    ok(status);
    expect_refused(first, opencl::queue_of(second));
    api().clReleaseCommandQueue(second);
    api().clReleaseContext(both);
}

TEST_F(opencl_queues, puts_work_on_the_queue_that_is_named) {
    const cl::cl_command_queue queue = new_queue();
    const auto memory = device().allocate({.bytes = 5000});
    const bytes content = noise(5000);
    gate closed(context(), queue);
    const fence written = memory->write(0, content, opencl::queue_of(queue));
    EXPECT_FALSE(written.done());
    EXPECT_FALSE(written.wait(20ms));
    const fence recorded = device().record(opencl::queue_of(queue));
    EXPECT_FALSE(recorded.wait(1ms));
    closed.open();
    EXPECT_TRUE(written.wait(60s));
    EXPECT_TRUE(recorded.wait(60s));
    EXPECT_TRUE(same(get(*memory, 0, 5000), content));
    api().clReleaseCommandQueue(queue);
}

TEST_F(opencl_queues, puts_work_without_a_queue_after_all_queues) {
    const cl::cl_command_queue queue = new_queue();
    const auto memory = device().allocate({.bytes = 5000});
    const bytes content = noise(5000);
    put(*memory, 0, bytes(5000));
    bytes got(5000);
    gate closed(context(), queue);
    memory->write(0, content, opencl::queue_of(queue));
    const fence read = memory->read(0, got, {});
    const fence all = device().record({});
    EXPECT_FALSE(read.wait(20ms));
    EXPECT_FALSE(all.done());
    closed.open();
    EXPECT_TRUE(read.wait(60s));
    EXPECT_TRUE(all.wait(60s));
    EXPECT_TRUE(same(got, content));
    api().clReleaseCommandQueue(queue);
}

TEST_F(opencl_queues, evicts_a_copy_behind_nobody_elses_work) {
    const cl::cl_command_queue queue = new_queue();
    const auto mirrored = [&] { return buffer(1000, {.hint = memory_hint::gpu_preferred, .device = where_}); };
    buffer busy = mirrored();
    buffer idle = mirrored();
    buffer next = mirrored();
    const bytes content = noise(1000);
    busy.write(where_, {.on = opencl::queue_of(queue)}).release();
    idle.copy_from(content);
    idle.read_write(where_).release();
    idle.read(where_).release();
    gate closed(context(), queue);
    busy.write(where_, {.on = opencl::queue_of(queue)}).release();
    limit_memory(where_, 2000);
    next.write(where_, {.timeout = 20s, .on = opencl::queue_of(opencl::handles_of(where_).queue)}).release();
    EXPECT_EQ(idle.statistics().evictions, 1);
    EXPECT_EQ(busy.statistics().evictions, 0);
    limit_memory(where_, no_memory_limit);
    bytes got(1000);
    idle.copy_to(got);
    EXPECT_EQ(got, content);
    closed.open();
    api().clReleaseCommandQueue(queue);
}

TEST_F(opencl_queues, orders_one_queue_after_another) {
    const cl::cl_command_queue first = new_queue();
    const cl::cl_command_queue second = new_queue();
    const auto memory = device().allocate({.bytes = 5000});
    const bytes content = noise(5000);
    bytes got(5000);
    gate closed(context(), first);
    const fence written = memory->write(0, content, opencl::queue_of(first));
    EXPECT_TRUE(device().order(written, opencl::queue_of(second)));
    const fence read = memory->read(0, got, opencl::queue_of(second));
    EXPECT_FALSE(read.wait(20ms));
    closed.open();
    EXPECT_TRUE(read.wait(60s));
    EXPECT_TRUE(same(got, content));
    api().clReleaseCommandQueue(first);
    api().clReleaseCommandQueue(second);
}

TEST_F(opencl_queues, does_not_order_work_of_other_contexts) {
    EXPECT_FALSE(device().order(backends::device_of(adopted_opencl()).record({}), {}));
}

TEST_F(opencl_queues, forgets_queues_that_the_caller_has_released) {
    const cl::cl_command_queue queue = new_queue();
    const auto memory = device().allocate({.bytes = 5000});
    const bytes content = noise(5000);
    {
        gate closed(context(), queue);
        memory->write(0, content, opencl::queue_of(queue));
        api().clReleaseCommandQueue(queue);
    }
    EXPECT_TRUE(same(get(*memory, 0, 5000), content));
    for (int i = 0; i < 100; ++i) {
        const cl::cl_command_queue next = new_queue();
        memory->fill(0, 5000, std::span(content).first(1), opencl::queue_of(next));
        api().clReleaseCommandQueue(next);
    }
    EXPECT_TRUE(same(get(*memory, 0, 5000), bytes(5000, content[0])));
}

TEST_F(opencl_queues, waits_for_work_on_a_queue_that_is_known_since_another_lease) {
    const space where("opencl:0");
    buffer b(16384, {.hint = memory_hint::cpu_preferred});
    b.copy_from(noise(16384));
    for (int i = 0; i < 2; ++i) b.read(where).release();
    const cl::cl_command_queue queue = new_queue();
    opencl::add_queue(where, queue);
    {
        gate closed(context(), queue);
        b.read(where).release();  // its work may be on the queue that is held
        EXPECT_EQ(code_of([&] { b.write(host, {.timeout = 20ms}); }), error_code::timeout);
    }
    b.write(host).release();
    api().clReleaseCommandQueue(queue);
}

TEST_F(opencl_queues, shows_the_host_after_work_on_the_queue_that_is_named) {
    if (!device().about().aliases_host) GTEST_SKIP() << device().about().description << " has memory of its own";
    const cl::cl_command_queue queue = new_queue();
    const unibuf::queue on = opencl::queue_of(queue);
    const auto block = backends::device_of(host).allocate({.bytes = 8192});
    const auto shared = device().alias({block->host_address(), 8192}, {.bytes = 8192});
    const bytes content = noise(8192);
    {
        gate closed(context(), queue);
        shared->publish_to_device(0, 8192, access::write, on);
        shared->write(0, content, on);
        const fence seen = shared->publish_to_host(0, 8192, access::read, on);
        EXPECT_FALSE(seen.wait(20ms));
        closed.open();
        EXPECT_TRUE(seen.wait(60s));
    }
    EXPECT_TRUE(same({block->host_address(), 8192}, content));
    api().clReleaseCommandQueue(queue);
}

/// Names so many queues, in order and out of order, and releases them.
void name_others(space where, int count) {
    const opencl::handles own = opencl::handles_of(where);
    for (int i = 0; i < count; ++i) {
        const cl::cl_command_queue one = made_queue(own.context, own.device, 0);
        record_fence(where, opencl::queue_of(one)).wait();
        api().clReleaseCommandQueue(one);
    }
}

TEST_F(opencl_queues, may_be_released_before_the_lease_that_names_them_ends) {
    buffer used(5000, {.hint = memory_hint::gpu_preferred, .device = where_});
    for (const cl::cl_bitfield properties : {cl::cl_bitfield{0}, cl::queue_out_of_order}) {
        if (properties != 0 && !has_unordered_queues(opencl::handles_of(where_).device)) continue;
        const cl::cl_command_queue gone = new_queue(properties);
        auto lease = used.write(where_, {.on = opencl::queue_of(gone)});
        const std::byte value{static_cast<unsigned char>(7 + properties)};
        ok(api().clEnqueueFillBuffer(gone, opencl::memory(lease.native()), &value, 1, 0, 5000, 0, nullptr, nullptr));
        ok(api().clFlush(gone));
        api().clReleaseCommandQueue(gone);
        name_others(where_, 40);
        used.view(0, 0).prefetch(where_);  // names none
        lease.release();
        bytes got(5000);
        used.copy_to(got);
        EXPECT_TRUE(same(got, bytes(5000, value)));
    }
}

TEST_F(opencl_queues, may_be_released_before_the_hold_that_names_them_ends) {
    buffer used(5000, {.hint = memory_hint::gpu_preferred, .device = where_});
    used.copy_from(noise(5000, 1));
    const cl::cl_command_queue gone = new_queue();
    standing_hold hold = used.bind(where_, access::read_write, {.on = opencl::queue_of(gone)});
    api().clReleaseCommandQueue(gone);
    name_others(where_, 40);
    used.copy_from(noise(5000, 2));
    hold.resume();
    bytes got(5000);
    used.copy_to(got);
    EXPECT_TRUE(same(got, noise(5000, 2)));
    hold.release();
    used.copy_to(got);
    EXPECT_TRUE(same(got, noise(5000, 2)));
}

}  // namespace
}  // namespace unibuf::contract

UNIBUF_QUEUED_CONTRACT(opencl, "opencl:0", [] { return unibuf::space("opencl:0"); }, hold_queue);
UNIBUF_QUEUED_CONTRACT(opencl_adopted, "opencl:adopted", adopted_opencl, hold_queue);
