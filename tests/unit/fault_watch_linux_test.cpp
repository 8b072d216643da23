// tests/unit/fault_watch_linux_test.cpp: writes that are found by a handler of SIGSEGV, beside whatever else there is
// in a process. Each test has one of its own, in which the program has asked for that.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "support/own_process.hpp"
#include "support/sanitizers.hpp"
#include "system/pages.hpp"
#include "tracking/kernel.hpp"
#include "unit/common.hpp"

namespace unibuf::test::fault_watch_linux_test {
namespace {

const std::size_t page = system::page_size();
const space device("debug:0");

void run_by_signal(const std::function<void()>& test) {
    if (has_thread_sanitizer) GTEST_SKIP() << "it puts off signals, also those of faults";
    if (!is_alone("UNIBUF_TRACKING", "signal")) return run_alone("UNIBUF_TRACKING", "signal");
    ASSERT_TRUE(tracking::kernel::is_by_signal());
    test();
}

/// A buffer whose pages are watched: each of them is current at the device, too.
class a_buffer {
public:
    explicit a_buffer(std::size_t pages) : of_(pages * page) {
        data = of_.host();
        std::memset(data, 1, of_.size_bytes());
        of_.read(device).release();
    }

    /// Returns how many bytes a read at the device moves, after which it has what the host has.
    std::uint64_t found() {
        const std::uint64_t before = of_.statistics().bytes_moved();
        const bytes at_device = content(of_, device);
        EXPECT_TRUE(same(at_device, bytes(data, data + of_.size_bytes())));
        return of_.statistics().bytes_moved() - before;
    }

    buffer& of() { return of_; }
    std::byte* data = nullptr;

private:
    buffer of_;
};

/// A page of the program's own, which it makes readable, and writable when somebody has written it.
std::byte* own_page = nullptr;
volatile int own_faults = 0;

void protect_own_page() {
    if (!own_page) {
        void* const found = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(found, MAP_FAILED);
        own_page = static_cast<std::byte*>(found);
    }
    ASSERT_EQ(::mprotect(own_page, page, PROT_READ), 0);
}

void handle_own_fault(int, siginfo_t* information, void*) {
    if (information->si_addr != own_page) ::_exit(99);
    own_faults = own_faults + 1;
    ::mprotect(own_page, page, PROT_READ | PROT_WRITE);
}

void set_own_handler() {
    struct ::sigaction wanted{};
    wanted.sa_sigaction = handle_own_fault;
    wanted.sa_flags = SA_SIGINFO;
    ASSERT_EQ(::sigaction(SIGSEGV, &wanted, nullptr), 0);
}

/// Returns how a forked child ends that does this: its status, or the number of the signal and 1000.
int end_of_child(const std::function<void()>& does) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        does();
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) + 1000 : WEXITSTATUS(status);
}

TEST(by_signal, finds_each_page_that_is_written_and_no_other) {
    run_by_signal([] {
        a_buffer tried(64);
        tried.data[5 * page] = std::byte{2};
        tried.data[9 * page - 1] = std::byte{3};
        set_transfer_cost(device, {});
        EXPECT_EQ(tried.found(), 2 * page);
        EXPECT_EQ(tried.found(), 0U);
        tried.data[5 * page] = std::byte{4};
        EXPECT_EQ(tried.found(), page);
    });
}

TEST(by_signal, takes_a_store_beside_what_a_device_has_for_none_there) {
    run_by_signal([] {
        a_buffer tried(256);
        const std::size_t half = 128 * page;
        tried.of().view(half, half).mark_dirty(device);
        std::memset(tried.data, 2, half);
        EXPECT_EQ(content(tried.of())[half], std::byte{1}) << "no conflict";
        EXPECT_EQ(tried.of().read(device)[half - 1], std::byte{2});
        std::memset(tried.data, 3, 20 * page);
        EXPECT_LT(tried.found(), 256 * page);
        std::memset(tried.data, 4, 256 * page);
        EXPECT_EQ(tried.found(), 256 * page);
    });
}

TEST(by_signal, leaves_a_handler_of_the_program_its_own_faults) {
    run_by_signal([] {
        set_own_handler();
        a_buffer tried(8);
        protect_own_page();
        *own_page = std::byte{1};
        tried.data[page] = std::byte{2};
        EXPECT_EQ(own_faults, 1);
        EXPECT_EQ(tried.found(), page);
    });
}

TEST(by_signal, comes_first_again_where_the_program_sets_a_handler_later) {
    run_by_signal([] {
        a_buffer tried(8);
        set_own_handler();
        EXPECT_EQ(tried.found(), 0U);  // an access of the buffer
        tried.data[page] = std::byte{2};
        protect_own_page();
        *own_page = std::byte{1};
        EXPECT_EQ(own_faults, 1);
        EXPECT_EQ(tried.found(), page);
    });
}

