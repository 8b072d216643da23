// cli/child_macos.cpp: what is asked of the operating system about a program that the tool starts, on macOS.
#include "child.hpp"

namespace unibuf_cli {

std::string path_of_descriptor(int opened) { return "/dev/fd/" + std::to_string(opened); }

// A process of macOS sets limits for itself alone: here the tool's own limit of time is the only one.
void limit(pid_t) noexcept {}

}  // namespace unibuf_cli
