// tests/contract/opencl_test.cpp: OpenCL passes the suite, on contexts of its own and of the caller.
#include "unibuf/opencl.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>

#include "backends/opencl/device.hpp"
#include "backends/opencl/event.hpp"
#include "contract/contract.hpp"
#include "contract/opencl_fixture.hpp"
#include "system/loader.hpp"
#include "system/pages.hpp"

namespace unibuf::contract {
namespace {

namespace cl = backends::cl;
using namespace std::chrono_literals;
using cl::api;

class opencl_test : public on_opencl {};

bytes get_all(const buffer& from, space where) {
    const auto lease = from.read(where);
    return {lease.begin(), lease.end()};
}

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

/// The last call may be the one that forgets a queue of the program's.
TEST_F(opencl_test, keeps_no_space_for_a_queue_that_is_forgotten) {
    for (std::size_t job = 0; job < 2 * max_spaces; ++job) {
        callers_own mine;
        const space where = opencl::use(mine.context(), mine.device());
        buffer used(5000, {.hint = memory_hint::gpu_preferred, .device = where});
        used.fill(std::array{std::byte{1}}, where);
        const cl::cl_command_queue named = made_queue(mine.context(), mine.device(), 0);
        opencl::add_queue(where, named);
        used.read(host).release();
        api().clReleaseCommandQueue(named);
        record_fence(where, {}).wait();
    }
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
        const space mine = adopted_opencl();
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

// A processor takes a load for one of what it has just stored where both lie at the same offset of 4 KiB.
TEST_F(opencl_test, arrays_that_a_processor_uses_in_place_do_not_all_begin_with_a_page) {
    if (!device().about().aliases_lines) GTEST_SKIP() << device().about().description << " wants whole pages";
    constexpr std::size_t aliases = 4096;
    const std::size_t page = system::page_size();
    for (const std::size_t size : {std::size_t{300'000}, std::size_t{3'000'000}}) {  // in a mapping of many, of its own
        std::set<std::uintptr_t> offsets;
        std::vector<std::unique_ptr<buffer>> all;
        for (unsigned i = 0; i < 8; ++i) {
            buffer& b = *all.emplace_back(std::make_unique<buffer>(size, buffer_options{.device = where_}));
            std::byte* const pointer = b.host();
            offsets.insert(reinterpret_cast<std::uintptr_t>(pointer) % aliases);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 64, 0U);
            bytes expected = noise(size, i);
            std::ranges::copy(expected, pointer);
            b.read(where_).release();
            EXPECT_EQ(b.statistics().bytes_moved(), 0U);
            EXPECT_EQ(b.placement(where_).placement, placement::shared);
            // Each page is watched, also the one that the memory has only the end of.
            const space other("debug:0");
            EXPECT_TRUE(same(get_all(b, other), expected));
            if (!b.placement(host).writes_found) continue;
            const std::size_t in_first = page - reinterpret_cast<std::uintptr_t>(pointer) % page;
            for (const std::size_t at : {std::size_t{0}, in_first - 1, in_first, size / 2, size - 1}) {
                pointer[at] = expected[at] ^= std::byte{1};
                const std::uint64_t before = b.statistics().bytes_moved();
                EXPECT_TRUE(same(get_all(b, other), expected)) << at;
                EXPECT_LE(b.statistics().bytes_moved() - before, page) << at;
            }
        }
        EXPECT_GE(offsets.size(), 7U);
    }
}

TEST_F(opencl_test, says_what_alignment_sharing_needs) {
    if (!device().about().aliases_host) GTEST_SKIP() << device().about().description << " has memory of its own";
    const auto block = backends::device_of(host).allocate({.bytes = 8192});
    std::string message;
    const auto call = [&] { device().alias({block->host_address() + 4, 4096}, {.bytes = 4096}); };
    EXPECT_EQ(code_of(call, &message), error_code::unsupported);
    EXPECT_NE(message.find("4096 bytes"), std::string::npos) << message;
}

}  // namespace
}  // namespace unibuf::contract

UNIBUF_CONTRACT(opencl, "opencl:0");
UNIBUF_CONTRACT_OF(opencl_adopted, "opencl:adopted", unibuf::contract::adopted_opencl);
