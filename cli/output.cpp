// cli/output.cpp: functions that all subcommands print with.
#include "output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

namespace unibuf_cli {

std::string one_line(std::string_view text) {
    std::string result(text);
    std::ranges::replace_if(result, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return result;
}

std::string readable_bytes(std::uint64_t bytes) {
    static constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    double amount = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    while (amount >= 1023.95 && unit + 1 < units.size()) {  // the next unit takes over where 1024.0 would be shown
        amount /= 1024;
        ++unit;
    }
    return fmt::format("{:.1f} {}", amount, units[unit]);
}

void write_file(const std::string& name, const std::function<void(std::ostream&)>& write) {
    errno = 0;
    std::ofstream out(name, std::ios::binary);
    write(out);
    out.close();
    if (!out) throw std::system_error(errno, std::generic_category(), name);
}

void finish_output() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
    throw std::system_error(errno, std::generic_category(), "the output could not be written");
}

}  // namespace unibuf_cli
