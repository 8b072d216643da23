// cli/lines.cpp
#include "lines.hpp"

#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

namespace unibuf_cli {
namespace {

/// A place in a program: the address as text, and where the place is kept.
struct place {
    std::string address;
    std::string* text;
};

std::string quoted_for_shell(std::string_view text) {
    std::string result = "'";
    for (const char each : text) result += each == '\'' ? std::string("'\\''") : std::string(1, each);
    return result + "'";
}

/// Returns the lines that a command writes; none where it fails.
std::vector<std::string> lines_of(const std::string& command) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> from(::popen(command.c_str(), "r"), &::pclose);
    std::vector<std::string> lines;
    if (!from) return lines;
    std::string line;
    for (int next = std::fgetc(from.get()); next != EOF; next = std::fgetc(from.get())) {
        if (next != '\n') {
            line += static_cast<char>(next);
            continue;
        }
        lines.push_back(std::move(line));
        line.clear();
    }
    return lines;
}

/// Returns the groups of lines that each begin with an address: a place, and the places that it was compiled into, the
/// innermost first.
std::vector<std::vector<std::string>> grouped(const std::vector<std::string>& lines) {
    std::vector<std::vector<std::string>> result;
    for (const std::string& each : lines) {
        if (each.starts_with("0x")) {
            result.emplace_back();
        } else if (!result.empty()) {
            result.back().push_back(each.substr(0, each.find(" (discriminator")));
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

void find_lines(std::map<std::uint64_t, std::string>& places) {
    std::map<std::string, std::vector<place>> by_program;
    for (auto& [number, text] : places) {
        const std::size_t plus = text.rfind("+0x");
        if (plus == std::string::npos) continue;
        const std::size_t name_ends = text.rfind(" at ", plus);
        const std::size_t begin = name_ends == std::string::npos ? 0 : name_ends + 4;
        by_program[text.substr(begin, plus - begin)].push_back({text.substr(plus + 1), &text});
    }
    for (const auto& [program, all] : by_program) {
        std::string arguments = " -a -i -e " + quoted_for_shell(program);
        for (const place& each : all) arguments += " " + each.address;
        std::vector<std::vector<std::string>> found;
        for (const char* const tool : {"llvm-addr2line", "addr2line"}) {
            if (found.size() != all.size()) found = grouped(lines_of(tool + arguments + " 2>/dev/null"));
        }
        for (std::size_t i = 0; i != all.size() && found.size() == all.size(); ++i) {
            const std::string line = own_line(found[i]);
            if (!line.empty()) *all[i].text = line + ": " + *all[i].text;
        }
    }
}

unibuf::trace_file trace_with_lines(const std::string& file) {
    unibuf::trace_file result = unibuf::read_trace(file);
    find_lines(result.sites);
    return result;
}

}  // namespace unibuf_cli
