// tests/contract/opencl_test.cpp: OpenCL passes the suite, on contexts of its own and of the caller; and keeps the
// order of work on the caller's queues.
#include "unibuf/opencl.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "backends/opencl/device.hpp"
#include "backends/opencl/event.hpp"
#include "contract/contract.hpp"
#include "contract/opencl_fixture.hpp"
#include "contract/wrong_queue.hpp"
#include "system/loader.hpp"
#include "system/pages.hpp"

namespace unibuf::contract {
namespace {

namespace cl = backends::cl;
using namespace std::chrono_literals;
using cl::api;

/// A context as a program would make it, which it releases at the end.
class callers_own {
public:
    callers_own() : device_(opencl::handles_of("opencl:0").device) {
        cl::cl_int status = cl::success;
        context_ = api().clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
        ok(status);
    }
    ~callers_own() {
        for (const cl::cl_command_queue each : queues_) api().clReleaseCommandQueue(each);
        api().clReleaseContext(context_);
    }
    callers_own(const callers_own&) = delete;
    callers_own& operator=(const callers_own&) = delete;

    cl::cl_context context() const { return context_; }
    cl::cl_device_id device() const { return device_; }

    cl::cl_command_queue queue(cl::cl_bitfield properties = 0) {
        cl::cl_int status = cl::success;
        queues_.push_back(api().clCreateCommandQueue(context_, device_, properties, &status));
        ok(status);
        return queues_.back();
    }

private:
    cl::cl_device_id device_;
    cl::cl_context context_;
    std::vector<cl::cl_command_queue> queues_;
};

/// Returns a space of a context that the caller has released since.
space adopted() {
    static const space once = [] {
        callers_own mine;
        return opencl::use(mine.context(), mine.device(), mine.queue());
    }();
    return once;
}

class held_opencl_queue final : public held_queue {
public:
    explicit held_opencl_queue(space where) : made_(make(where)), closed_(opencl::handles_of(where).context, made_) {}
    ~held_opencl_queue() override {
        closed_.open();
        api().clReleaseCommandQueue(made_);
    }
    held_opencl_queue(const held_opencl_queue&) = delete;
    held_opencl_queue& operator=(const held_opencl_queue&) = delete;

    queue name() const override { return opencl::queue_of(made_); }
    void set(const native_memory& to, std::byte value) override {
        ok(api().clEnqueueFillBuffer(made_, opencl::memory(to), &value, 1, to.offset, to.bytes, 0, nullptr, nullptr));
        ok(api().clFlush(made_));
    }
    void open() override { closed_.open(); }

private:
    static cl::cl_command_queue make(space where) {
        const opencl::handles known = opencl::handles_of(where);
        cl::cl_int status = cl::success;
        const cl::cl_command_queue made = api().clCreateCommandQueue(known.context, known.device, 0, &status);
        ok(status);
        return made;
    }

    cl::cl_command_queue made_;
    gate closed_;
};

std::unique_ptr<held_queue> hold_queue(space where) { return std::make_unique<held_opencl_queue>(where); }

class opencl_test : public on_opencl {
protected:
    backends::device& device() const { return backends::device_of(where_); }
    cl::cl_context context() const { return opencl::handles_of(where_).context; }

