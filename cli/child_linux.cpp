// cli/child_linux.cpp: what is asked of the operating system about a program that the tool starts, on Linux.
#include <sys/resource.h>

#include "child.hpp"

namespace unibuf_cli {
namespace {

constexpr rlim_t most_memory = rlim_t{4} << 30;  // of its own; files that it maps count nothing
constexpr rlim_t most_seconds = 60;

}  // namespace

std::string path_of_descriptor(int opened) { return "/proc/self/fd/" + std::to_string(opened); }

void limit(pid_t child) noexcept {
    const auto set = [&](auto what, rlim_t most) {
        rlimit now{};
        if (::prlimit(child, what, nullptr, &now) != 0) return;
        now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
        now.rlim_cur = now.rlim_cur < most ? now.rlim_cur : most;
        ::prlimit(child, what, &now, nullptr);
    };
    set(RLIMIT_CORE, 0);
    set(RLIMIT_DATA, most_memory);
    set(RLIMIT_CPU, most_seconds);
}

}  // namespace unibuf_cli
