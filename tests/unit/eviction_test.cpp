// tests/unit/eviction_test.cpp: memory that is short, and who goes.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <deque>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "access/transfers.hpp"
#include "memory/limits.hpp"
#include "support/fake_device.hpp"
#include "support/own_process.hpp"
#include "unit/common.hpp"

namespace unibuf::test::eviction_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t size = 16 << 10;

class eviction : public testing::Test {
protected:
    eviction() { limit(3); }
    ~eviction() override {
        limit_memory(device, no_memory_limit);
        limit_memory(host, no_memory_limit);
    }

    void limit(std::size_t buffers) const { limit_memory(device, buffers * size); }

    /// Fills the limit with three copies that another thread has leased while it acts.
    std::jthread leased_during(const std::function<void()>& act) {
        std::array<buffer*, 3> leased{};
        for (int i = 0; i < 3; ++i) leased[static_cast<std::size_t>(i)] = &written(i + 1);
        std::promise<void> held;
        std::future<void> is_held = held.get_future();
        std::jthread result([leased, act, where = device, held = std::move(held)]() mutable {
            const std::array leases{leased[0]->read(where), leased[1]->read(where), leased[2]->read(where)};
            held.set_value();
            act();
        });
        is_held.wait();
        return result;
    }

    /// Returns a buffer whose content only the device has.
    buffer& written(int value) {
        buffer& made = all.emplace_back(size);
        use(made, access::write, value);
        return made;
    }

    void use(buffer& of, access what = access::read, int value = 0) const {
        if (what == access::read) {
            EXPECT_TRUE(of.read(device).data());
        } else {
            std::ranges::fill(of.write(device), static_cast<std::byte>(value));
        }
    }

    bool there(const buffer& of) const { return has_copy(of, device); }

    std::string refusal(buffer& of) const {
        try {
            of.write(device);
        } catch (const error& thrown) {
            EXPECT_EQ(thrown.code(), error_code::out_of_memory);
            return thrown.what();
        }
        return "none";
    }

    const space device{"debug:0"};
    std::deque<buffer> all;
};

/// What the host may not read has to be kept there all the same.
TEST_F(eviction, writes_back_what_the_host_may_not_read) {
    buffer& input = all.emplace_back(size, buffer_options{.access = host_access::write_only});
    use(input, access::write, 7);
    for (int i = 0; i != 3; ++i) written(i);
    EXPECT_FALSE(there(input));
    const auto back = input.read(device);
    EXPECT_TRUE(same(back.span(), bytes(size, std::byte{7})));
}

TEST_F(eviction, takes_what_was_used_least_recently_and_brings_it_back) {
    buffer& first = written(1);
    buffer& second = written(2);
    buffer& third = written(3);
    use(first);
    buffer& fourth = written(4);
    EXPECT_TRUE(there(first) && !there(second) && there(third) && there(fourth));
    EXPECT_EQ(second.state(), buffer_state::host_only);
    EXPECT_EQ(content(second, device), of(size, 2));  // the third buffer's copy makes room
    EXPECT_FALSE(there(third));
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(content(all[i]), of(size, static_cast<unsigned char>(i + 1)));
}

TEST_F(eviction, spares_what_was_filled_or_marked_last) {
    const std::array one{std::byte{1}};
    for (const bool by_fill : {true, false}) {
        buffer& first = written(1);
        buffer& second = written(1);
        buffer& third = written(1);
        by_fill ? first.fill(one) : first.mark_dirty(device);
        buffer& fourth = written(1);
        EXPECT_TRUE(there(first) && !there(second) && there(third) && there(fourth));
    }
}

TEST_F(eviction, takes_first_what_is_current_elsewhere) {
    buffer& oldest = written(1);
    buffer& both = written(2);
    buffer& newest = written(3);
    content(both);
    use(both);
    use(newest);
    written(4);
    EXPECT_TRUE(there(oldest) && !there(both) && there(newest));
    EXPECT_EQ(both.statistics().bytes_moved(), size);  // all moved by the read at the host
}

