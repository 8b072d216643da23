// suite/program.cpp
#include "program.hpp"

#include <algorithm>
#include <stdexcept>
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

program::program(unibuf::space where, const char* source)
    : where_(where),
      context_(unibuf::opencl::handles_of(where).context, true),
      queue_(unibuf::opencl::handles_of(where).queue, true),
      built_(context_, source) {
    try {
        built_.build();
    } catch (const cl::BuildError& failure) {
        std::string log;
        for (const auto& [device, text] : failure.getBuildLog()) log += text;
        throw std::runtime_error("a kernel of the suite does not compile: " + log);
    }
}

registered::registered(entry of) { all().push_back(std::move(of)); }

}  // namespace suite
