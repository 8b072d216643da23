// unit/recorder_test.cpp: what is recorded, and what becomes of it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/fake_device.hpp"
#include "support/own_process.hpp"
#include "trace/recorder.hpp"
#include "unibuf/trace.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::test::recorder_test {
namespace {

constexpr std::size_t bytes = 4096;

/// Returns the events of a buffer.
std::vector<event> events_of(const buffer& of) {
    std::vector<event> result = recorded_events();
    std::erase_if(result, [&](const event& each) { return each.buffer != of.id(); });
    return result;
}

std::vector<event> events_of(const buffer& of, event_kind kind) {
    std::vector<event> result = events_of(of);
    std::erase_if(result, [&](const event& each) { return each.kind != kind; });
    return result;
}

void write_at(buffer& of, space where) { static_cast<void>(of.acquire(where, access::write, {})); }
void read_at(const buffer& of, space where) { static_cast<void>(of.acquire(where, access::read, {})); }

/// Each test begins with the recorder as it is at first, and leaves it so.
class recorder : public testing::Test {
protected:
    recorder() { keep_events(1024); }
    ~recorder() override {
        stop_trace();
        keep_events(1024);
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    std::string file(const std::string& name) const { return (folder_ / name).string(); }

private:
    static std::filesystem::path made_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "unibuf-trace-XXXXXX").string();
        return ::mkdtemp(name.data());
    }

    std::filesystem::path folder_ = made_folder();
};

TEST_F(recorder, tells_what_an_access_lacked_and_what_was_moved_for_it) {
    const space there("debug:0");
    buffer mine(bytes);
    write_at(mine, host);
    read_at(mine, there);
    const std::vector<event> moved = events_of(mine, event_kind::transfer);
    ASSERT_EQ(moved.size(), 1u);
    EXPECT_EQ(moved[0].from, host.id());
    EXPECT_EQ(moved[0].to, there.id());
    EXPECT_EQ(moved[0].bytes, bytes);
    EXPECT_EQ(moved[0].why, cause::read);
    EXPECT_EQ(moved[0].process, static_cast<std::uint32_t>(::getpid()));
    const std::vector<event> asked = events_of(mine, event_kind::access);
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked[0].what, access::write);
    EXPECT_EQ(asked[0].bytes, 0u);
    EXPECT_EQ(asked[1].what, access::read);
    EXPECT_EQ(asked[1].bytes, bytes);
    EXPECT_GT(asked[1].took, 0u);
    EXPECT_LE(asked[0].time, moved[0].time);
    EXPECT_LE(moved[0].time, asked[1].time);
    EXPECT_EQ(events_of(mine, event_kind::allocation).size(), 2u);
}

TEST_F(recorder, tells_how_long_the_first_read_of_bytes_took_that_nobody_has_written) {
    buffer mine(bytes);
    read_at(mine, host);
    const std::vector<event> asked = events_of(mine, event_kind::access);
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_LT(asked[0].took, asked[0].time);
}

TEST_F(recorder, tells_of_the_bytes_that_were_found_and_of_those_that_were_assumed) {
    buffer mine(bytes);
    std::byte* const data = mine.host();
    std::ranges::fill(std::span(data, bytes), std::byte{1});
    read_at(mine, space("debug:0"));
    data[100] = std::byte{2};
    read_at(mine, space("debug:0"));
    const std::vector<event> found = events_of(mine, event_kind::found);
    ASSERT_FALSE(found.empty());
    EXPECT_LE(found.back().begin, 100u);
    EXPECT_GT(found.back().end, 100u);
    EXPECT_LT(found.back().bytes, bytes);
    buffer untracked(bytes, {.tracking = write_tracking::off});
    static_cast<void>(untracked.host());
    read_at(untracked, space("debug:0"));
    read_at(untracked, space("debug:0"));
    EXPECT_FALSE(events_of(untracked, event_kind::assumed).empty());
}

