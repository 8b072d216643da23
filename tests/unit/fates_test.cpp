// unit/fates_test.cpp: what became of bytes that were moved, and what diagnose() makes of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "unibuf/trace.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::test::fates_test {
namespace {

constexpr std::size_t bytes = 4096;

void write_at(buffer& of, space where, std::size_t count = rest) { of.write(where, {.count = count}).release(); }
void read_at(const buffer& of, space where, std::size_t count = rest) { of.read(where, {.count = count}).release(); }

class fates : public testing::Test {
protected:
    fates() { write_at(of_, host); }

    /// Returns the events of the buffer.
    std::vector<event> events() const {
        std::vector<event> result = recorded_events();
        std::erase_if(result, [&](const event& each) { return each.buffer != of_.id(); });
        return result;
    }

    /// Returns the fate of the one transfer that there was.
    transfer_fate only() const {
        const std::vector<transfer_fate> all = fates_of(events());
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? transfer_fate{} : all.front();
    }

    space device_{"debug:0"};
    buffer of_{bytes};
};

TEST_F(fates, are_use_by_who_asked) {
    read_at(of_, device_);
    const transfer_fate found = only();
    const std::vector<event> all = events();
    EXPECT_EQ(found.used, bytes);
    EXPECT_EQ(found.overwritten + found.unread + found.evicted, 0u);
    ASSERT_TRUE(found.writer && found.first_use);
    EXPECT_EQ(all[*found.writer].to, host.id());
    EXPECT_EQ(all[*found.first_use].kind, event_kind::access);
    EXPECT_LT(*found.writer, found.transfer);
    EXPECT_LT(found.transfer, *found.first_use);
}

TEST_F(fates, are_told_apart_by_byte) {
    of_.prefetch(device_);
    read_at(of_, device_, 1000);                   // these are used,
    of_.view(1000, 500).write(device_).release();  // these are overwritten,
    of_.view(1500, 300).write(host).release();     // and these are stale before anybody has used them
    transfer_fate found = only();
    EXPECT_EQ(found.used, 1000u);
    EXPECT_EQ(found.overwritten, 500u);
    EXPECT_EQ(found.unread, bytes - 1500) << "what nobody used until the end";
    EXPECT_FALSE(found.is_back);
}

TEST_F(fates, tell_what_had_been_evicted) {
    read_at(of_, device_);
    buffer other(bytes);
    write_at(other, host);
    limit_memory(device_, bytes);
    read_at(other, device_);
    read_at(of_, device_);
    limit_memory(device_, no_memory_limit);
    const std::vector<transfer_fate> all = fates_of(events());
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].evicted, 0u);
    EXPECT_EQ(all[1].evicted, bytes);
}

TEST_F(fates, answer_what_they_are_made_from) {
    of_.read_write(device_).release();
    of_.read_write(host).release();
    of_.read_write(device_).release();
    const std::vector<transfer_fate> all = fates_of(events());
    ASSERT_EQ(all.size(), 3u);
    EXPECT_FALSE(all[0].answers);
    EXPECT_EQ(all[1].answers, 0u);
    EXPECT_EQ(all[2].answers, 1u);
}

TEST_F(fates, answer_nothing_where_the_content_is_new) {
    of_.read_write(device_).release();
    read_at(of_, host);
    write_at(of_, host);  // the next input has nothing of the result before
    of_.read_write(device_).release();
    const std::vector<transfer_fate> all = fates_of(events());
    ASSERT_EQ(all.size(), 3u);
    EXPECT_FALSE(all[2].answers);
}

/// Events are read from a close trace.
class news : public fates {
protected:
    news() { write_trace(file_, trace_detail::close); }
    ~news() override {
        stop_trace();
        std::filesystem::remove(file_);
    }

    std::vector<event> traced(event_kind kind) {
        std::vector<event> result = read_trace(file_).events;
        std::erase_if(result, [&](const event& each) { return each.kind != kind || each.buffer != of_.id(); });
        return result;
    }

    std::string file_ = testing::TempDir() + "unibuf_news_" + std::to_string(::getpid());
};

TEST_F(news, are_the_lines_that_differ_from_what_passed_before) {
    read_at(of_, device_);
    of_.read_write(host)[100] = std::byte{7};
    read_at(of_, device_);
    of_.read_write(host).release();
    read_at(of_, device_);
    const std::vector<event> moved = traced(event_kind::transfer);
    ASSERT_EQ(moved.size(), 3u);
    EXPECT_EQ(news_of(moved[0]), bytes) << "nothing had passed before";
    EXPECT_EQ(news_of(moved[1]), 64u);
    EXPECT_EQ(news_of(moved[2]), 0u);
    const std::vector<transfer_fate> all = fates_of(read_trace(file_).events);
    EXPECT_FALSE(all[1].is_back);
    EXPECT_TRUE(all[2].is_back);
}

