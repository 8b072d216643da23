// system/processes_linux.cpp: what is asked of the operating system about processes and threads, on Linux.
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <string>

#include "system/files.hpp"
#include "system/processes.hpp"

namespace unibuf::system {

std::optional<std::uint64_t> begin_of(std::uint32_t process) {
    const descriptor file(::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return errno == ENOENT ? std::optional<std::uint64_t>(0) : std::nullopt;
    std::string text(1024, ' ');  // fits in what Linux writes of any process
    const ssize_t count = ::read(file.get(), text.data(), text.size());
    if (count < 0) return errno == ESRCH ? std::optional<std::uint64_t>(0) : std::nullopt;
    text.resize(static_cast<std::size_t>(count));
    const std::size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) return std::nullopt;
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

bool is_main_thread() noexcept { return ::syscall(SYS_gettid) == ::getpid(); }  // musl has had no gettid()

void name_this_thread(const char* name) noexcept { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace unibuf::system