TEST_F(eviction, is_counted_with_its_cause) {
    reset_statistics();
    buffer& first = written(1);
    for (const int value : {2, 3, 4}) written(value);
    EXPECT_EQ(first.statistics().evictions, 1u);
    const auto moved = first.statistics().transfers;
    ASSERT_EQ(moved.size(), 1u);
    EXPECT_EQ(moved[0].why, cause::eviction);
    EXPECT_EQ(moved[0].from, device);
    EXPECT_EQ(moved[0].to, host);
    EXPECT_EQ(moved[0].bytes, size);
    EXPECT_EQ(total_statistics().evictions, 1u);
    EXPECT_EQ(memory_in(device).held, 3 * size);
    EXPECT_EQ(memory_in(device).limit, 3 * size);
}

TEST_F(eviction, writes_back_only_what_the_host_lacks) {
    buffer& first = written(1);
    content(first);
    std::ranges::fill(first.view(100, 50).write(device), std::byte{9});
    const auto before = first.statistics().bytes_moved();
    for (const int value : {2, 3, 4}) written(value);
    ASSERT_FALSE(there(first));
    EXPECT_EQ(first.statistics().bytes_moved() - before, 50u);
    bytes expected = of(size, 1);
    std::fill_n(expected.begin() + 100, 50, std::byte{9});
    EXPECT_EQ(content(first), expected);
}

TEST_F(eviction, brings_back_nothing_that_nobody_has_written) {
    buffer unwritten(size);
    use(unwritten);
    buffer& partly = all.emplace_back(size);
    std::ranges::fill(partly.view(0, 10).write(device), std::byte{1});
    limit(0);
    EXPECT_EQ(unwritten.statistics().bytes_moved(), 0u);
    EXPECT_EQ(partly.statistics().bytes_moved(), 10u);
    EXPECT_EQ(memory_in(device).held, 0u);
    EXPECT_EQ(content(unwritten), of(size, 0));
}

TEST_F(eviction, leaves_what_is_leased) {
    buffer& first = written(1);
    buffer& second = written(2);
    buffer& third = written(3);
    const auto lease = first.read(device);
    const auto other = second.view(5, 1).read(device);
    const auto more = third.read(device);
    buffer wanted(size);
    EXPECT_NE(refusal(wanted).find("3 copies there have to stay"), std::string::npos) << refusal(wanted);
    EXPECT_EQ(refusal(wanted).find("in use all the time"), std::string::npos) << refusal(wanted);
    EXPECT_EQ(lease[0], std::byte{1});
    EXPECT_EQ(content(wanted), of(size, 0));  // the content at the host is as before
}

TEST_F(eviction, says_who_holds_most_and_why_that_stays) {
    buffer& leased = written(1);
    buffer& shown = written(2);
    const auto lease = leased.read(device);
    const copy_view view = shown.copy_view(device);
    buffer large(2 * size);
    limit(4);
    const copy_view more = large.copy_view(device);
    buffer wanted(size);
    const std::string told = refusal(wanted);
    const auto place = [&](const buffer& of, std::size_t bytes, const char* why) {
        const std::size_t found =
            told.find("buffer #" + std::to_string(of.id()) + " (" + std::to_string(bytes) + " bytes");
        EXPECT_NE(told.find(why, found), std::string::npos) << why << '\n' << told;
        return found;
    };
    const std::size_t most = place(large, 2 * size, "is out");
    EXPECT_LT(most, place(leased, size, "this thread has a lease of it"));
    EXPECT_LT(most, place(shown, size, "is out"));
}

TEST_F(eviction, names_no_more_than_five_holders) {
    limit(7);
    std::vector<lease<const std::byte>> leases;
    for (int i = 0; i != 7; ++i) leases.push_back(written(i).read(device));
    buffer wanted(size);
    const std::string told = refusal(wanted);
    std::size_t named = 0;
    for (std::size_t at = told.find("this thread has a lease of it"); at != std::string::npos; ++named) {
        at = told.find("this thread has a lease of it", at + 1);
    }
    EXPECT_EQ(named, 5U) << told;
}