    /// Makes a second queue of the space's own context.
    cl::cl_command_queue new_queue(cl::cl_bitfield properties = 0) const {
        const opencl::handles known = opencl::handles_of(where_);
        cl::cl_int status = cl::success;
        const cl::cl_command_queue made = api().clCreateCommandQueue(known.context, known.device, properties, &status);
        ok(status);
        return made;
    }
};

TEST_F(opencl_test, gives_its_own_handles) {
    const opencl::handles known = opencl::handles_of(where_);
    EXPECT_NE(known.context, nullptr);
    EXPECT_NE(known.device, nullptr);
    EXPECT_NE(known.queue, nullptr);
    EXPECT_EQ(opencl::handles_of(where_).queue, known.queue);
    std::string message;
    EXPECT_EQ(code_of([] { opencl::handles_of(host); }, &message), error_code::invalid_argument);
    EXPECT_NE(message.find("host"), std::string::npos);
}

/// The copy is held up, so that it comes after what the program stores next into the source.
TEST_F(opencl_test, what_is_stored_after_a_copy_to_another_buffer_is_no_part_of_it) {
    const cl::cl_command_queue others = new_queue();
    const access_options on{.on = opencl::queue_of(others)};
    buffer source(8192, {.device = where_});  // the device uses the host's memory
    buffer target(8192, {.hint = memory_hint::gpu_preferred, .device = where_});
    std::byte* const bytes = source.host();
    std::fill_n(bytes, 8192, std::byte{1});
    source.read(where_, on).release();
    target.write(where_, on).release();
    ok(api().clFinish(others));
    gate closed(context(), opencl::handles_of(where_).queue);
    std::jthread later([&] {
        std::this_thread::sleep_for(50ms);
        closed.open();
    });
    target.copy_from(source);
    bytes[10] = std::byte{2};
    later.join();
    std::vector<std::byte> found(8192);
    target.copy_to(std::span(found));
    EXPECT_EQ(found, std::vector(8192, std::byte{1}));
    api().clReleaseCommandQueue(others);
}

/// A driver that works in place would copy the bytes onto themselves, and undo what the program stores meanwhile: here
/// it could not, as nobody may write them.
TEST_F(opencl_test, is_told_nothing_of_memory_that_it_uses_in_place) {
    if (!cl::device_at(where_).works_in_place()) GTEST_SKIP() << device().about().description << " keeps its own bytes";
    const std::size_t page = system::page_size();
    void* const block = std::aligned_alloc(page, page);
    const auto shared = device().alias({static_cast<std::byte*>(block), page}, {.bytes = page});
    shared->publish_to_device(0, page, access::read_write, {});
    ASSERT_EQ(::mprotect(block, page, PROT_READ), 0);
    for (const std::size_t bytes : std::array<std::size_t, 4>{1, 64, 512, 2048}) {
        shared->publish_to_device(128, bytes, access::read, {}).wait();
        shared->publish_to_host(128, bytes, access::read, {}).wait();
    }
    ASSERT_EQ(::mprotect(block, page, PROT_READ | PROT_WRITE), 0);
    std::free(block);
}

TEST_F(opencl_test, gives_the_cl_mem_of_a_copy) {
    const auto memory = device().allocate({.bytes = 100});
    const native_memory copy{.where = where_, .handle = memory->handle(), .offset = 0, .bytes = 100};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(opencl::memory(copy)), memory->handle());
    EXPECT_EQ(code_of([] { opencl::memory(native_memory{.where = host}); }), error_code::invalid_argument);
}

TEST_F(opencl_test, adopts_the_callers_context_and_keeps_it) {
    space where;
    {
        callers_own mine;
        const cl::cl_command_queue queue = mine.queue();
        where = opencl::use(mine.context(), mine.device(), queue);
        EXPECT_NE(where, where_);
        EXPECT_EQ(where.name().substr(0, 7), "opencl:");
        EXPECT_EQ(opencl::handles_of(where).context, mine.context());
        EXPECT_EQ(opencl::handles_of(where).queue, queue);
        EXPECT_EQ(opencl::use(mine.context(), mine.device(), queue), where);
        EXPECT_NE(opencl::use(mine.context(), mine.device(), mine.queue()), where);
    }
    const auto memory = backends::device_of(where).allocate({.bytes = 5000});
    put(*memory, 0, noise(5000));
    EXPECT_TRUE(same(get(*memory, 0, 5000), noise(5000)));
}

/// A program may make a context for each job.
TEST_F(opencl_test, gives_the_numbers_of_spaces_back_whose_contexts_have_gone) {
    callers_own kept;
    const space stays = opencl::use(kept.context(), kept.device(), kept.queue());
    buffer in_use(100, {.hint = memory_hint::gpu_preferred});
    std::vector<std::string> names;
    {
        callers_own also;
        const space where = opencl::use(also.context(), also.device(), also.queue());
        in_use.fill(std::array{std::byte{7}}, where);  // its memory keeps the space, though the program lets go of it
        names.push_back(where.name());
    }
    for (std::size_t job = 0; job < 2 * max_spaces; ++job) {
        callers_own mine;
        const space first = opencl::use(mine.context(), mine.device(), mine.queue());
        const space second = opencl::use(mine.context(), mine.device(), mine.queue());
        for (const space each : {first, second}) {
            EXPECT_EQ(opencl::handles_of(each).context, mine.context());
            names.push_back(each.name());
            buffer used(5000, {.device = each});
            used.fill(std::array{std::byte{1}});
            used.read_write(each).release();
            std::array<std::byte, 1> got{};
            used.copy_to(got);
            ASSERT_EQ(got[0], std::byte{1});
        }
    }
    // A space that has ended is of no use, so that nothing is put where another one will be.
    const auto has_ended = [](const std::string& name) {
        try {
            opencl::handles_of(space(name));
            return false;
        } catch (const error& refused) {
            return refused.code() == error_code::device_unavailable;
        }
    };
    EXPECT_TRUE(has_ended(names[1]));
    EXPECT_FALSE(has_ended(names[0]) || has_ended(names.back()));
    for (const std::string& each : names) {
        if (!has_ended(each)) continue;
        EXPECT_EQ(code_of([&] { in_use.read(space(each)).release(); }), error_code::device_unavailable) << each;
    }
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end()) << "a name was given twice";
    EXPECT_EQ(opencl::handles_of(stays).context, kept.context());
    EXPECT_EQ(opencl::use(kept.context(), kept.device()), stays);
    std::array<std::byte, 1> got{};
    in_use.copy_to(got);
    EXPECT_EQ(got[0], std::byte{7});
}

