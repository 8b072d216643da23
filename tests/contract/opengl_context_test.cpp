// tests/contract/opengl_context_test.cpp: running on unibuf's own context, waiting for it, and what is left of it in a
// child process and when the program ends.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "contract/opengl_fixture.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf::contract {
namespace {

using namespace std::chrono_literals;

/// These threads are joined when the static objects of a program go, which is after unibuf has stopped.
std::vector<std::jthread> joined_at_the_end;

/// Keeps the thread of a context busy until it is opened, or goes.
class gate {
public:
    explicit gate(space where) {
        thread_ = std::jthread([this, where] {
            opengl::run(where, [this] {
                std::unique_lock lock(mutex_);
                closed_ = true;
                changed_.notify_all();
                changed_.wait(lock, [this] { return opened_; });
            });
        });
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_; });
    }
    ~gate() { open(); }

    void open() {
        const std::lock_guard lock(mutex_);
        opened_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = false;
    bool opened_ = false;
    std::jthread thread_;
};

TEST_F(opengl_test, code_on_its_thread_shares_buffers_with_other_threads) {
    constexpr int rounds = 50;
    for (const bool first_access_inside : {false, true}) {
        unified_buffer<int> buffer({1 << 12});
        buffer.fill(1);
        if (!first_access_inside) buffer.read(where_).release();
        std::jthread other([&] {
            for (int round = 0; round < rounds; ++round) {
                buffer.read_write(host)[0] += 1;
                buffer.read_write(where_).release();
            }
        });
        for (int round = 0; round < rounds; ++round) {
            opengl::run(where_, [&] {
                EXPECT_EQ(buffer.read(host)[1], 1);
                buffer.read(where_).release();
            });
        }
        other.join();
        EXPECT_EQ(buffer.read(host)[0], 1 + rounds);
    }
}

TEST_F(opengl_test, runs_on_one_thread_for_all_and_passes_on_what_is_thrown) {
    std::atomic<int> inside = 0;
    std::atomic<int> done = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < 200; ++i) {
                    try {
                        opengl::run(where_, [&] {
                            EXPECT_EQ(++inside, 1);
                            EXPECT_TRUE(gl_device_of(where_).context().here());
                            --inside;
                            if (i % 10 == t) throw i;
                            ++done;
                        });
                    } catch (int thrown) {
                        EXPECT_EQ(thrown, i);
                        ++done;
                    }
                }
            });
        }
    }
    EXPECT_EQ(done, 8 * 200);
}

TEST_F(opengl_test, runs_within_a_run_and_moves_bytes_there) {
    const bytes content = noise(5000);
    opengl::run(where_, [&] {
        opengl::run(where_, [&] {
            const auto memory = device().allocate({.bytes = 5000});
            put(*memory, 0, content);
            EXPECT_TRUE(same(get(*memory, 0, 5000), content));
        });
        EXPECT_EQ(opengl::use_current_context(), where_);
    });
}

TEST_F(opengl_test, a_run_may_wait_for_work_that_is_queued_behind_it) {
    fence behind;
    std::atomic<bool> posted = false;
    std::jthread other;
    opengl::run(where_, [&] {
        other = std::jthread([&] {
            behind = device().record({});
            posted = true;
        });
        while (!posted) std::this_thread::yield();
        EXPECT_TRUE(behind.wait(60s));
    });
}

TEST_F(opengl_test, fences_keep_to_their_timeout) {
    std::optional<gate> busy(std::in_place, where_);
    const fence recorded = device().record({});
    EXPECT_FALSE(recorded.done());
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(recorded.wait(30ms));
    const auto waited = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(waited, 30ms);
    EXPECT_LT(waited, 10s);
    busy->open();
    EXPECT_TRUE(recorded.wait(60s));
    EXPECT_TRUE(recorded.done());
}