TEST(by_signal, lets_a_fault_of_nobody_end_the_process) {
    run_by_signal([] {
        if (has_address_sanitizer || has_thread_sanitizer) GTEST_SKIP() << "it reports the fault itself";
        const a_buffer tried(8);
        protect_own_page();
        EXPECT_EQ(end_of_child([] { *own_page = std::byte{1}; }), SIGSEGV + 1000);
        EXPECT_EQ(end_of_child([] { *static_cast<volatile int*>(nullptr) = 1; }), SIGSEGV + 1000);
        EXPECT_EQ(end_of_child([] { ::raise(SIGSEGV); }), SIGSEGV + 1000) << "a signal that was sent";
    });
}

TEST(by_signal, asks_a_handler_that_is_for_one_fault_once) {
    run_by_signal([] {
        if (has_address_sanitizer || has_thread_sanitizer) GTEST_SKIP() << "it reports the fault itself";
        protect_own_page();
        const auto faults_twice = [](bool has_information) {
            struct sigaction once{};
            once.sa_flags = static_cast<int>(SA_RESETHAND) | (has_information ? SA_SIGINFO : 0);
            static volatile int calls;
            calls = 0;
            const auto count = +[](int, siginfo_t*, void*) {
                calls = calls + 1;
                if (calls > 1) ::_exit(calls);
            };
            once.sa_sigaction = count;
            ::sigaction(SIGSEGV, &once, nullptr);
            const a_buffer tried(8);
            *own_page = std::byte{1};
        };
        EXPECT_EQ(end_of_child([&] { faults_twice(true); }), SIGSEGV + 1000);
        EXPECT_EQ(end_of_child([&] { faults_twice(false); }), SIGSEGV + 1000);
    });
}

TEST(by_signal, leaves_code_of_the_program_alone) {
    run_by_signal([] {
        void* const pages =
            ::mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) GTEST_SKIP() << "the system lets no page be written and executed";
        const std::span memory(static_cast<std::byte*>(pages), 8 * page);
        constexpr std::size_t code = 64;  // sanitizers read what lies before a function
        memory[code] = std::byte{0xC3};   // a return of x86-64
        const buffer over = buffer::over(memory, nullptr);
        over.read(device).release();
        EXPECT_FALSE(over.placement(host).writes_found);
        memory[page] = std::byte{5};
        EXPECT_TRUE(same(content(over, device), bytes(memory.begin(), memory.end())));
#if defined(__x86_64__)
        reinterpret_cast<void (*)()>(&memory[code])();
#endif
    });
}

TEST(by_signal, hangs_on_no_page_that_the_program_protects_itself) {
    run_by_signal([] {
        if (has_address_sanitizer || has_thread_sanitizer) GTEST_SKIP() << "it reports the fault itself";
        EXPECT_EQ(end_of_child([] {
                      a_buffer tried(8);
                      tried.data[page] = std::byte{2};  // can be written now
                      ::mprotect(tried.data, 8 * page, PROT_READ);
                      tried.data[page] = std::byte{3};
                  }),
                  SIGSEGV + 1000);
    });
}

TEST(by_signal, stops_no_child_from_writing) {
    run_by_signal([] {
        a_buffer tried(8);
        EXPECT_EQ(end_of_child([&] {
                      tried.data[page] = std::byte{2};
                      if (content(tried.of(), device)[page] != std::byte{2}) ::_exit(1);
                      a_buffer own(8);
                      own.data[page] = std::byte{3};
                      if (content(own.of(), device)[page] != std::byte{3}) ::_exit(2);
                  }),
                  0);
        EXPECT_EQ(tried.found(), 0U);
    });
}

