// support/seeds.hpp: seeds of tests that draw random numbers by themselves.
#pragma once

namespace unibuf::test {

/// Returns the seed that a test calls `number`: the number itself, so that each run is like the last one; another one
/// where UNIBUF_TEST_SEED is set, which is then printed once, for whoever plays a failure again.
unsigned seed(unsigned number);

}  // namespace unibuf::test