TEST_F(recorder, tells_of_marks_fills_discards_and_copies_that_go) {
    const space there("debug:0");
    buffer mine(bytes);
    const std::byte pattern{7};
    mine.fill(std::span(&pattern, 1));
    read_at(mine, there);
    mine.mark_dirty(there);
    read_at(mine, host);
    mine.discard(there);
    mine.discard_content();
    std::vector<event_kind> kinds;
    for (const event& each : events_of(mine)) {
        const bool of_steps = each.kind == event_kind::access || each.kind == event_kind::transfer;
        if (!of_steps && each.kind != event_kind::allocation) kinds.push_back(each.kind);
    }
    const std::vector wanted{event_kind::fill, event_kind::mark, event_kind::release, event_kind::discard};
    EXPECT_EQ(kinds, wanted);
}

TEST_F(recorder, takes_memory_that_was_there_before_for_written_at_the_host) {
    buffer shared(bytes);
    const buffer attached = buffer::attach(shared.share());
    std::vector<std::byte> memory(bytes);
    const buffer over = buffer::over(memory, nullptr);
    for (const buffer* each : {&attached, &over}) {
        read_at(*each, space("debug:0"));
        EXPECT_EQ(events_of(*each, event_kind::mark).size(), 1u);
        EXPECT_EQ(traffic_of(events_of(*each)).least, bytes);
    }
}

TEST_F(recorder, tells_of_the_rows_of_a_rectangle) {
    unified_buffer<float> table({10, 20});
    table.fill(1);
    table.view(full_extent, 3).read("debug:0").release();
    const std::vector<event> moved = events_of(table.bytes(), event_kind::transfer);
    ASSERT_EQ(moved.size(), 1u);
    EXPECT_EQ(moved[0].bytes, 10 * sizeof(float));
    EXPECT_EQ(moved[0].axes, 1);
    EXPECT_EQ(moved[0].counts[0], 10u);
    EXPECT_EQ(moved[0].pitches[0], 20 * sizeof(float));
    EXPECT_EQ(moved[0].row_bytes, sizeof(float));
}

TEST_F(recorder, notes_the_first_use_of_what_was_fetched_ahead_and_no_other) {
    buffer mine(bytes);
    write_at(mine, space("debug:0"));
    mine.prefetch(host);
    const auto uses = [&] {
        return std::ranges::count(events_of(mine, event_kind::access), true,
                                  [](const event& each) { return each.is_demand; });
    };
    EXPECT_EQ(uses(), 1);
    read_at(mine, host);
    EXPECT_EQ(uses(), 2);
    read_at(mine, host);
    EXPECT_EQ(uses(), 2) << "the gate did not open";
}

TEST_F(recorder, keeps_the_last_events_of_each_thread) {
    keep_events(8);
    const space there("debug:0");
    buffer mine(bytes);
    for (int i = 0; i < 20; ++i) {
        write_at(mine, host);
        read_at(mine, there);
    }
    EXPECT_EQ(events_of(mine).size(), 8u);
    EXPECT_EQ(events_of(mine).back().to, there.id());
    std::thread([&] {
        write_at(mine, host);
        read_at(mine, there);
    }).join();
    EXPECT_GT(events_of(mine).size(), 8u) << "what a thread did before its end is lost";
}

TEST_F(recorder, keeps_few_events_of_threads_that_have_ended_however_many_each_kept) {
    buffer mine(bytes);
    constexpr std::size_t threads = 300;
    for (std::size_t i = 0; i < threads; ++i) {
        keep_events(10 + i);
        std::thread([&] {
            write_at(mine, host);
            read_at(mine, space("debug:0"));
        }).join();
    }
    EXPECT_LT(events_of(mine).size(), threads);
}

TEST(a_recorder, goes_on_where_the_environment_names_no_number_that_it_can_keep) {
    constexpr const char* variable = "UNIBUF_EVENTS";
    const std::array odd{"99999999999999999999", "18446744073709551615", "-1", "many"};
    if (std::ranges::none_of(odd, [&](const char* each) { return is_alone(variable, each); })) {
        for (const char* const each : odd) run_alone(variable, each);
        return;
    }
    buffer mine(bytes);
    write_at(mine, host);
    EXPECT_FALSE(events_of(mine).empty());
}

