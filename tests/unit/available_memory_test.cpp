// tests/unit/available_memory_test.cpp: what the limits of cgroups leave of a machine, read from made-up trees.
#include "backends/host/available_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

#include "unibuf/unibuf.hpp"

namespace unibuf::test::available_memory_test {
namespace {

using backends::available;

constexpr memory_info machine{.total = 16000, .free = 9000};

class cgroups : public testing::Test {
protected:
    cgroups() {
        std::string name = (std::filesystem::temp_directory_path() / "unibuf-test-XXXXXX").string();
        if (!::mkdtemp(name.data())) ADD_FAILURE() << "no folder " << name;
        root_ = name;
    }
    ~cgroups() override {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    void put(const std::string& file, std::string_view content) const {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << content;
    }
    void this_process_is_in(std::string_view groups) const { put("proc/self/cgroup", groups); }
    void v2(const std::string& group, const std::string& file, std::string_view content) const {
        put("sys/fs/cgroup" + group + "/" + file, content);
    }
    void v1(const std::string& group, const std::string& file, std::string_view content) const {
        put("sys/fs/cgroup/memory" + group + "/" + file, content);
    }

    void expect(std::uint64_t total, std::uint64_t free, std::string_view cgroup) const {
        const available got = backends::within_cgroups(machine, root_);
        EXPECT_EQ(got.memory.total, total);
        EXPECT_EQ(got.memory.free, free);
        EXPECT_EQ(got.cgroup, cgroup);
    }
    void expect_no_limit() const { expect(16000, 9000, ""); }

    std::filesystem::path root_;
};

TEST_F(cgroups, limit_nothing_where_there_are_none) {
    expect_no_limit();
    this_process_is_in("");
    expect_no_limit();
    this_process_is_in("0::/a/b\n");
    expect_no_limit();
}

/// Each row has what a cgroup of version 2 says of its memory, and what is left of the machine's memory.
TEST_F(cgroups, of_version_2_leave_what_their_files_say) {
    constexpr std::string_view none = "max\n";
    constexpr std::string_view cache = "anon 1\nactive_file 700\ninactive_file 1500\ntotal_inactive_file 9\n";
    struct row {
        const char* what;
        std::string_view max, high, current, stat;  // content of the files; empty where there is no such file
        std::uint64_t total, free;
        std::string_view cgroup;
    };
    for (const row& each : {
             row{"no limit", none, none, "123\n", "", 16000, 9000, ""},
             row{"more than the machine has", "16000\n", "", "0\n", "", 16000, 9000, ""},
             row{"a limit", "5000\n", "", "2000\n", "", 5000, 3000, "/a"},
             row{"more free than in the machine", "15000\n", "", "1000\n", "", 15000, 9000, "/a"},
             row{"inactive cache is free", "5000\n", "", "4000\n", cache, 5000, 2500, "/a"},
             row{"counted a moment later", "5000\n", "", "4000\n", "inactive_file 4001\n", 5000, 5000, "/a"},
             row{"above the limit", "5000\n", "", "5001\n", "", 5000, 0, "/a"},
             row{"far above it", "5000\n", "", "18446744073709551615\n", "", 5000, 0, "/a"},
             row{"slowed down before", "8000\n", "3000\n", "1000\n", "", 8000, 2000, "/a"},
             row{"slowed down alone", none, "3000\n", "1000\n", "", 16000, 2000, ""},
             row{"slowed down behind the limit", "8000\n", "9000\n", "1000\n", "", 8000, 7000, "/a"},
             row{"no count", "5000\n", "", "", "", 5000, 5000, "/a"},
         }) {
        SCOPED_TRACE(each.what);
        this_process_is_in("0::/a\n");
        for (const auto& [file, content] :
             {std::pair{"memory.max", each.max}, std::pair{"memory.high", each.high},
              std::pair{"memory.current", each.current}, std::pair{"memory.stat", each.stat}}) {
            std::filesystem::remove(root_ / "sys/fs/cgroup/a" / file);
            if (!content.empty()) v2("/a", file, content);
        }
        expect(each.total, each.free, each.cgroup);
    }
}

TEST_F(cgroups, leave_a_driver_what_they_have_and_may_swap) {
    const auto left = [&] { return backends::host_memory_left(root_); };
    EXPECT_EQ(left(), std::numeric_limits<std::uint64_t>::max());
    put("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 5000 kB\nSwapFree: 1000 kB\n");
    EXPECT_EQ(left(), 6000u * 1024);
    this_process_is_in("0::/system.slice/job\n");
    v2("/system.slice/job", "memory.max", "9000\n");
    v2("/system.slice/job", "memory.current", "8000\n");
    EXPECT_EQ(left(), 1000u);
    v2("/system.slice/job", "memory.stat", "anon 10\ninactive_file 5000\n");
    EXPECT_EQ(left(), 6000u);
}

TEST_F(cgroups, above_limit_those_within) {
    this_process_is_in("0::/a/b/c\n");
    v2("/a/b/c", "memory.max", "6000\n");
    v2("/a/b/c", "memory.current", "100\n");
    v2("/a/b", "memory.max", "max\n");
    v2("/a", "memory.max", "4000\n");
    v2("/a", "memory.current", "3000\n");
    expect(4000, 1000, "/a");
    v2("/a", "memory.max", "7000\n");  // less is free here than further down, although the limit is higher
    v2("/a", "memory.current", "6500\n");
    expect(6000, 500, "/a/b/c");
}

TEST_F(cgroups, beside_do_not_count) {
    this_process_is_in("0::/a\n");
    v2("/b", "memory.max", "1000\n");
    v2("/a/below", "memory.max", "1000\n");
    expect_no_limit();
}

TEST_F(cgroups, that_make_no_sense_limit_nothing) {
    for (const std::string_view content :
         {"", "\n", "-1\n", "5000x\n", "0x10\n", "5000 6000\n", "99999999999999999999\n", "\xff\xfe", "maximum\n"}) {
        SCOPED_TRACE(content);
        this_process_is_in("0::/a\n");
        v2("/a", "memory.max", content);
        v2("/a", "memory.high", content);
        v2("/a", "memory.current", content);
        v2("/a", "memory.stat", content);
        expect_no_limit();
    }
    v2("/a", "memory.max", "5000");
    v2("/a", "memory.current", "1000");
    v2("/a", "memory.stat", "inactive_file\n");
    expect(5000, 4000, "/a");
    for (const std::string_view groups :
         {"garbage", "::", "0:", "0::a/..", "1:name=memory:/a\n", "2:memoryless:/a\n"}) {
        SCOPED_TRACE(groups);
        this_process_is_in(groups);
        expect_no_limit();
    }
}

TEST_F(cgroups, of_version_1_limit_too) {
    this_process_is_in("9:name=systemd:/\n5:cpu,memory:/a:b/c\n1:cpuset:/\n0::/\n");
    v1("/a:b/c", "memory.limit_in_bytes", "9223372036854771712\n");  // no limit
    v1("/a:b/c", "memory.usage_in_bytes", "200\n");
    v1("/a:b", "memory.limit_in_bytes", "5000\n");
    v1("/a:b", "memory.usage_in_bytes", "4000\n");
    v1("/a:b", "memory.stat", "inactive_file 1\nhierarchical_memory_limit 5000\ntotal_inactive_file 500\n");
    v2("", "memory.max", "1\n");  // the memory is under version 1, not under version 2
    expect(5000, 1500, "/a:b");
}

TEST_F(cgroups, whose_path_is_the_machines_are_found_where_they_are_mounted) {
    for (const std::string_view groups : {"0::/docker/f00\n", "0::/../f00\n", "0::/a (deleted)\n", "0::a\n", "0::\n"}) {
        SCOPED_TRACE(groups);
        this_process_is_in(groups);
        v2("", "memory.max", "5000\n");
        v2("", "memory.current", "1000\n");
        expect(5000, 4000, "/");
    }
    put("sys/fs/f00/memory.max", "1\n");
    this_process_is_in("0::/../f00\n");
    expect(5000, 4000, "/");
}

TEST_F(cgroups, leave_unsaid_what_the_machine_does_not_say) {
    this_process_is_in("0::/a\n");
    v2("/a", "memory.max", "5000\n");
    const available got = backends::within_cgroups({.total = 16000, .free = {}}, root_);
    EXPECT_EQ(got.memory.total, 5000u);
    EXPECT_EQ(got.memory.free, std::nullopt);
}

TEST(available_memory, is_what_the_host_says) {
    const available now = backends::available_memory();
    EXPECT_GT(now.memory.total, 0u);
    EXPECT_LE(now.memory.free.value_or(0), now.memory.total);
    EXPECT_EQ(memory_of(host).total, now.memory.total);
    EXPECT_EQ(get_accelerator(host).properties().memory_bytes, now.memory.total);
}

}  // namespace
}  // namespace unibuf::test::available_memory_test
