// tests/unit/tracking_process_linux_test.cpp: who else there is: watches, userfaultfds of the program's, forked
// children.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "process/forks.hpp"
#include "support/own_process.hpp"
#include "tracking_pages.hpp"
#include "unibuf/error.hpp"

namespace unibuf::tracking::test::tracking_process_linux_test {
namespace {

class tracking_process : public page_watch {};

TEST_F(tracking_process, two_watches_do_not_disturb_each_other) {
    const mapping memory(4 * page);
    const auto other = make_watch(memory.span(), own_pages::all);
    ASSERT_TRUE(other);
    by_->arm(whole());
    other->arm({0, 4 * page});
    memory_.data()[0] = std::byte{1};
    EXPECT_EQ(scan(*other, {0, 4 * page}), ranges{});
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(0, 1)});
}

/// One look at a page would hide from the other that it was written.
TEST_F(tracking_process, a_second_watch_of_the_same_pages_is_refused) {
    EXPECT_EQ(make_watch(memory_.span(), own_pages::all), nullptr);
    EXPECT_EQ(make_watch(memory_.span().subspan(page, 8 * page), own_pages::all), nullptr);
    by_.reset();
    EXPECT_NE(make_watch(memory_.span(), own_pages::all), nullptr);
}

/// A userfaultfd that the program has opened itself.
class faults_of_the_program {
public:
    faults_of_the_program() {
        uffdio_api version{.api = UFFD_API, .features = 0, .ioctls = 0};
        if (faults_ < 0 || ::ioctl(faults_, UFFDIO_API, &version) != 0) std::abort();
    }
    ~faults_of_the_program() { ::close(faults_); }
    faults_of_the_program(const faults_of_the_program&) = delete;
    faults_of_the_program& operator=(const faults_of_the_program&) = delete;

    bool add(std::byte* first) const {
        uffdio_register wanted{};
        wanted.range = {.start = reinterpret_cast<std::uintptr_t>(first), .len = page};
        wanted.mode = UFFDIO_REGISTER_MODE_MISSING;
        return ::ioctl(faults_, UFFDIO_REGISTER, &wanted) == 0;
    }

private:
    int faults_ = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | 1));
};

TEST_F(tracking_process, a_watch_is_refused_where_the_program_handles_faults) {
    if (kernel::is_by_signal()) GTEST_SKIP() << "a handler finds writes here, and no userfaultfd";
    const mapping memory(4 * page);
    {
        const faults_of_the_program own;
        ASSERT_TRUE(own.add(memory.data() + page));
        EXPECT_EQ(make_watch(memory.span(), own_pages::all), nullptr);
    }
    EXPECT_NE(make_watch(memory.span(), own_pages::all), nullptr);
}

TEST_F(tracking_process, the_program_may_handle_faults_where_a_watch_has_ended) {
    if (kernel::is_by_signal()) GTEST_SKIP() << "a handler finds writes here, and no userfaultfd";
    const faults_of_the_program own;
    EXPECT_FALSE(own.add(memory_.data() + page));
    by_.reset();
    EXPECT_TRUE(own.add(memory_.data() + page));
}

TEST_F(tracking_process, memory_can_be_watched_again_after_its_end) {
    for (int i = 0; i < 3; ++i) {
        by_.reset();
        memory_.data()[page] = std::byte{1};  // costs nothing, and nobody is told
        by_ = make_watch(memory_.span(), own_pages::all);
        ASSERT_TRUE(by_);
        by_->arm(whole());
        EXPECT_EQ(scan(*by_, whole()), ranges{});
    }
}

TEST_F(tracking_process, throws_in_a_forked_child) {
    process::forks();  // forks are counted from now on
    by_->arm(whole());
    const pid_t child = ::fork();
    if (child == 0) {
        const auto refused = [](auto call) {
            try {
                call();
            } catch (const error& thrown) {
                return thrown.code() == error_code::unsupported;
            }
            return false;
        };
        const mapping memory(2 * page);  // less is compared, which works in a child, too
        int failed = 0;
        failed |= refused([&] { scan(*by_, whole()); }) ? 0 : 1;
        failed |= refused([&] { by_->arm(whole()); }) ? 0 : 2;
        failed |= refused([&] { by_->any_written(whole()); }) ? 0 : 4;
        failed |= make_watch(memory.span(), own_pages::all) ? 8 : 0;
        memory_.data()[0] = std::byte{1};  // the pages are plain ones
        by_.reset();
        ::_exit(failed);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    memory_.data()[page] = std::byte{1};
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(1, 1)});
}

TEST(tracking, says_so_where_the_environment_asks_for_what_there_is_not) {
    if (!unibuf::test::is_alone("UNIBUF_TRACKING", "signals")) {
        return unibuf::test::run_alone("UNIBUF_TRACKING", "signals");
    }
    EXPECT_NE(about().description.find("UNIBUF_TRACKING is off, signal or digest: 'signals' changes nothing"),
              std::string::npos)
        << about().description;
}

TEST(tracking, is_off_where_the_environment_says_so) {
    if (!unibuf::test::is_alone("UNIBUF_TRACKING", "off")) return unibuf::test::run_alone("UNIBUF_TRACKING", "off");
    const mapping memory(page);
    EXPECT_FALSE(about().finds_writes);
    EXPECT_EQ(about().description, "UNIBUF_TRACKING is off");
    EXPECT_EQ(make_watch(memory.span(), own_pages::all), nullptr);
    EXPECT_EQ(make_watch(memory.span().first(100), own_pages::none), nullptr) << "nothing is compared either";
}

}  // namespace
}  // namespace unibuf::tracking::test::tracking_process_linux_test
