// unit/refused_tracking_linux_test.cpp: where the kernel's tracking is refused, whole or one way of it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>

#include "support/own_process.hpp"
#include "support/process_limits.hpp"
#include "support/refusals.hpp"
#include "support/sanitizers.hpp"
#include "tracking/watch.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::test::refused_tracking_linux_test {
namespace {

constexpr std::size_t page = 4096;
constexpr const char* variable = "UNIBUF_TEST_REFUSED";

std::ptrdiff_t open_files() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all)) - 1;  // it is open itself
}

/// Stores a byte through a pointer, and returns how many bytes the device needed then, which has to see it.
std::uint64_t moved_for_one_byte(buffer& of, std::byte* pointer, std::byte value) {
    pointer[17 * page] = value;
    const std::uint64_t before = of.statistics().bytes_moved();
    EXPECT_EQ(of.read(space("debug:0"))[17 * page], value);
    return of.statistics().bytes_moved() - before;
}

/// Runs a test in a process of its own, to which `what` is refused, where this one is refused nothing.
void run_refused(const char* what, const std::function<void()>& test) {
    if (!is_alone(variable, what)) {
        const tracking::mechanism found_by = tracking::about();
        if (!found_by.finds_writes || tracking::kernel::is_by_signal()) GTEST_SKIP() << found_by.description;
        return run_alone(variable, what);
    }
    ASSERT_TRUE(refuse(what)) << std::strerror(errno);
    test();
}

void expect_found() {
    buffer b(64 * page);
    std::byte* const pointer = b.host();
    moved_for_one_byte(b, pointer, std::byte{1});
    EXPECT_EQ(moved_for_one_byte(b, pointer, std::byte{2}), page) << tracking::about().description;
    EXPECT_TRUE(b.placement(host).writes_found);
}

void expect_not_found(const std::string& why) {
    const std::ptrdiff_t files = open_files();
    buffer b(64 * page);
    std::byte* const pointer = b.host();
    moved_for_one_byte(b, pointer, std::byte{1});
    EXPECT_EQ(moved_for_one_byte(b, pointer, std::byte{2}), b.size_bytes());
    EXPECT_EQ(open_files(), files) << "what was opened before the refusal is closed";
    const placement_info where = b.placement(host);
    EXPECT_FALSE(where.writes_found);
    const std::vector<device_info> all = devices();
    const auto at_host = std::ranges::find(all, "host", &device_info::name);
    ASSERT_NE(at_host, all.end());
    for (const std::string& said : {tracking::about().description, where.reason, at_host->description}) {
        EXPECT_NE(said.find(why), std::string::npos) << said;
    }
}

TEST(refused_tracking, is_had_from_the_device_where_the_call_is_refused) {
    if (::access("/dev/userfaultfd", R_OK | W_OK) != 0) GTEST_SKIP() << "/dev/userfaultfd: " << std::strerror(errno);
    run_refused("call", expect_found);
}

TEST(refused_tracking, is_had_from_the_call_where_there_is_no_device) { run_refused("device", expect_found); }

TEST(refused_tracking, names_both_ways_and_what_cures_it) {
    run_refused("call,device", [] {
        expect_not_found("userfaultfd is refused (Operation not permitted), and so is /dev/userfaultfd (");
        EXPECT_NE(tracking::about().description.find("--device /dev/userfaultfd"), std::string::npos);
    });
}

TEST(refused_tracking, names_the_kernel_that_is_needed) {
    run_refused("scan", [] { expect_not_found("PAGEMAP_SCAN is refused: "); });
}

TEST(refused_tracking, is_tried_again_in_a_forked_process_whose_parent_had_none) {
    if (has_undefined_behaviour_sanitizer) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
    if (!is_alone(variable, "forked")) {
        const tracking::mechanism found_by = tracking::about();
        if (!found_by.finds_writes || tracking::kernel::is_by_signal()) GTEST_SKIP() << found_by.description;
        return run_alone(variable, "forked");
    }
    {
        const no_more_of none(RLIMIT_NOFILE, descriptors_in_use());
        EXPECT_FALSE(tracking::about().finds_writes);
    }
    const pid_t child = ::fork();
    if (child == 0) {
        expect_found();
        ::_exit(testing::Test::HasFailure());
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(refused_tracking, is_tried_again_where_there_was_no_descriptor_left) {
    if (has_undefined_behaviour_sanitizer) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
    if (!is_alone(variable, "descriptors")) {
        const tracking::mechanism found_by = tracking::about();
        if (!found_by.finds_writes || tracking::kernel::is_by_signal()) GTEST_SKIP() << found_by.description;
        return run_alone(variable, "descriptors");
    }
    buffer first(64 * page), later(64 * page);
    {
        const no_more_of none(RLIMIT_NOFILE, descriptors_in_use());
        EXPECT_EQ(tracking::about().description, std::string("userfaultfd is refused: ") + std::strerror(EMFILE));
        std::byte* const pointer = first.host();
        for (const std::byte value : {std::byte{1}, std::byte{2}}) {  // later ones may be compared by digest
            EXPECT_EQ(moved_for_one_byte(first, pointer, value), first.size_bytes());
        }
    }
    std::byte* const pointer = later.host();
    moved_for_one_byte(later, pointer, std::byte{1});
    EXPECT_EQ(moved_for_one_byte(later, pointer, std::byte{2}), page) << tracking::about().description;
    EXPECT_FALSE(first.placement(host).writes_found);
    EXPECT_NE(first.placement(host).reason.find("no descriptor"), std::string::npos) << first.placement(host).reason;
    EXPECT_TRUE(later.placement(host).writes_found);
    EXPECT_NE(devices().front().description.find("are found by"), std::string::npos) << devices().front().description;
}

}  // namespace
}  // namespace unibuf::test::refused_tracking_linux_test