TEST(by_signal, has_system_calls_write_what_is_leased_and_refuses_them_elsewhere) {
    run_by_signal([] {
        a_buffer tried(8);
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        const bytes sent = noise(3 * page);
        ASSERT_EQ(::write(ends[1], sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
        errno = 0;
        EXPECT_EQ(::read(ends[0], tried.data + page, sent.size()), -1);
        EXPECT_EQ(errno, EFAULT);
        {
            const auto lease = tried.of().write(host, {.offset = page / 2, .count = sent.size()});
            EXPECT_EQ(::read(ends[0], lease.data(), sent.size()), static_cast<ssize_t>(sent.size()));
        }
        EXPECT_EQ(tried.found(), 4 * page);
        EXPECT_TRUE(same(bytes(tried.data + page / 2, tried.data + page / 2 + sent.size()), sent));
        ::close(ends[0]);
        ::close(ends[1]);
    });
}

/// What is looked at or moved meanwhile, also bytes of the same page, takes nothing from a lease.
TEST(by_signal, lets_system_calls_write_a_lease_until_it_ends) {
    run_by_signal([] {
        a_buffer tried(8);
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        const std::size_t leased = 2 * page + page / 4;
        const bytes sent = noise(leased);
        const auto receive = [&](std::byte* to) {
            ASSERT_EQ(::write(ends[1], sent.data(), leased), static_cast<ssize_t>(leased));
            EXPECT_EQ(::read(ends[0], to, leased), static_cast<ssize_t>(leased));
        };
        {
            const auto lease = tried.of().write(host, {.offset = 0, .count = leased});
            const access_options behind{.offset = leased, .count = page};
            EXPECT_NE(tried.of().state(), buffer_state::synchronized);
            receive(lease.data());
            tried.of().read(host, behind).release();
            receive(lease.data());
            tried.of().read(device, behind).release();
            receive(lease.data());
            tried.of().view(leased, page).mark_dirty(device);
            tried.of().read(host, behind).release();
            receive(lease.data());
        }
        tried.found();
        errno = 0;
        ASSERT_EQ(::write(ends[1], sent.data(), leased), static_cast<ssize_t>(leased));
        EXPECT_EQ(::read(ends[0], tried.data, leased), -1) << "the lease has ended";
        ::close(ends[0]);
        ::close(ends[1]);
    });
}

/// Rows of a few bytes, of which hundreds lie in a page, open it once, and close it once.
TEST(by_signal, opens_a_page_once_for_all_rows_in_it) {
    run_by_signal([] {
        a_buffer tried(8);
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        {
            const auto lease = tried.of().write(host, {.offset = 0, .count = 8});
            buffer column = tried.of().view(shape{page, 8}, 1, std::array{slice{1, page}, slice{2, 3}});
            for (int round = 0; round != 2; ++round) {
                column.mark_dirty(device);  // what the host has of it is poisoned
                tried.of().view(24, 1).read(device).release();
            }
            ASSERT_EQ(::write(ends[1], "12345678", 8), 8);
            EXPECT_EQ(::read(ends[0], lease.data(), 8), 8) << std::strerror(errno);
        }
        tried.of().read(host).release();
        tried.of().read(device).release();
        tried.of().mark_dirty(device);
        EXPECT_NO_THROW(tried.of().read(host).release()) << "nobody has written it at the host";
        ::close(ends[0]);
        ::close(ends[1]);
    });
}

/// More views than a byte counts lie on one page.
TEST(by_signal, lets_system_calls_write_each_of_many_io_views) {
    run_by_signal([] {
        a_buffer tried(8);
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        std::vector<unibuf::host_view<std::byte>> views;
        for (std::size_t i = 0; i != 300; ++i) {
            views.push_back(tried.of().io_view(access::read_write, 8 * i, 8));
        }
        while (views.size() > 40) views.pop_back();
        for (int look = 0; look != 2; ++look) tried.of().read(device).release();
        ASSERT_EQ(::write(ends[1], "12345678", 8), 8);
        EXPECT_EQ(::read(ends[0], views[39].data(), 8), 8) << std::strerror(errno);
        EXPECT_EQ(tried.of().view(8 * 39, 1).read(device)[0], std::byte{'1'});
        ::close(ends[0]);
        ::close(ends[1]);
    });
}

TEST(by_signal, takes_a_store_that_threads_make_together_for_no_fault_of_the_program) {
    run_by_signal([] {
        a_buffer tried(8);
        auto& counter = *reinterpret_cast<std::atomic<int>*>(tried.data + page);
        counter = 0;
        constexpr int rounds = 3000;
        const auto count = [&] {
            for (int i = 0; i < rounds; ++i) ++counter;
        };
        {
            const std::jthread one(count);
            const std::jthread two(count);
            const std::jthread three(count);
            for (int i = 0; i < 300; ++i) tried.of().read(device).release();
        }
        EXPECT_EQ(counter, 3 * rounds);
        tried.found();
    });
}

TEST(by_signal, lets_a_process_fork_while_others_begin_to_watch) {
    run_by_signal([] {
        if (has_thread_sanitizer) GTEST_SKIP() << "it follows no fork of a process with threads";
        std::atomic<bool> done = false;
        const std::jthread other([&] {
            while (!done) {
                a_buffer own(16);
                own.data[page] = std::byte{2};
                own.found();
            }
        });
        for (int i = 0; i < 100; ++i) EXPECT_EQ(end_of_child([] {}), 0);
        done = true;
    });
}

/// What such a handler is told to do: call the one that was there.
struct ::sigaction handler_before_own;
volatile int calls_of_own = 0;

void handle_and_call_the_one_before(int number, siginfo_t* information, void* context) {
    calls_of_own = calls_of_own + 1;
    if (calls_of_own > 20) ::_exit(98);
    if (information->si_addr == own_page) {
        ::mprotect(own_page, page, PROT_READ | PROT_WRITE);
    } else {
        handler_before_own.sa_sigaction(number, information, context);
    }
}

TEST(by_signal, ends_in_no_circle_with_a_handler_that_calls_the_one_before) {
    run_by_signal([] {
        if (has_address_sanitizer || has_thread_sanitizer) GTEST_SKIP() << "it reports the fault itself";
        a_buffer tried(8);
        struct ::sigaction wanted{};
        wanted.sa_sigaction = handle_and_call_the_one_before;
        wanted.sa_flags = SA_SIGINFO;
        ASSERT_EQ(::sigaction(SIGSEGV, &wanted, &handler_before_own), 0);
        tried.data[page] = std::byte{2};
        EXPECT_EQ(calls_of_own, 1) << "it comes first, and calls unibuf's";
        EXPECT_EQ(tried.found(), page);
        tried.data[page] = std::byte{3};
        EXPECT_EQ(calls_of_own, 1) << "unibuf's is first again";
        protect_own_page();
        *own_page = std::byte{1};
        EXPECT_EQ(calls_of_own, 2);
        EXPECT_EQ(end_of_child([] { *static_cast<volatile int*>(nullptr) = 1; }), SIGSEGV + 1000);
    });
}

TEST(by_signal, says_so_and_what_system_calls_need) {
    run_by_signal([] {
        a_buffer tried(8);
        EXPECT_TRUE(tried.of().placement(host).writes_found);
        std::string about;
        for (const device_info& each : devices()) {
            if (each.name == "host") about = each.description;
        }
        EXPECT_NE(about.find("UNIBUF_TRACKING"), std::string::npos) << about;
        EXPECT_NE(about.find("take a lease for writing at the host"), std::string::npos) << about;
    });
}

std::size_t mappings_of_process() {
    std::ifstream maps("/proc/self/maps");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

/// Each page beside one of the other protection would be a mapping of its own, of which a process has some 65,000. The
/// program needs some of them.
TEST(by_signal, takes_a_quarter_of_the_mappings_of_a_process_for_stores) {
    run_by_signal([] {
        std::size_t most = 65'530;
        std::ifstream("/proc/sys/vm/max_map_count") >> most;
        if (most > 200'000) GTEST_SKIP() << "the test would need too much memory";
        const std::size_t pages = most / 2 + 10'000;
        const std::size_t before = mappings_of_process();
        {
            a_buffer tried(pages);
            for (int round = 0; round < 2; ++round) {
                for (std::size_t each = 0; each < pages; each += 2) tried.data[each * page] ^= std::byte{2};
                EXPECT_LE(mappings_of_process(), before + most / 4 + 100);
            }
            EXPECT_GE(tried.found(), pages / 2 * page);
        }
        a_buffer next(8);
        next.data[page] = std::byte{2};
        EXPECT_EQ(next.found(), page) << "the mappings are free again";
    });
}

/// What the program does to the pages behind the handler's back is found by nobody, until it says so: then all is as
/// it was.
TEST(by_signal, watches_again_what_the_program_has_made_writable_once_it_is_marked) {
    constexpr std::size_t pages = 64;
    const auto tricks = std::to_array<std::function<void(std::byte*)>>({
        [](std::byte* at) { ::mprotect(at, pages * page, PROT_READ | PROT_WRITE); },
        [](std::byte* at) {
            ::mprotect(at, pages * page, PROT_READ);
            ::mprotect(at, pages * page, PROT_READ | PROT_WRITE);
        },
        [](std::byte* at) {
            ::mmap(at, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        },
        [](std::byte* at) {
            ::mmap(at + 2 * page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        },
        [](std::byte* at) { ::madvise(at + 2 * page, page, MADV_DONTNEED); },
    });
    run_by_signal([&] {
        set_transfer_cost(device, {});
        for (const auto& trick : tricks) {
            for (const bool is_part : {false, true}) {
                a_buffer tried(pages);
                trick(tried.data);
                tried.data[2 * page] = std::byte{3};
                is_part ? tried.of().view(2 * page, 1).mark_host_dirty() : tried.of().mark_host_dirty();
                if (!is_part) tried.found();
                for (const int value : {4, 5}) {
                    tried.data[2 * page] = std::byte(value);
                    EXPECT_EQ(tried.of().read(device)[2 * page], std::byte(value));
                }
            }
        }
    });
}

}  // namespace
}  // namespace unibuf::test::fault_watch_linux_test