TEST_F(eviction, says_where_more_is_asked_for_than_any_memory_has) {
    buffer wanted(std::size_t{1} << 63);
    EXPECT_NE(refusal(wanted).find("9223372036854775808 bytes were asked for at debug:0, and no memory has more than "
                                   "9223372036854775807"),
              std::string::npos)
        << refusal(wanted);
}

TEST_F(eviction, waits_for_leases_of_other_threads) {
    const std::jthread other = leased_during([] { std::this_thread::sleep_for(20ms); });
    detail::patience_for_memory = forever;
    EXPECT_EQ(content(written(4), device), of(size, 4));
    detail::patience_for_memory = 1s;
}

/// A process that stands still, as in a machine that does, has not waited for its own threads.
TEST_F(eviction, is_patient_with_leases_while_the_process_stands_still) {
    if (!is_alone("UNIBUF_TEST_STANDS_STILL", "1")) return run_alone("UNIBUF_TEST_STANDS_STILL", "1");
    const std::jthread other = leased_during([] {
        const pid_t process = ::getpid();
        const pid_t stopper = ::fork();
        if (stopper == 0) {
            ::usleep(100'000);  // the main thread looks for room meanwhile
            ::kill(process, SIGSTOP);
            ::usleep(1'500'000);
            ::kill(process, SIGCONT);
            ::_exit(0);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(stopper, &status, 0), stopper);
        std::this_thread::sleep_for(50ms);
    });
    EXPECT_EQ(content(written(4), device), of(size, 4));
}

TEST_F(eviction, leaves_what_device_gave_a_handle_of_until_it_is_released) {
    set_default_device(device);
    buffer& first = written(1);
    for (const int value : {2, 3}) written(value);
    first.device();
    written(4);
    EXPECT_TRUE(there(first));
    first.release_device();
    for (const int value : {5, 6, 7}) written(value);
    EXPECT_FALSE(there(first));
    EXPECT_EQ(content(first), of(size, 1));
    first.device();
    limit(0);
    EXPECT_TRUE(there(first));
    set_default_device(host);
}

TEST_F(eviction, leaves_what_a_view_of_a_copy_holds) {
    buffer& first = written(1);
    {
        copy_view one = first.copy_view(device);
        const copy_view other = first.view(5, 7).copy_view(device);
        EXPECT_EQ(one.data()[3], std::byte{1});
        EXPECT_EQ(other.data(), one.data() + 5);
        EXPECT_EQ(other.native().offset, 5U);
        one.release();
        one.release();
        for (const int value : {2, 3, 4}) written(value);
        EXPECT_TRUE(there(first));
        const failure found = failure_of([&] {
            first.sync_to_host();
            first.discard(device);
        });
        EXPECT_EQ(found.code, error_code::access_conflict);
        EXPECT_NE(found.message.find("views of it are held"), std::string::npos) << found.message;
    }
    first.discard(device);
    EXPECT_FALSE(there(first));
    const copy_view at_host = first.copy_view(host);
    EXPECT_EQ(at_host.data()[3], std::byte{1});
    EXPECT_EQ(first.state(), buffer_state::host_only);
    EXPECT_EQ(failure_of([&] { first.discard(host); }).code, error_code::access_conflict);
}

TEST_F(eviction, a_view_of_a_copy_outlives_its_buffer) {
    std::optional<buffer> b(size);
    b->fill(of(1, 7));
    const copy_view view = b->copy_view(device);
    b.reset();
    EXPECT_EQ(view.data()[size - 1], std::byte{7});
}

TEST_F(eviction, a_limit_of_zero_refuses_and_loses_nothing) {
    limit(0);
    buffer b(size);
    std::ranges::fill(b.write(host), std::byte{7});
    const std::string why = refusal(b);
    EXPECT_NE(why.find("16384 bytes were asked for at debug:0, which is limited to 0 and holds 0"), std::string::npos)
        << why;
    EXPECT_EQ(content(b), of(size, 7));
    limit(1);
    EXPECT_EQ(content(b, device), of(size, 7));
}

TEST_F(eviction, a_limit_below_what_is_held_is_kept_as_far_as_it_can) {
    buffer& first = written(1);
    written(2);
    written(3);
    const auto lease = first.read(device);
    limit(0);
    EXPECT_EQ(memory_in(device).held, size);
    EXPECT_EQ(lease[0], std::byte{1});
    EXPECT_EQ(content(all[1]), of(size, 2));
}

TEST_F(eviction, more_than_there_ever_is_evicts_what_it_can_and_is_refused) {
    buffer& first = written(1);
    buffer large(4 * size);
    const std::string why = refusal(large);
    EXPECT_NE(why.find("is limited to 49152"), std::string::npos) << why;
    EXPECT_NE(why.find("a copy is as large as its buffer"), std::string::npos) << why;
    EXPECT_EQ(content(first), of(size, 1));
}

TEST_F(eviction, with_no_room_at_the_host_either_is_refused_and_loses_nothing) {
    for (const int value : {1, 2, 3}) written(value);
    limit_memory(host, 0);
    buffer wanted(size);
    const std::string why = refusal(wanted);
    EXPECT_NE(why.find("one could not go: "), std::string::npos) << why;
    EXPECT_NE(why.find("asked for at host, which is limited to 0"), std::string::npos) << why;
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(content(all[i], device), of(size, static_cast<unsigned char>(i + 1)));
    }
}