TEST_F(opencl_test, refuses_what_does_not_belong_together) {
    callers_own mine;
    callers_own other;
    const auto refused = [](cl::cl_context context, cl::cl_device_id device, cl::cl_command_queue queue) {
        return code_of([&] { opencl::use(context, device, queue); }) == error_code::invalid_argument;
    };
    EXPECT_TRUE(refused(nullptr, mine.device(), mine.queue()));
    EXPECT_TRUE(refused(mine.context(), nullptr, mine.queue()));
    EXPECT_TRUE(refused(mine.context(), nullptr, nullptr));
    EXPECT_TRUE(refused(mine.context(), mine.device(), other.queue()));
    EXPECT_TRUE(refused(mine.context(), mine.device(), mine.queue(cl::queue_out_of_order)));
}

TEST_F(opencl_test, refuses_queues_that_cannot_order_its_work) {
    callers_own other;
    const auto memory = device().allocate({.bytes = 100});
    const bytes content = noise(100);
    const auto write = [&](cl::cl_command_queue on) { memory->write(0, content, opencl::queue_of(on)); };
    EXPECT_EQ(code_of([&] { write(other.queue()); }), error_code::invalid_argument);
    const cl::cl_command_queue unordered = new_queue(cl::queue_out_of_order);
    EXPECT_EQ(code_of([&] { write(unordered); }), error_code::invalid_argument);
    expect_refused(where_, opencl::queue_of(other.queue()));
    expect_refused(where_, opencl::queue_of(unordered));
    api().clReleaseCommandQueue(unordered);
}

