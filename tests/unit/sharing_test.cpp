// tests/unit/sharing_test.cpp: one buffer in two processes.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <thread>

#include "backends/backend.hpp"
#include "process/identity.hpp"
#include "support/fake_device.hpp"
#include "support/other_process.hpp"
#include "support/process_limits.hpp"
#include "unibuf/trace.hpp"
#include "unit/common.hpp"

namespace unibuf::test::sharing_test {
namespace {

constexpr std::size_t count = 20'000;

// The buffer that the other process has.
std::optional<unified_buffer<int>> theirs;

int attach(const std::string& name) {
    theirs.emplace(unified_buffer<int>::attach(name));
    return static_cast<int>(theirs->size());
}
int sum(const std::string&) {
    const auto lease = theirs->read(host);
    return std::accumulate(lease.begin(), lease.end(), 0);
}
int first_at_device(const std::string&) { return theirs->read("debug:0")[0]; }
int write_host(const std::string&) {
    theirs->host()[3] = 9;
    return 0;
}
int write_device(const std::string&) {
    for (int& each : theirs->write("debug:0")) each = 2;
    return static_cast<int>(theirs->state());
}
int sync(const std::string&) {
    theirs->sync_to_host();
    return 0;
}
int settle(const std::string&) {
    theirs->mark_host_dirty();
    return 0;
}
int tell_name(const std::string& file) {
    std::ofstream(file) << theirs->share();
    return 0;
}
int drop(const std::string&) {
    theirs.reset();
    return 0;
}

std::vector<event> mine_only(std::vector<event> all, std::uint64_t buffer) {
    std::erase_if(all, [&](const event& each) { return each.buffer != buffer; });
    return all;
}

unified_buffer<int> ones(const buffer_options& options = {}) {
    unified_buffer<int> result({count}, options);
    result.fill(1);
    return result;
}

TEST(sharing, gives_both_processes_one_memory) {
    other_process other({attach, sum, write_host, sum});
    auto mine = ones();
    const std::string name = mine.share();
    EXPECT_TRUE(mine.is_shared());
    EXPECT_EQ(mine.share(), name);
    EXPECT_EQ(other.next(name), static_cast<int>(count));
    EXPECT_EQ(other.next(), static_cast<int>(count));
    int* const pointer = mine.host();
    EXPECT_EQ(other.next(), 0);
    EXPECT_EQ(pointer[3], 9);
    pointer[4] = 5;
    EXPECT_EQ(other.next(), static_cast<int>(count) + 8 + 4);
}

TEST(sharing, finds_at_a_device_what_the_other_has_written_at_the_host) {
    other_process other({attach, write_host, first_at_device});
    auto mine = ones();
    other.next(mine.share());
    EXPECT_EQ(mine.read("debug:0")[3], 1);
    EXPECT_EQ(other.next(), 0);
    EXPECT_EQ(mine.read("debug:0")[3], 9);
    EXPECT_EQ(mine.state(), buffer_state::synchronized);
    mine.write(host)[0] = 7;
    EXPECT_EQ(other.next(), 7);
}

TEST(sharing, is_told_in_traces_where_bytes_move_again_as_the_other_may_have_written) {
    other_process other({attach, write_host});
    auto mine = ones();
    other.next(mine.share());
    mine.read("debug:0").release();
    other.next();
    mine.read("debug:0").release();
    const std::vector<event> all = recorded_events();
    std::uint64_t assumed = 0;
    for (const event& each : all) {
        if (each.buffer != mine.bytes().id() || each.kind != event_kind::assumed) continue;
        EXPECT_TRUE(each.by_others);
        assumed += each.bytes;
    }
    EXPECT_EQ(assumed, 2 * mine.size_bytes()) << "of each of the two reads";
    const std::vector<std::string> told = why(all, mine.bytes().id());
    const auto is_about = [](const std::string& line) {
        return line.find("bytes [0, 80000) may have been written at the host by another process") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::count_if(told, is_about), 2);
    const traffic made = traffic_of(mine_only(all, mine.bytes().id()));
    EXPECT_EQ(made.moved, made.least) << "what others may have written had to move";
}

std::atomic<bool> this_thread_waits = false;

/// The last handle goes on one thread, which brings what is newest at a device, while another one attaches.
TEST(sharing, waits_for_what_a_buffer_that_goes_has_newer) {
    fake_device& device = fake_device::get({.asynchronous = true});
    other_process other({attach, tell_name});
    std::optional<unified_buffer<int>> mine = ones();
    other.next(mine->share());
    const std::string file = testing::TempDir() + "/unibuf_name_" + std::to_string(::getpid());
    other.next(file);
    std::string name;
    std::getline(std::ifstream(file), name);
    std::filesystem::remove(file);
    {
        const auto lease = mine->write(device.where());
        kernel_write(lease.native(), 0, of(count * sizeof(int), 3));
    }
    std::atomic<bool> moves = false;
    device.queued().add({.run = [&](std::size_t) {
        moves = true;
        moves.notify_all();
        this_thread_waits.wait(false);
    }});
    const std::jthread goes([&] { mine.reset(); });
    moves.wait(false);
    const auto waits = [] {
        this_thread_waits = true;
        this_thread_waits.notify_all();
    };
    backends::help_others = waits;
    auto again = unified_buffer<int>::attach(name);
    backends::help_others = nullptr;
    waits();
    EXPECT_EQ(again.read(host)[7], 0x03030303);
}

TEST(sharing, keeps_what_a_mark_tells_of) {
    const space device("debug:0");
    const default_device_is device_is_default(device);
    other_process other({attach, write_host, sum});
    auto mine = ones();
    other.next(mine.share());
    mine.device().as<int>()[5] = 4;
    mine.mark_device_dirty(5, 1);
    EXPECT_EQ(mine.read(device)[5], 4);
    EXPECT_EQ(mine.read(device)[6], 1);
    mine.sync_to_host();
    EXPECT_EQ(other.next(), 0);
    EXPECT_EQ(other.next(), static_cast<int>(count) + 8 + 3);
}

TEST(sharing, refuses_every_access_while_the_other_has_newer_content_on_a_device) {
    const space device("debug:0");
    const default_device_is device_is_default(device);
    other_process other({attach, write_device, sync});
    auto mine = ones();
    other.next(mine.share());
    mine.read(device).release();
    EXPECT_EQ(other.next(), static_cast<int>(buffer_state::device_dirty));
    EXPECT_EQ(mine.state(), buffer_state::device_dirty);
    std::vector<int> data(count);
    batch together(device);
    const std::vector<std::function<void()>> accesses{
        [&] { mine.host(); },
        [&] { std::as_const(mine).host(); },
        [&] { mine.host_view(); },
        [&] { mine.device(); },
        [&] { mine.copy_view(device); },
        [&] { mine.read(host); },
        [&] { mine.write(host); },
        [&] { mine.write(device); },
        [&] { lease_together(mine.to_write(device)); },
        [&] { mine.sync_to_host(); },
        [&] { mine.sync_to_device(); },
        [&] { mine.mark_host_dirty(0, 1); },
        [&] { mine.mark_device_dirty(); },
        [&] {
            const default_device_is no_device(host);
            mine.mark_device_dirty();
        },
        [&] { mine.prefetch(device); },
        [&] { mine.discard(device); },
        [&] { mine.discard_content(); },
        [&] { mine.fill(3); },
        [&] { mine.copy_from(std::span(data).first(1)); },
        [&] { mine.copy_from(data); },
        [&] { mine.copy_to(data); },
        [&] {
            together.sync(mine.bytes());
            together.submit();
        },
    };
    for (std::size_t i = 0; i < accesses.size(); ++i) {
        const failure refused = failure_of(accesses[i]);
        EXPECT_EQ(refused.code, error_code::access_conflict) << "access " << i;
        EXPECT_NE(refused.message.find("process " + other.number()), std::string::npos) << refused.message;
    }
    EXPECT_EQ(other.next(), 0);
    EXPECT_EQ(mine.read(host)[0], 2);
    EXPECT_EQ(mine.read(device)[count - 1], 2);
}

TEST(sharing, tells_of_a_crash_with_newer_content_until_that_is_settled) {
    other_process other({attach, write_device});
    auto mine = ones();
    other.next(mine.share());
    other.next();
    other.kill();
    const failure lost = failure_of([&] { mine.read(host); });
    EXPECT_EQ(lost.code, error_code::transfer_failed);
    EXPECT_NE(lost.message.find("has ended with newer content"), std::string::npos) << lost.message;
    EXPECT_EQ(failure_of([&] { mine.mark_host_dirty(0, 5); }).code, error_code::transfer_failed);
    EXPECT_EQ(failure_of([&] { mine.mark_host_dirty(count, 1); }).code, error_code::out_of_range);
    EXPECT_EQ(failure_of([&] { mine.read(host); }).code, error_code::transfer_failed);
    mine.mark_host_dirty();
    EXPECT_EQ(mine.read(host)[0], 1) << "stale bytes were poisoned, which others may say stand";
    mine.write(host)[0] = 3;
    EXPECT_EQ(mine.read("debug:0")[0], 3);
}

/// A process that cannot look takes no other for one that has ended, whose content would be lost.
TEST(sharing, takes_a_holder_for_alive_that_it_cannot_look_for) {
    const process::identity mine = process::this_process();
    const process::identity another = mine ^ std::uint64_t{1} << 40;
    EXPECT_FALSE(process::is_alive(another)) << "it began at another time";
    const no_more_of none(RLIMIT_NOFILE, descriptors_in_use());
    EXPECT_TRUE(process::is_alive(mine));
    EXPECT_TRUE(process::is_alive(another)) << "nobody can tell";
}

TEST(sharing, drops_what_was_overruled) {
    other_process other({attach, settle, write_host});
    const space device("debug:0");
    auto mine = ones();
    other.next(mine.share());
    for (int& each : mine.write(device)) each = 5;
    EXPECT_EQ(other.next(), 0);
    EXPECT_EQ(other.next(), 0);
    EXPECT_EQ(mine.state(), buffer_state::host_dirty);
    EXPECT_EQ(mine.read(device)[3], 9);
}

TEST(sharing, drops_what_was_overruled_also_beside_a_write_at_the_device) {
    other_process other({attach, settle, write_host, sync});
    const space device("debug:0");
    auto mine = ones();
    other.next(mine.share());
    for (int& each : mine.write(device)) each = 5;
    other.next();
    other.next();
    mine.write(device, {.offset = 10, .count = 1})[0] = 6;
    EXPECT_EQ(mine.read(device)[3], 9);
    EXPECT_EQ(mine.read(device)[10], 6);
    EXPECT_EQ(other.next(), other_process::failed);  // this process holds newer content again
}

TEST(sharing, brings_back_what_a_device_has_newer_before_the_last_handle_goes) {
    other_process other({attach, write_device, drop});
    auto mine = ones();
    other.next(mine.share());
    other.next();
    EXPECT_EQ(failure_of([&] { mine.read(host); }).code, error_code::access_conflict);
    EXPECT_EQ(other.next(), 0);
    EXPECT_EQ(mine.read(host)[0], 2);
}

TEST(sharing, keeps_the_claim_as_long_as_a_lease_may_write_at_a_device) {
    other_process other({attach, sum, sum});
    const space device("debug:0");
    auto mine = ones();
    other.next(mine.share());
    {
        auto lease = mine.read_write(device);
        mine.state();
        EXPECT_EQ(other.next(), other_process::failed);
        lease[0] = 2;
    }
    mine.sync_to_host();
    EXPECT_EQ(other.next(), static_cast<int>(count) + 1);
}

TEST(sharing, leaves_as_it_is_what_a_lease_reads) {
    other_process other({attach, write_host});
    const space device("debug:0");
    auto mine = ones();
    other.next(mine.share());
    const auto lease = mine.read(device);
    other.next();
    EXPECT_EQ(mine.read(device)[3], 1);
    EXPECT_EQ(lease[3], 1);
}

TEST(sharing, keeps_handles_names_and_the_id) {
    auto mine = ones();
    mine.read("debug:0").release();
    auto part = mine.view(10, 5);
    const std::uint64_t id = mine.bytes().id();
    get_registry().add("kept", mine);
    auto again = unified_buffer<int>::attach(mine.share());
    EXPECT_EQ(again.bytes().id(), id);
    EXPECT_EQ(get_registry().find<int>("kept")->bytes().id(), id);
    EXPECT_EQ(get_registry().names(), std::vector<std::string>{"kept"});
    again.write("debug:0")[10] = 4;
    EXPECT_EQ(part.read(host)[0], 4);
    EXPECT_EQ(mine.bytes().placement(host).reason, "the host's own memory");
}

TEST(sharing, is_refused_while_memory_is_held) {
    const default_device_is device_is_default("debug:0");
    auto mine = ones();
    const auto refused = [&] { return failure_of([&] { mine.share(); }).code == error_code::access_conflict; };
    mine.host();
    EXPECT_TRUE(refused());
    mine.release_host();
    std::as_const(mine).host();
    EXPECT_TRUE(refused());
    mine.release_host();
    mine.device();
    EXPECT_TRUE(refused());
    mine.release_device();
    {
        const auto view = mine.copy_view("debug:0");
        EXPECT_TRUE(refused());
    }
    {
        const auto lease = mine.read(host);
        EXPECT_TRUE(refused());
    }
    EXPECT_EQ(failure_of([&] { mine.view(1, 5).share(); }).code, error_code::invalid_argument);
    EXPECT_FALSE(mine.is_shared());
    EXPECT_EQ(unified_buffer<int>::attach(mine.share()).read(host)[count - 1], 1);
}

TEST(sharing, tells_the_type_and_the_shape) {
    unified_buffer<float> matrix({20, 30});
    const std::string name = matrix.share();
    EXPECT_EQ(buffer::description_of(name), "<f4 20,30");
    EXPECT_EQ(unified_buffer<float>::attach(name).shape(), shape(20, 30));
    EXPECT_EQ(failure_of([&] { unified_buffer<int>::attach(name); }).code, error_code::invalid_argument);
    buffer bytes(7);
    EXPECT_EQ(unified_buffer<std::uint8_t>::attach(bytes.share()).shape(), shape(7));
    unified_buffer<double> one(shape{});
    EXPECT_EQ(unified_buffer<double>::attach(one.share()).shape(), shape());
    buffer empty(0);
    EXPECT_EQ(buffer::attach(empty.share()).size_bytes(), 0u);
    for (const char* told : {"<f4", "<f4 2,x", "<f4 -2", "<f4 5 5", "<f4 3", "<f4 99999999999999999999"}) {
        buffer other(16);
        const std::string wrong = other.share(told);
        EXPECT_EQ(buffer::attach(wrong).size_bytes(), 16u);
        EXPECT_EQ(failure_of([&] { unified_buffer<float>::attach(wrong); }).code, error_code::invalid_argument) << told;
    }
    EXPECT_EQ(failure_of([] { buffer(4).share(std::string(4001, 'x')); }).code, error_code::unsupported);
}

TEST(sharing, has_the_host_copy_stay) {
    auto mine = ones();
    mine.share();
    mine.read("debug:0").release();
    EXPECT_EQ(failure_of([&] { mine.discard(host); }).code, error_code::access_conflict);
    mine.discard_content();
    EXPECT_EQ(mine.read("debug:0")[5], 0);
    EXPECT_EQ(mine.read(host)[5], 0);
}

TEST(sharing, is_of_no_use_to_a_pool) {
    memory_pool pool;
    buffer mine = pool.acquire(1001);
    mine.share();
    const failure refused = failure_of([&] { pool.release(std::move(mine)); });
    EXPECT_EQ(refused.code, error_code::invalid_argument);
    EXPECT_NE(refused.message.find("processes share"), std::string::npos) << refused.message;
    EXPECT_EQ(content(mine).size(), 1001u);
}

TEST(sharing, counts_a_forked_child) {
    auto mine = ones();
    mine.share();
    mine.read("debug:0").release();
    other_process child({[&](const std::string&) {
        mine.write(host)[3] = 9;
        return 0;
    }});
    EXPECT_EQ(child.next(), 0);
    EXPECT_EQ(mine.read("debug:0")[3], 9);
}

TEST(sharing, gives_memory_back_with_the_last_process) {
    const std::uint64_t before = memory_in(host).held;
    std::string name;
    {
        auto mine = ones();
        name = mine.share();
        EXPECT_EQ(memory_in(host).held, before + count * sizeof(int));
    }
    EXPECT_EQ(memory_in(host).held, before);
    EXPECT_EQ(failure_of([&] { buffer::attach(name); }).code, error_code::invalid_argument);
}

TEST(sharing, leaves_pointers_where_the_content_could_not_be_discarded) {
    auto mine = ones();
    mine.share();
    int* const pointer = mine.host();
    {
        const auto lease = mine.read("debug:0");
        EXPECT_EQ(failure_of([&] { mine.discard_content(); }).code, error_code::access_conflict);
    }
    *pointer = 9;
    EXPECT_EQ(mine.read("debug:0")[0], 9);
}

}  // namespace
}  // namespace unibuf::test::sharing_test