TEST_F(opengl_test, accesses_that_name_its_queue_do_not_stop_the_host) {
    const access_options on_queue{.timeout = 60s, .on = opengl::queue_of(where_)};
    for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::coherent}) {
        unified_buffer<int> numbers({1000}, {.hint = hint, .device = where_});
        numbers.fill(1);
        numbers.read(where_);  // allocates, which the context's thread has to do
        for (int& each : numbers.write(host)) each = 2;
        const std::uint64_t waits = numbers.statistics().fence_waits;
        {
            const gate busy(where_);
            for (int i = 0; i < 3; ++i) {
                numbers.read(where_, on_queue);
                numbers.write(where_, on_queue);
                numbers.read_write(where_, on_queue);
            }
            EXPECT_EQ(numbers.statistics().fence_waits, waits);
        }
        EXPECT_EQ(numbers.read(host)[999], 2);
    }
}

TEST_F(opengl_test, many_fences_may_be_dropped_unwaited) {
    const auto memory = device().allocate({.bytes = 64});
    const bytes content = noise(64);
    {
        const gate busy(where_);
        for (int i = 0; i < 20000; ++i) memory->write(0, content, {});
    }
    EXPECT_TRUE(device().record({}).wait(60s));
    EXPECT_TRUE(same(get(*memory, 0, 64), content));
}

TEST_F(opengl_test, a_child_of_its_own_thread_is_told_too) {
    const auto memory = device().allocate({.bytes = 64});
    int status = 0;
    opengl::run(where_, [&] {
        const ::pid_t child = ::fork();
        if (child == 0) {
            error_code told = error_code::timeout;
            try {
                memory->fill(0, 64, bytes(1), {}).wait();
            } catch (const error& failure) {
                told = failure.code();
            }
            std::_Exit(told == error_code::device_lost ? 0 : 1);
        }
        ::waitpid(child, &status, 0);
    });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(opengl_end_of_program, leaves_nobody_waiting_for_a_job_that_is_dropped) {
    try {
        [[maybe_unused]] const space known("opengl:0");
    } catch (const error& missing) {
        GTEST_SKIP() << missing.what();
    }
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";  // runs in a process of its own
    const auto end_while_jobs_wait = [] {
        ::alarm(60);
        const space where("opengl:0");
        std::atomic<int> waiting = 0;
        static std::atomic<bool> begun = false;
        joined_at_the_end.emplace_back([where] {
            opengl::run(where, [] {
                begun = true;
                std::this_thread::sleep_for(100ms);
            });
        });
        while (!begun) std::this_thread::yield();
        const auto told = [](const std::function<void()>& call) {
            if (code_of(call) != error_code::device_lost) std::_Exit(2);
        };
        joined_at_the_end.emplace_back([&, where] {
            ++waiting;
            told([where] { opengl::run(where, [] {}); });
        });
        joined_at_the_end.emplace_back([&, where] {
            const fence behind = backends::device_of(where).record({});
            ++waiting;
            told([behind] { behind.wait(); });
        });
        while (waiting != 2) std::this_thread::yield();
        std::exit(0);
    };
    EXPECT_EXIT(end_while_jobs_wait(), ::testing::ExitedWithCode(0), "");
}

TEST_F(opengl_test, knows_its_own_spaces_only) {
    EXPECT_EQ(code_of([&] { opengl::run(host, [] {}); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { opengl::function(host, "glFinish"); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { opengl::name(native_memory{}); }), error_code::invalid_argument);
    EXPECT_NE(opengl::function(where_, "glFinish"), nullptr);
}

TEST_F(opengl_test, a_child_process_is_told_and_ends_well) {
    const auto memory = device().allocate({.bytes = 64});
    const fence before = device().record({});
    before.wait();
    const ::pid_t child = ::fork();
    if (child == 0) {
        bool told = before.done();
        try {
            memory->fill(0, 64, bytes(1), {}).wait();
            told = false;
        } catch (const error& failure) {
            told = told && failure.code() == error_code::device_lost;
        }
        std::_Exit(told ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    put(*memory, 0, noise(64));
}

}  // namespace
}  // namespace unibuf::contract