TEST_F(recorder, is_off_where_no_event_is_to_be_kept) {
    keep_events(0);
    buffer mine(bytes);
    write_at(mine, host);
    read_at(mine, space("debug:0"));
    EXPECT_TRUE(events_of(mine).empty());
}

TEST_F(recorder, may_be_read_while_others_record) {
    keep_events(16);
    std::atomic<bool> stop = false;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            buffer mine(bytes);
            while (!stop) {
                write_at(mine, host);
                read_at(mine, space("debug:0"));
            }
        });
    }
    for (int i = 0; i < 50; ++i) {
        for (const event& each : recorded_events()) {
            if (each.kind == event_kind::transfer && each.bytes != 0) {
                ASSERT_LE(each.begin + each.bytes, std::max<std::uint64_t>(each.end, bytes));
            }
            ASSERT_NE(each.time, 0u);
        }
    }
    stop = true;
}

/// The number of no buffer: those of the tests before count from 1.
constexpr std::uint64_t no_buffer = ~std::uint64_t{0};

/// Returns an event in which all members have something to do with `number`.
event event_like(std::uint64_t number) {
    event made{.kind = event_kind::transfer, .why = cause::sync, .from = 1, .to = 2, .buffer = no_buffer};
    made.is_demand = number % 3 == 0;
    made.begin = number;
    made.end = 3 * number;
    made.bytes = std::array{std::uint64_t{0}, 2 * number, number}[number % 3];
    made.took = number % 5 == 0 ? number << 32 : number;
    if (number % 7 == 0) made.queue = number;
    if (number % 11 == 0) made.news = number;
    if (number % 13 == 0) {
        made.axes = 2;
        made.row_bytes = number;
        made.counts = {static_cast<std::uint32_t>(number), 5};
        made.pitches = {7 * number, number};
    }
    return made;
}

/// Returns whether an event is, but for what record() adds, the one that its first byte says.
bool is_whole(const event& of) {
    event wanted = event_like(of.begin);
    wanted.time = of.time;
    wanted.thread = of.thread;
    wanted.process = of.process;
    wanted.site = of.site;
    wanted.number = of.number;
    return std::memcmp(&wanted, &of, sizeof of) == 0;
}

TEST_F(recorder, keeps_all_of_an_event) {
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        event made = event_like(i);
        trace::record(made);
    }
    std::vector<event> all = recorded_events();
    std::erase_if(all, [](const event& each) { return each.buffer != no_buffer; });
    ASSERT_EQ(all.size(), 1000u);
    for (std::uint64_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].begin, i + 1);
        EXPECT_EQ(all[i].number, all[0].number + i);
        EXPECT_EQ(all[i].process, static_cast<std::uint32_t>(::getpid()));
        EXPECT_TRUE(is_whole(all[i])) << i;
    }
}

TEST_F(recorder, gives_whole_events_while_others_record) {
    keep_events(16);
    std::atomic<bool> stop = false;
    std::jthread records([&] {
        for (std::uint64_t i = 1; !stop; ++i) {
            event made = event_like(i % 1'000'000);
            trace::record(made);
        }
    });
    std::size_t seen = 0;
    while (seen < 20'000 && !HasFailure()) {
        for (const event& each : recorded_events()) {
            if (each.buffer != no_buffer) continue;
            ++seen;
            EXPECT_TRUE(is_whole(each)) << each.begin;
        }
    }
    stop = true;
}

TEST_F(recorder, loses_no_event_of_threads_that_begin_while_it_is_read) {
    std::atomic<bool> stop = false;
    std::jthread reads([&] {
        while (!stop) static_cast<void>(recorded_events());
    });
    int lost = 0;
    for (int i = 0; i < 50; ++i) {
        buffer mine(bytes);
        std::thread([&] {
            write_at(mine, host);
            lost += events_of(mine).empty();
        }).join();
    }
    stop = true;
    EXPECT_EQ(lost, 0);
}

