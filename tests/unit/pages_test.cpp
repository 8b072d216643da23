// tests/unit/pages_test.cpp: the size of a page is what the system says.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "system/pages.hpp"
#include "unit/common.hpp"

namespace unibuf::test::pages_test {
namespace {

/// The tests of larger pages say how large these are: see tests/doubles/pages.
TEST(pages, are_as_large_as_the_system_says) {
    const char* const wanted = std::getenv("UNIBUF_TEST_PAGE");
    const long of_system = wanted ? std::stol(wanted) : ::sysconf(_SC_PAGESIZE);
    EXPECT_EQ(system::page_size(), static_cast<std::size_t>(of_system));
}

}  // namespace
}  // namespace unibuf::test::pages_test
