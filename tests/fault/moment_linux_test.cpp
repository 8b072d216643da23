// tests/fault/moment_linux_test.cpp: a moment in which the process can have no more of something.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "fault/sweep.hpp"
#include "support/process_limits.hpp"
#include "support/sanitizers.hpp"

namespace unibuf::test::moment_linux_test {
namespace {

rlim_t addresses_in_use() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

// Each of these calls `act` in a moment without a resource, and returns that this was the only one.

bool without_addresses(unsigned, const std::function<void()>& act) {
    const no_more_of addresses(RLIMIT_AS, addresses_in_use());
    act();
    return false;
}

bool without_descriptors(unsigned, const std::function<void()>& act) {
    const no_more_of descriptors(RLIMIT_NOFILE, descriptors_in_use());
    act();
    return false;
}

class a_moment : public sweep {};
TEST_P(a_moment, without_addresses_descriptors_or_mappings_has_no_effect_after_it) {
    if (has_address_sanitizer) GTEST_SKIP() << "the address sanitizer ends a process that can have no more addresses";
    try_all(&without_addresses);
    try_all(&without_descriptors);
    if (mappings::most() > 100'000) GTEST_SKIP() << "a process has too many mappings here";
    mappings all;
    try_all([&](unsigned, const std::function<void()>& act) {
        all.take();
        act();
        all.leave();
        return false;
    });
}
INSTANTIATE_TEST_SUITE_P(all, a_moment,
                         testing::Combine(testing::ValuesIn(places().first(1)), testing::ValuesIn(verbs())), name_of);

}  // namespace
}  // namespace unibuf::test::moment_linux_test
