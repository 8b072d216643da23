// suite/program.cpp
#include "program.hpp"

#include <algorithm>
#include <utility>

namespace suite {
namespace {

std::vector<entry>& all() {
    static std::vector<entry> entries;
    return entries;
}

}  // namespace

const std::vector<entry>& programs() {
    std::ranges::sort(all(), {}, &entry::name);
    return all();
}

registered::registered(entry of) { all().push_back(std::move(of)); }

}  // namespace suite