TEST_F(eviction, at_the_host_takes_what_a_device_has_all_of) {
    buffer& first = written(1);
    content(first);
    buffer& only_at_host = all.emplace_back(size);
    only_at_host.copy_from(of(size, 2));
    limit_memory(host, 2 * size);
    buffer wanted(size);
    wanted.copy_from(of(size, 3));
    EXPECT_EQ(first.state(), buffer_state::device_only);
    EXPECT_EQ(first.statistics().evictions, 1u);
    buffer more(size);
    EXPECT_THROW(more.write(host), error);
    EXPECT_EQ(content(first, device), of(size, 1));
    EXPECT_EQ(content(only_at_host), of(size, 2));
    EXPECT_EQ(content(wanted), of(size, 3));
}

TEST_F(eviction, at_the_host_leaves_what_pointers_are_out_of) {
    buffer& first = written(1);
    std::byte* const pointer = first.host();
    use(first);
    limit_memory(host, size);
    buffer wanted(size);
    EXPECT_THROW(wanted.write(host), error);
    pointer[3] = std::byte{9};
    EXPECT_EQ(first.read(device)[3], std::byte{9});
}

TEST_F(eviction, finds_what_was_written_through_pointers) {
    buffer& first = written(1);
    std::byte* const pointer = first.host();
    use(first);
    std::ranges::fill(first.view(0, 100).write(device), std::byte{5});
    pointer[size - 1] = std::byte{9};
    limit(0);
    ASSERT_FALSE(there(first));
    bytes expected = of(size, 1);
    std::fill_n(expected.begin(), 100, std::byte{5});
    expected.back() = std::byte{9};
    EXPECT_EQ(content(first), expected);
}

TEST_F(eviction, two_threads_in_turns_with_more_than_there_is_make_progress) {
    limit(1);
    std::deque<buffer> both;
    for (int i = 0; i < 2; ++i) both.emplace_back(size);
    for (buffer& each : both) std::ranges::fill(each.write(host), std::byte{0});
    std::atomic<int> done = 0;
    {
        std::vector<std::jthread> threads;
        for (std::size_t first = 0; first < 2; ++first) {
            threads.emplace_back([&, first] {
                for (std::size_t i = 0; i < 100; ++i) {
                    auto lease = both[(first + i) % 2].read_write(device);
                    lease[first] = static_cast<std::byte>(std::to_integer<int>(lease[first]) + 1);
                    ++done;
                }
            });
        }
    }
    EXPECT_EQ(done, 200);
    for (std::size_t thread = 0; thread < 2; ++thread) {
        for (const buffer& each : both) EXPECT_EQ(content(each)[thread], std::byte{50});
    }
    EXPECT_GT(both[0].statistics().evictions + both[1].statistics().evictions, 0u);
}