/// Makes a place that of all events, as long as it lives.
class at_place {
public:
    explicit at_place(const char* name) : before_(call_from(site_of(name))) {}
    ~at_place() { call_from(before_); }
    at_place(const at_place&) = delete;
    at_place& operator=(const at_place&) = delete;

private:
    std::uint64_t before_;
};

TEST_F(recorder, names_no_other_place_than_that_of_the_lease_that_is_held) {
    const space device("debug:0");
    buffer mine(bytes);
    const auto refusal = [&] {
        try {
            static_cast<void>(mine.acquire(device, access::write, {}));
        } catch (const error& refused) {
            return std::string(refused.what());
        }
        return std::string();
    };
    const auto taken_at = [&](const char* place, space where, access what) {
        const at_place here(place);
        return mine.acquire(where, what, {});
    };
    static_cast<void>(taken_at("an earlier place", host, access::write));
    {
        const byte_lease at_gate = taken_at("at the gate", host, access::write);  // is no event
        EXPECT_EQ(refusal().find("it was taken in"), std::string::npos) << refusal();
    }
    static_cast<void>(taken_at("an earlier place", device, access::read));
    const byte_lease held = taken_at("where it is held", device, access::read);
    static_cast<void>(taken_at("a later place", device, access::read));
    EXPECT_NE(refusal().find("it was taken in where it is held"), std::string::npos) << refusal();
}

TEST_F(recorder, writes_a_file_that_has_all_events) {
    keep_events(0);
    EXPECT_EQ(write_trace(file("trace")), file("trace"));
    EXPECT_THROW(write_trace(file("other")), error);
    const space there("debug:0");
    buffer mine(bytes);
    constexpr int rounds = 1000;  // more than a piece of the file has room for
    for (int i = 0; i < rounds; ++i) {
        write_at(mine, host);
        read_at(mine, there);
    }
    std::thread([&] { write_at(mine, host); }).join();
    stop_trace();
    write_at(mine, there);  // is not in it
    const trace_file got = read_trace(file("trace"));
    EXPECT_EQ(traffic_of(got.events).moved, rounds * bytes);
    EXPECT_EQ(traffic_of(got.events).least, rounds * bytes);
    EXPECT_EQ(std::ranges::count(got.events, event_kind::transfer, &event::kind), rounds);
    EXPECT_TRUE(std::ranges::is_sorted(got.events, {}, &event::time));
    EXPECT_EQ(got.spaces.at(there.id()), "debug:0");
    const std::vector<std::string> told = why(got.events, mine.id(), got);
    EXPECT_EQ(told.size(), got.events.size());
    const auto tells = [&](std::string_view what) {
        return std::ranges::any_of(told, [&](const std::string& each) { return each.find(what) != each.npos; });
    };
    EXPECT_TRUE(tells("debug:0 was to read bytes [0, 4096), and lacked 4096 bytes")) << told.back();
    EXPECT_TRUE(tells("went from host to debug:0")) << told.back();
    EXPECT_TRUE(why(got.events, mine.id() + 1, got).empty());
}

TEST_F(recorder, tells_the_queue_that_a_transfer_was_put_on) {
    const space there = fake_device::get({.asynchronous = true}).where();
    buffer mine(bytes, {.hint = memory_hint::gpu_preferred});
    write_at(mine, host);
    int named = 0;
    mine.prefetch(there, {.on = {&named}});
    const std::vector<event> moved = events_of(mine, event_kind::transfer);
    ASSERT_EQ(moved.size(), 1u);
    EXPECT_EQ(moved[0].queue, reinterpret_cast<std::uintptr_t>(&named));
}

