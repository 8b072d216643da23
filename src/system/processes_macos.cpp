// system/processes_macos.cpp: what is asked of the operating system about processes and threads, on macOS.
#include <pthread.h>
#include <sys/proc.h>
#include <sys/sysctl.h>

#include <array>

#include "system/processes.hpp"

namespace unibuf::system {

std::optional<std::uint64_t> begin_of(std::uint32_t process) {
    std::array<int, 4> asked{CTL_KERN, KERN_PROC, KERN_PROC_PID, static_cast<int>(process)};
    kinfo_proc found{};
    std::size_t room = sizeof found;
    if (::sysctl(asked.data(), asked.size(), &found, &room, nullptr, 0) != 0 || room == 0) return 0;
    if (found.kp_proc.p_stat == SZOMB) return 0;
    const timeval& begin = found.kp_proc.p_un.__p_starttime;
    return static_cast<std::uint64_t>(begin.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(begin.tv_usec);
}

bool is_main_thread() noexcept { return ::pthread_main_np() == 1; }

void name_this_thread(const char* name) noexcept { ::pthread_setname_np(name); }

}  // namespace unibuf::system
