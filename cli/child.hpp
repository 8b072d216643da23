// cli/child.hpp: what is asked of the operating system about a program that the tool starts.
#pragma once

#include <sys/types.h>

#include <string>

namespace unibuf_cli {

/// Returns a path by which a process opens once more what it has open.
std::string path_of_descriptor(int opened);

/// Limits the memory and the processor time of a child, which reads what may be hostile, and has it leave no core.
void limit(pid_t child) noexcept;

}  // namespace unibuf_cli