TEST_F(news, are_not_told_where_the_other_side_had_something_else_meanwhile) {
    read_at(of_, device_);                                // zeros
    std::ranges::fill(of_.write(device_), std::byte{1});  // never brought back,
    std::ranges::fill(of_.write(host), std::byte{0});     // and overwritten
    read_at(of_, device_);
    const std::vector<transfer_fate> all = fates_of(read_trace(file_).events);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_FALSE(all[1].is_back) << "the device had ones";
}

TEST_F(news, come_with_the_ends_of_leases) {
    read_at(of_, device_);
    const std::size_t before = traced(event_kind::lease_end).size();
    {
        const auto lease = of_.read(host);
        EXPECT_EQ(traced(event_kind::lease_end).size(), before);
    }
    const std::vector<event> ended = traced(event_kind::lease_end);
    ASSERT_EQ(ended.size(), before + 1);
    EXPECT_GT(ended.back().took, 0u);
    EXPECT_EQ(ended.back().to, host.id());
}

TEST_F(news, end_with_the_trace) {
    stop_trace();
    read_at(of_, device_);
    of_.read_write(host).release();
    read_at(of_, device_);
    for (const event& each : events()) EXPECT_FALSE(news_of(each));
}

TEST(diagnose, tells_nothing_of_a_program_that_moves_what_it_needs) {
    unified_buffer<float> field({100'000});
    const std::size_t before = recorded_events().size();
    for (int step = 0; step < 20; ++step) {
        for (float& each : field.write(host)) each = static_cast<float>(step);  // the next input,
        for (float& each : field.read_write("debug:0")) each += 1;              // its result,
        EXPECT_EQ(field.read(host)[7], static_cast<float>(step + 1));           // which is looked at
    }
    std::vector<event> all = recorded_events();
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(before));
    std::erase_if(all, [&](const event& each) { return each.buffer != field.bytes().id(); });
    for (const finding& each : diagnose(all)) ADD_FAILURE() << to_string(each.kind) << ": " << each.evidence;
}

/// Returns the kinds of what is found in a close trace of some work.
template <class Work>
std::vector<fault> found_in(const Work& work) {
    const std::string file = testing::TempDir() + "unibuf_found_" + std::to_string(::getpid());
    write_trace(file, trace_detail::close);
    work();
    stop_trace();
    const trace_file read = read_trace(file);
    std::filesystem::remove(file);
    std::vector<fault> result;
    for (const finding& each : diagnose(read.events, read)) result.push_back(each.kind);
    return result;
}

TEST(diagnose, tells_nothing_of_what_now_and_then_changes_nothing) {
    EXPECT_EQ(found_in([] {
                  unified_buffer<float> field({100'000});
                  for (int step = 0; step < 30; ++step) {
                      for (float& each : field.read_write("debug:0")) each = step < 20 ? static_cast<float>(step) : 20;
                      EXPECT_GE(field.read(host)[7], 0);
                  }
              }),
              std::vector<fault>());
}

TEST(diagnose, tells_nothing_of_a_batch_whose_buffers_have_no_copies_yet) {
    EXPECT_EQ(found_in([] {
                  std::vector<unified_buffer<float>> all;
                  for (int i = 0; i < 50; ++i) all.emplace_back(shape(1000));
                  batch up("debug:0");
                  const std::vector<float> content(1000, 1.0F);
                  for (unified_buffer<float>& each : all) up.write<float>(each, content);
                  up.submit();
                  for (const unified_buffer<float>& each : all) EXPECT_EQ(each.read("debug:0")[7], 1.0F);
              }),
              std::vector<fault>());
}

TEST(diagnose, tells_of_a_wait_where_the_lease_was_long) {
    constexpr std::uint64_t ms = 1'000'000;
    const auto found = [&](std::uint64_t held) {
        // One thread takes a lease at 1 ms; another asks for the bytes, and waits for 20 ms.
        const std::uint64_t end = 21 * ms;
        return diagnose(std::vector<event>{
            {.time = end - held,
             .kind = event_kind::access,
             .what = access::write,
             .thread = 1,
             .buffer = 1,
             .end = 8,
             .site = 7},
            {.time = end,
             .kind = event_kind::lease_end,
             .what = access::write,
             .thread = 1,
             .buffer = 1,
             .end = 8,
             .took = held},
            {.time = end,
             .kind = event_kind::wait,
             .what = access::read,
             .thread = 2,
             .buffer = 1,
             .end = 8,
             .took = 20 * ms},
        });
    };
    EXPECT_TRUE(found(ms / 10).empty()) << "the wait was for somebody else, or for a turn";
    const std::vector<finding> told = found(20 * ms);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].kind, fault::long_lease);
    EXPECT_EQ(told[0].site, 7u);
    EXPECT_EQ(told[0].took, 20 * ms);
}

/// Writers of two kinds at one line: each of their transfers counts once.
TEST(diagnose, counts_what_a_line_did_by_lease_and_by_pointer_together) {
    constexpr std::uint64_t large = std::uint64_t{1} << 20;
    std::vector<event> all;
    std::uint64_t time = 1000;
    const auto add = [&](event each) {
        each.time = time += 10'000'000;
        each.buffer = 1;
        each.end = large;
        each.site = 7;
        all.push_back(each);
    };
    event first{.kind = event_kind::transfer, .to = 2, .bytes = large, .took = 1'000'000};
    first.news = large + 1;  // all of its bytes
    add(first);
    add({.kind = event_kind::access, .to = 2});
    for (int i = 0; i < 6; ++i) {
        const bool by_lease = i < 2;  // at the device; else by a pointer at the host
        event writer{.kind = by_lease ? event_kind::access : event_kind::assumed};
        writer.what = access::read_write;
        writer.why = cause::read_write;
        writer.to = by_lease ? 2 : 0;
        add(writer);
        event back = first;
        back.news = 1;  // none of its bytes
        back.from = writer.to;
        back.to = by_lease ? 0 : 2;
        add(back);
        add({.kind = event_kind::access, .to = back.to});
    }
    std::size_t found = 0;
    for (const finding& each : diagnose(all)) {
        const std::size_t of = each.evidence.find(" of ");
        if (each.kind != fault::round_trip || of == std::string::npos) continue;
        EXPECT_LE(each.times, std::stoull(each.evidence.substr(of + 4))) << each.evidence;
        ++found;
    }
    EXPECT_EQ(found, 1U);
}

TEST(diagnose, spares_no_more_time_than_was_taken) {
    // 1 GiB goes pinned, at 25 GB/s; 2^38 bytes go staged, in 50 s: bytes times nanoseconds are more than 2^64.
    constexpr std::uint64_t second = 1'000'000'000, large = std::uint64_t{1} << 38;
    event transfer{.time = 100 * second,
                   .kind = event_kind::transfer,
                   .to = 2,
                   .buffer = 1,
                   .end = std::uint64_t{1} << 30,
                   .bytes = std::uint64_t{1} << 30,
                   .took = 40'000'000};
    transfer.route = transfer_route::pinned;
    event staged = transfer;
    staged.time = 200 * second;
    staged.route = transfer_route::staged;
    staged.buffer = 2;
    staged.end = staged.bytes = large;
    staged.took = 50 * second;
    staged.site = 7;
    const event used{.time = 150 * second, .kind = event_kind::access, .to = 2, .buffer = 1, .end = transfer.end};
    event staged_used = used;
    staged_used.time = 201 * second;
    staged_used.buffer = 2;
    staged_used.end = large;
    std::vector<finding> found = diagnose(std::vector<event>{transfer, used, staged, staged_used});
    std::erase_if(found, [](const finding& each) { return each.site != 7; });
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind, fault::pageable);
    EXPECT_EQ(found[0].bytes, large);
    EXPECT_GT(found[0].took, 30 * second);
    EXPECT_LT(found[0].took, 50 * second);

    // Brought ahead, and never used: all of it could be spared.
    staged.why = cause::prefetch;
    staged.is_demand = false;
    found = diagnose(std::vector<event>{staged});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind, fault::unread_copy);
    EXPECT_EQ(found[0].took, staged.took);

    // A damaged trace may have a transfer of no bytes.
    staged.bytes = staged.end = 0;
    for (const finding& each : diagnose(std::vector<event>{staged})) EXPECT_LE(each.took, staged.took);
}

