// system/processes_linux.cpp: what is asked of the operating system about processes and threads, on Linux.
#include <pthread.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "system/processes.hpp"

namespace unibuf::system {

std::uint64_t begin_of(std::uint32_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) return 0;
    std::istringstream fields(text.substr(end_of_name + 1));
    std::string state;
    fields >> state;
    if (state == "Z" || state == "X") return 0;
    constexpr int between = 18;  // the state is field 3 of proc_pid_stat(5), the begin field 22
    std::string skipped;
    for (int i = 0; i < between; ++i) fields >> skipped;
    std::uint64_t begin = 0;
    fields >> begin;
    return begin;
}

void name_this_thread(const char* name) noexcept { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace unibuf::system