/// A standing hold may leave bytes at a third space, from which they come then.
TEST_F(eviction, names_its_queue_to_the_device_whose_copy_goes) {
    int any = 0;
    const detail::access_request back{.where = host, .on = {queue{&any}}, .queue_of = device};
    EXPECT_EQ(detail::queue_at(back, device.id()).native, &any);
    EXPECT_EQ(detail::queue_at(back, fake_device::get({}).where().id()).native, nullptr);
}

TEST_F(eviction, four_times_the_memory_goes_through_it) {
    for (int i = 0; i < 12; ++i) written(i);
    for (int round = 0; round < 3; ++round) {
        for (buffer& each : all) {
            const auto lease = each.read_write(device);
            for (std::byte& b : lease) b = static_cast<std::byte>(std::to_integer<int>(b) + 1);
        }
        EXPECT_LE(memory_in(device).held, 3 * size);
    }
    for (unsigned char i = 0; i < 12; ++i) EXPECT_EQ(content(all[i]), of(size, static_cast<unsigned char>(i + 3)));
}

TEST_F(eviction, comes_after_work_that_is_queued) {
    fake_device& fake = fake_device::get({.asynchronous = true});
    const std::size_t memories = fake.counts.memories;
    int any = 0;
    buffer newest(size);
    buffer on_its_way(size);
    on_its_way.copy_from(of(size, 2));
    {
        const auto written = newest.write(fake.where(), {.on = queue{&any}});
        kernel_write(written.native(), 0, of(size, 1));
    }
    on_its_way.prefetch(fake.where(), {.on = queue{&any}});
    limit_memory(fake.where(), 0);
    EXPECT_EQ(fake.counts.memories, memories);
    limit_memory(fake.where(), no_memory_limit);
    EXPECT_EQ(newest.statistics().evictions, 1u);
    EXPECT_EQ(on_its_way.statistics().evictions, 1u);
    EXPECT_EQ(content(newest), of(size, 1));
    EXPECT_EQ(content(on_its_way), of(size, 2));
    EXPECT_TRUE(fake.misuse.empty());
}

TEST_F(eviction, of_64_threads_with_a_pool_and_batches_loses_nothing) {
    limit(16);
    memory_pool pool;
    std::atomic<int> wrong = 0;
    std::atomic<int> granted = 0;
    const std::uint64_t evictions = total_statistics().evictions;
    std::barrier all_have_some(64);
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t != 64; ++t) {
            threads.emplace_back([&, t] {
                for (int round = 0; round != 10; ++round) {
                    std::vector<buffer> mine;
                    for (int i = 0; i != 2; ++i) mine.push_back(pool.acquire(size));
                    batch there(device);
                    for (std::size_t i = 0; i != mine.size(); ++i) {
                        mine[i].fill(std::array{static_cast<std::byte>(t + static_cast<int>(i))});
                        there.sync(mine[i]);
                    }
                    try {
                        there.submit();
                        std::ranges::fill(mine[0].write(device, {.count = 8}), std::byte{0xFF});
                        ++granted;
                    } catch (const error& refused) {  // all other copies were leased for a moment
                        if (refused.code() != error_code::out_of_memory) ++wrong;
                        std::ranges::fill(mine[0].write(host, {.count = 8}), std::byte{0xFF});
                    }
                    for (std::size_t i = 0; i != mine.size(); ++i) {
                        const auto got = mine[i].read(host);
                        const auto value = static_cast<std::byte>(t + static_cast<int>(i));
                        wrong +=
                            !std::ranges::all_of(got.begin() + 8, got.end(), [&](std::byte b) { return b == value; });
                        wrong += got[0] != (i == 0 ? std::byte{0xFF} : value);
                    }
                    all_have_some.arrive_and_wait();
                    for (buffer& each : mine) pool.release(std::move(each));
                }
            });
        }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(granted, 0);
    EXPECT_GT(total_statistics().evictions, evictions);
    EXPECT_LE(memory_in(device).held, 16 * size);
}

}  // namespace
}  // namespace unibuf::test::eviction_test