TEST(diagnose, names_the_lease_that_each_of_many_waits_was_for) {
    // One thread leases the bytes again and again, from lines that take turns; the other waits for each.
    constexpr std::uint64_t ms = 1'000'000;
    constexpr std::size_t count = 50'000;
    std::vector<event> all;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t time = 10 * ms * (i + 1);
        const event taken{.time = time,
                          .kind = event_kind::access,
                          .what = access::write,
                          .thread = 1,
                          .buffer = 1,
                          .end = 8,
                          .site = 100 + i % 2};
        event ended = taken;
        ended.time = time + 5 * ms;
        ended.kind = event_kind::lease_end;
        ended.took = 5 * ms;
        event wait = ended;
        wait.time = ended.time + 1;
        wait.kind = event_kind::wait;
        wait.thread = 2;
        wait.took = 4 * ms;
        all.insert(all.end(), {taken, ended, wait});
    }
    const std::vector<finding> found = diagnose(all);
    ASSERT_EQ(found.size(), 2u);
    for (const finding& each : found) {
        EXPECT_EQ(each.kind, fault::long_lease);
        EXPECT_TRUE(each.site == 100 || each.site == 101) << each.site;
        EXPECT_EQ(each.times, count / 2);
        EXPECT_EQ(each.took, count / 2 * 4 * ms);
    }
}

TEST(diagnose, takes_no_events) { EXPECT_TRUE(diagnose({}).empty()); }

}  // namespace
}  // namespace unibuf::test::fates_test