TEST_F(opencl_test, refuses_queues_of_another_device_of_its_context) {
    const system::library opencl_library({"libOpenCL.so.1"});
    cl::cl_int (*part)(cl::cl_device_id, const std::intptr_t*, cl::cl_uint, cl::cl_device_id*, cl::cl_uint*) = nullptr;
    opencl_library.find("clCreateSubDevices", part);
    constexpr std::array<std::intptr_t, 3> into_units{0x1086, 1, 0};  // CL_DEVICE_PARTITION_EQUALLY
    std::array<cl::cl_device_id, 64> parts{};
    cl::cl_uint count = 0;
    const cl::cl_device_id whole = opencl::handles_of(where_).device;
    const bool parted = part(whole, into_units.data(), 64, parts.data(), &count) == cl::success && count > 1;
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

TEST_F(opencl_test, puts_work_on_the_queue_that_is_named) {
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

TEST_F(opencl_test, puts_work_without_a_queue_after_all_queues) {
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

TEST_F(opencl_test, evicts_a_copy_behind_nobody_elses_work) {
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

TEST_F(opencl_test, orders_one_queue_after_another) {
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

TEST_F(opencl_test, does_not_order_work_of_other_contexts) {
    EXPECT_FALSE(device().order(backends::device_of(adopted()).record({}), {}));
}

TEST_F(opencl_test, forgets_queues_that_the_caller_has_released) {
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

TEST_F(opencl_test, a_child_process_is_told_and_ends_well) {
    const auto block = backends::device_of(host).allocate({.bytes = 8192});
    auto memory = device().allocate({.bytes = 64});
    auto shared = device().about().aliases_host ? device().alias({block->host_address(), 8192}, {.bytes = 8192})
                                                : device().allocate({.bytes = 8192});
    fence before = device().record({});
    const ::pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        const auto told = [](const std::function<void()>& call) { return code_of(call) == error_code::device_lost; };
        const bool all = told([&] { before.done(); }) && told([&] { memory->fill(0, 64, bytes(1), {}); }) &&
                         told([&] { shared->publish_to_device(0, 4096, access::write, {}); }) &&
                         told([&] { device().record({}); }) && told([&] { device().allocate({.bytes = 64}); });
        before = {};
        shared.reset();
        memory.reset();
        std::_Exit(all ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    put(*memory, 0, noise(64));
    EXPECT_TRUE(same(get(*memory, 0, 64), noise(64)));
}

TEST_F(opencl_test, adopts_without_loading_another_api) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";  // runs in a process of its own
    const auto adopt = [] {
        const space mine = adopted();
        std::_Exit(mine.name().starts_with("opencl:") && !::dlopen("libEGL.so.1", RTLD_LAZY | RTLD_NOLOAD) ? 0 : 1);
    };
    EXPECT_EXIT(adopt(), ::testing::ExitedWithCode(0), "");
}

TEST_F(opencl_test, says_how_queued_work_failed) {
    // A caller's event stands for the work, as it is undefined what a driver does after a command of its own failed.
    const user_events events;
    for (const auto& [status, code] : {std::pair{cl::out_of_resources, error_code::transfer_failed},
                                       std::pair{cl::mem_object_allocation_failure, error_code::transfer_failed},
                                       std::pair{cl::device_not_available, error_code::device_lost}}) {
        cl::event work = events.make(context());
        const cl::cl_event native = work.native();
        const fence failing = cl::fence_of(std::move(work));
        EXPECT_FALSE(failing.wait(1ms));
        events.set(native, status);
        std::string message;
        EXPECT_EQ(code_of([&] { failing.wait(); }, &message), code);
        EXPECT_NE(message.find(cl::name_of(status)), std::string::npos) << message;
        EXPECT_EQ(code_of([&] { failing.wait(1s); }), code);
        EXPECT_EQ(code_of([&] { failing.done(); }), code);
    }
}

TEST_F(opencl_test, waits_for_work_on_a_queue_that_is_known_since_another_lease) {
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

TEST_F(opencl_test, copies_what_is_bound_before_it_returns) {
    buffer bound(16384, {.hint = memory_hint::gpu_preferred});
    buffer target(16384, {.hint = memory_hint::gpu_preferred});
    bound.copy_from(noise(16384));
    const standing_hold hold = bound.bind(where_, access::read_write);
    target.read(where_).release();
    std::atomic<bool> copied = false;
    gate closed(context(), opencl::handles_of(where_).queue);
    const std::jthread copying([&] {
        target.copy_from(bound);
        copied = true;
    });
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(copied) << "the program may write what is bound at any time";
    closed.open();
}

TEST_F(opencl_test, says_what_alignment_sharing_needs) {
    if (!device().about().aliases_host) GTEST_SKIP() << device().about().description << " has memory of its own";
    const auto block = backends::device_of(host).allocate({.bytes = 8192});
    std::string message;
    const auto call = [&] { device().alias({block->host_address() + 4, 4096}, {.bytes = 4096}); };
    EXPECT_EQ(code_of(call, &message), error_code::unsupported);
    EXPECT_NE(message.find("4096 bytes"), std::string::npos) << message;
}

TEST_F(opencl_test, shows_the_host_after_work_on_the_queue_that_is_named) {
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

}  // namespace
}  // namespace unibuf::contract

UNIBUF_CONTRACT(opencl, "opencl:0");
UNIBUF_CONTRACT_OF(opencl_adopted, "opencl:adopted", unibuf::contract::adopted);
UNIBUF_QUEUED_CONTRACT(opencl, "opencl:0", [] { return unibuf::space("opencl:0"); }, hold_queue);
UNIBUF_QUEUED_CONTRACT(opencl_adopted, "opencl:adopted", adopted, hold_queue);
