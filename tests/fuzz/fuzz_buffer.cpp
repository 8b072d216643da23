// tests/fuzz/fuzz_buffer.cpp: any bytes as a history of operations on a buffer, against the oracle.
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "support/history.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto what = unibuf::test::history::decode({data, size});
    const std::string wrong = unibuf::test::play(what);
    if (wrong.empty()) return 0;
    std::ostringstream text;
    text << what;
    std::fprintf(stderr, "%s%s\n", text.str().c_str(), wrong.c_str());
    std::abort();
}
