// tests/contract/cuda/missing_test.cpp: other drivers, other devices: what a process finds at its start.
#include <unistd.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/program.hpp"
#include "contract/cuda/fixture.hpp"

namespace unibuf::contract::missing_test {
namespace {

/// Prints what is there, for other tests, which start it in a process.
TEST(cuda_probe, prints_what_is_there) {
    std::string names;
    for (const device_info& each : devices()) {
        if (each.name.starts_with("cuda")) {
            names += fmt::format("[{}|{}|{}{}{}]", each.name, each.available ? each.description : each.reason,
                                 each.own_memory ? "own " : "", each.aliases_host ? "aliases " : "",
                                 each.asynchronous ? "asynchronous" : "");
        }
    }
    std::cout << "found " << names << " default " << default_device().name() << std::endl;
}

/// Returns what cuda_probe prints with these variables set.
std::string found_with(std::vector<std::pair<std::string, std::string>> variables) {
    variables.insert(variables.end(),
                     {{"GTEST_TOTAL_SHARDS", "1"}, {"GTEST_SHARD_INDEX", "0"}});  // a part has no probe
    const cli::outcome got =
        cli::run(fmt::format("/proc/{}/exe", ::getpid()), {"--gtest_filter=cuda_probe.*"}, variables);
    EXPECT_EQ(got.status, 0) << got.out << got.err;
    return got.out;
}

TEST(cuda_missing, finds_two_devices_and_takes_the_first_as_default) {
    const std::string found = found_with({{"UNIBUF_CUDA_DOUBLE_DEVICES", "2"}});
    if (cuda_double::wants_real_driver()) GTEST_SKIP() << "a real driver has what it has";
    EXPECT_NE(found.find("[cuda:0|unibuf test double, not a GPU|own aliases asynchronous]"
                         "[cuda:1|unibuf test double, not a GPU|own aliases asynchronous] default cuda:0"),
              std::string::npos)
        << found;
}

TEST(cuda_missing, says_that_no_driver_is_there) {
    if (void* const real = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); real && !cuda_double::loaded()) {
        GTEST_SKIP() << "this machine has a driver";
    }
    const std::string found = found_with({{"UNIBUF_REAL_CUDA", "1"}});
    if (found.find("[cuda:0") != std::string::npos) GTEST_SKIP() << "this machine has a driver";
    EXPECT_NE(found.find("[cuda|the CUDA driver was not found: libcuda.so.1"), std::string::npos) << found;
    EXPECT_NE(found.find("default host"), std::string::npos) << found;
}

TEST(cuda_missing, says_that_the_driver_is_old) {
    if (!cuda_double::loaded()) GTEST_SKIP() << "a real driver is as old as it is";
    const std::string found = found_with({{"UNIBUF_CUDA_DOUBLE_VERSION", "11040"}});
    EXPECT_NE(found.find("[cuda|the CUDA driver is 11.4; unibuf needs 12.0|"), std::string::npos) << found;
    EXPECT_NE(found.find("default host"), std::string::npos) << found;
}

TEST(cuda_missing, says_that_there_is_no_device) {
    if (!cuda_double::loaded()) GTEST_SKIP() << "a real driver has what it has";
    const std::string found = found_with({{"UNIBUF_CUDA_DOUBLE_DEVICES", "0"}});
    EXPECT_NE(found.find("[cuda|the CUDA driver cannot start: no CUDA-capable device is detected|"), std::string::npos)
        << found;
    EXPECT_NE(found.find("default host"), std::string::npos) << found;
}

TEST(cuda_missing, numbers_spaces_by_ordinal) {
    if (!cuda_double::loaded()) GTEST_SKIP() << "all devices of a real driver may work";
    const std::string found = found_with({{"UNIBUF_CUDA_DOUBLE_DEVICES", "3"}, {"UNIBUF_CUDA_DOUBLE_BROKEN", "1"}});
    EXPECT_NE(found.find("[cuda:0|unibuf test double"), std::string::npos) << found;
    EXPECT_NE(found.find("[cuda:2|unibuf test double"), std::string::npos) << found;
    EXPECT_EQ(found.find("[cuda:1|"), std::string::npos) << found;
    EXPECT_NE(found.find("[cuda|CUDA device 1: CUDA_ERROR_INVALID_DEVICE: invalid device ordinal|"), std::string::npos)
        << found;
}

}  // namespace
}  // namespace unibuf::contract::missing_test
