// support/seeds.cpp
#include "support/seeds.hpp"

#include <cstdio>
#include <cstdlib>

namespace unibuf::test {
namespace {

/// Returns what is added to each seed.
unsigned first_seed() {
    const char* const given = std::getenv("UNIBUF_TEST_SEED");
    if (!given) return 0;
    char* end = nullptr;
    const unsigned long value = std::strtoul(given, &end, 10);
    if (end == given || *end != '\0') {
        std::fprintf(stderr, "UNIBUF_TEST_SEED is a number, not \"%s\"\n", given);
        std::exit(2);
    }
    std::fprintf(stderr, "Using UNIBUF_TEST_SEED=%lu\n", value);
    return static_cast<unsigned>(value) * 1000;  // a test has fewer seeds
}

}  // namespace

unsigned seed(unsigned number) {
    static const unsigned first = first_seed();
    return first + number;
}

}  // namespace unibuf::test