TEST_F(recorder, has_the_names_of_registered_buffers) {
    unified_buffer<float> before({20, 30}), later({7});
    get_registry().add("density", before);
    const std::string name = file("trace");
    write_trace(name);
    get_registry().add("later", later);
    const trace_file got = read_trace(name);
    EXPECT_TRUE(get_registry().remove("density") && get_registry().remove("later"));
    const auto named = [&](const unified_buffer<float>& of) { return got.buffer_name(of.bytes().id()); };
    EXPECT_TRUE(named(before).ends_with(": density (20 x 30, <f4)")) << named(before);
    EXPECT_TRUE(named(later).ends_with(": later (7, <f4)")) << named(later);
    EXPECT_EQ(got.buffer_name(1'000'000'007), "buffer #1000000007");
}

TEST_F(recorder, names_a_view_as_a_part_of_its_buffer) {
    unified_buffer<float> whole({20, 30});
    auto edge = whole.view(30, 60);
    const std::string name = file("trace");
    write_trace(name);
    get_registry().add("edge", edge);
    const trace_file got = read_trace(name);
    EXPECT_TRUE(get_registry().remove("edge"));
    const std::string called = got.buffer_name(whole.bytes().id());
    EXPECT_TRUE(called.ends_with(": edge (60, <f4, bytes [120, 360))")) << called;
}

TEST_F(recorder, tells_which_copies_are_made_for_pools) {
    memory_pool pool;
    buffer pooled = pool.acquire(bytes);
    buffer alone(bytes);
    write_at(pooled, host);
    write_at(alone, host);
    const std::vector<event> of_pool = events_of(pooled, event_kind::allocation);
    const std::vector<event> of_none = events_of(alone, event_kind::allocation);
    ASSERT_EQ(of_pool.size(), 1u);
    ASSERT_EQ(of_none.size(), 1u);
    EXPECT_TRUE(of_pool[0].is_pooled);
    EXPECT_FALSE(of_none[0].is_pooled);
    const std::vector<std::string> told = why(of_pool, pooled.id());
    EXPECT_NE(told.at(0).find("was made at host, for a pool"), std::string::npos) << told[0];
}

TEST_F(recorder, tells_why_a_transfer_took_no_better_way) {
    event moved{.kind = event_kind::transfer, .to = space("debug:0").id(), .buffer = 1, .end = 8, .bytes = 8};
    const auto told = [&](transfer_route route) {
        moved.route = route;
        return why({&moved, 1}, 1).at(0);
    };
    EXPECT_NE(told(transfer_route::staged).find("to debug:0 by a staging buffer, as"), std::string::npos);
    EXPECT_NE(told(transfer_route::by_host).find("by way of the host, as"), std::string::npos);
    EXPECT_EQ(told(transfer_route::direct).find(" by "), std::string::npos);
}

TEST_F(recorder, leaves_what_it_has_written_where_the_program_crashes) {
    const std::string name = file("trace");
    const pid_t child = ::fork();
    if (child == 0) {
        write_trace(name);
        buffer mine(bytes);
        write_at(mine, host);
        read_at(mine, space("debug:0"));
        ::_exit(9);  // as in a crash, nothing is flushed or closed
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(traffic_of(read_trace(name).events).moved, bytes);
}

TEST_F(recorder, begins_and_ends_files_while_threads_use_buffers) {
    std::atomic<bool> done = false;
    const auto work = [&] {
        buffer mine(bytes);
        while (!done) {
            write_at(mine, space("debug:0"));
            read_at(mine, host);
        }
    };
    std::thread one(work), other(work);
    for (int round = 0; round < 40; ++round) {
        const std::string name = write_trace(file(round % 2 == 0 ? "same" : "trace" + std::to_string(round)));
        while (read_trace(name).events.empty()) std::this_thread::yield();
        stop_trace();
        EXPECT_GT(read_trace(name).events.size(), 0u);
    }
    done = true;
    one.join();
    other.join();
}

TEST_F(recorder, goes_on_in_a_file_where_a_thread_has_ended) {
    const std::string name = write_trace(file("trace"));
    buffer mine(bytes);
    constexpr int threads = 100;
    for (int i = 0; i < threads; ++i) {
        std::thread([&] {
            write_at(mine, host);
            read_at(mine, space("debug:0"));
        }).join();
    }
    stop_trace();
    EXPECT_LE(std::filesystem::file_size(name), std::uintmax_t{4} * 64 * 1024);
    const std::vector<event> got = read_trace(name).events;
    EXPECT_EQ(std::ranges::count(got, event_kind::transfer, &event::kind), threads);
    std::set<std::uint32_t> seen;
    for (const event& each : got) seen.insert(each.thread);
    EXPECT_GE(seen.size(), std::size_t{threads});
}

/// The piece of the file that a thread writes is another's then.
TEST_F(recorder, writes_what_a_thread_destroys_last) {
    const std::string name = write_trace(file("trace"));
    const auto mappings = [&] {
        std::ifstream maps("/proc/self/maps");
        int result = 0;
        for (std::string line; std::getline(maps, line);) result += line.find(name) != std::string::npos;
        return result;
    };
    static std::atomic<std::uint64_t> last_id = 0;
    const auto end_one = [] {
        std::thread([] {
            struct owner {
                std::unique_ptr<buffer> last;
                ~owner() { last.reset(); }
            };
            static thread_local owner of;  // made before the piece
            of.last = std::make_unique<buffer>(bytes);
            write_at(*of.last, host);
            last_id = of.last->id();
        }).join();
    };
    end_one();  // its piece is the one that ended threads share
    end_one();
    const int before = mappings();
    for (int i = 0; i < 20; ++i) end_one();
    EXPECT_EQ(mappings(), before);
    const auto is_last_release = [](const event& each) {
        return each.kind == event_kind::release && each.buffer == last_id;
    };
    EXPECT_TRUE(std::ranges::any_of(read_trace(name).events, is_last_release));
}

TEST_F(recorder, leaves_out_what_cannot_be_an_event) {
    const std::string name = file("trace");
    buffer mine(bytes);
    {
        const trace_scope written(name);
        EXPECT_TRUE(is_tracing() && written.name() == name);
        write_at(mine, host);
        read_at(mine, space("debug:0"));
    }
    EXPECT_FALSE(is_tracing());
    const std::size_t whole = read_trace(name).events.size();
    const auto damage = [&](std::size_t byte, char value) {
        std::fstream at(name, std::ios::in | std::ios::out | std::ios::binary);
        event each;
        for (std::streamoff place = 0; at.read(reinterpret_cast<char*>(&each), sizeof each);
             place += static_cast<std::streamoff>(sizeof each)) {
            if (each.kind != event_kind::transfer) continue;
            at.seekp(place + static_cast<std::streamoff>(byte));
            at.put(value);
            return;
        }
    };
    for (const std::size_t byte : {offsetof(event, to), offsetof(event, from), offsetof(event, axes)}) {
        damage(byte, 127);
        const trace_file got = read_trace(name);
        EXPECT_EQ(got.events.size(), whole - 1);
        EXPECT_FALSE(why(got.events, mine.id(), got).empty());
        damage(byte, 0);
    }
}

TEST_F(recorder, writes_beside_the_file_of_another_process) {
    const std::string name = file("trace");
    write_trace(name);
    const pid_t child = ::fork();
    if (child == 0) {
        buffer mine(bytes);
        write_at(mine, host);  // the file is the parent's
        const std::string other = write_trace(name);
        write_at(mine, space("debug:0"));
        ::_exit(other == name + "." + std::to_string(::getpid()) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    stop_trace();
    EXPECT_TRUE(read_trace(name).events.empty());
    EXPECT_FALSE(read_trace(name + "." + std::to_string(child)).events.empty());
}

TEST_F(recorder, refuses_files_that_are_no_traces) {
    const auto message_of = [](const std::string& name) -> std::string {
        try {
            read_trace(name);
        } catch (const error& refused) {
            EXPECT_EQ(refused.code(), error_code::invalid_argument);
            return refused.what();
        }
        return "none";
    };
    std::ofstream(file("empty")).flush();
    std::ofstream(file("text")) << std::string(1000, 'x');
    EXPECT_NE(message_of(file("missing")).find("No such file"), std::string::npos);
    EXPECT_NE(message_of(file("empty")).find("empty"), std::string::npos);
    EXPECT_NE(message_of(file("text")).find("no trace"), std::string::npos);
    EXPECT_THROW(write_trace("/nonexistent/trace"), error);
}

}  // namespace
}  // namespace unibuf::test::recorder_test
