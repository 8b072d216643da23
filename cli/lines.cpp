// cli/lines.cpp: the lines of a program's source that its addresses belong to.
#include "lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

#include "addr2line.hpp"
#include "output.hpp"

namespace unibuf_cli {
namespace {

using namespace std::chrono_literals;

constexpr auto most_time = 60s;  // for the lines of all programs that a trace names

/// A place in a program, and where its text is kept.
struct place {
    std::string address;
    std::string* text;
};

/// Returns whether a text is 0x and 1 to 16 hexadecimal digits. A trace may have any text there.
bool is_address(std::string_view text) {
    const auto is_digit = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    };
    if (!text.starts_with("0x")) return false;
    text.remove_prefix(2);
    return !text.empty() && text.size() <= 16 && std::ranges::all_of(text, is_digit);
}

/// Returns the groups of lines that each begin with an address: a place, and the places that it was compiled into, the
/// innermost first.
std::vector<std::vector<std::string>> grouped(std::string_view text) {
    std::vector<std::vector<std::string>> result;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.starts_with("0x")) {
            result.emplace_back();
        } else if (!result.empty()) {
            result.back().emplace_back(line.substr(0, line.find(" (discriminator")));
        }
    }
    return result;
}

/// Returns the first line that is the program's own, of no header that was compiled into it; empty where there is none.
std::string own_line(const std::vector<std::string>& lines) {
    for (const std::string& each : lines) {
        const bool is_known = !each.starts_with("??") && !each.ends_with(":?") && !each.ends_with(":0");
        const bool is_own =
            each.find("/include/unibuf/") == std::string::npos && each.find("/include/c++/") == std::string::npos;
        if (is_known && is_own) return each;
    }
    return {};
}

}  // namespace

std::vector<std::string> find_lines(std::map<std::uint64_t, std::string>& places) {
    std::vector<std::string> others;
    std::map<std::string, std::vector<place>> by_program;
    for (auto& [number, text] : places) {
        const std::size_t plus = text.rfind("+0x");
        if (plus == std::string::npos) continue;
        if (!is_address(std::string_view(text).substr(plus + 1))) {
            others.push_back(text);
            continue;
        }
        const std::size_t name_ends = text.rfind(" at ", plus);
        const std::size_t begin = name_ends == std::string::npos ? 0 : name_ends + 4;
        by_program[text.substr(begin, plus - begin)].push_back({text.substr(plus + 1), &text});
    }
    const auto deadline = std::chrono::steady_clock::now() + most_time;
    for (const auto& [program, all] : by_program) {
        if (is_other_than_a_program(program)) {
            for (const place& each : all) others.push_back(*each.text);
            continue;
        }
        std::string addresses;
        for (const place& each : all) addresses += each.address + '\n';
        std::vector<std::vector<std::string>> found;
        for (const char* const tool : {"llvm-addr2line", "addr2line"}) {
            if (found.size() != all.size()) found = grouped(told_by(tool, program, addresses, deadline));
        }
        for (std::size_t i = 0; i != all.size() && found.size() == all.size(); ++i) {
            const std::string line = own_line(found[i]);
            if (!line.empty()) *all[i].text = line + ": " + *all[i].text;
        }
    }
    return others;
}

unibuf::trace_file trace_with_lines(const std::string& file) {
    unibuf::trace_file result = unibuf::read_trace(file);
    const std::vector<std::string> others = find_lines(result.sites);
    if (!others.empty()) {
        constexpr std::size_t most_shown = 80;
        fmt::print(stderr,
                   "unibuf: {} of the places that this trace names are no address of a program, such as \"{}\": unibuf "
                   "has not "
                   "written them, so do not trust the trace\n",
                   others.size(), one_line(others.front()).substr(0, most_shown));
    }
    return result;
}

}  // namespace unibuf_cli
