// cli/addr2line.hpp: asks addr2line about a program that a trace names.
//
// A trace may come from anywhere, so it may name any file and any address, and the file may be anything. No shell is
// run, no text of the trace becomes an argument, and a file is read only if it is a regular one that begins as programs
// do. addr2line asks no server for debugging information, and its time and memory have limits. Whatever goes wrong,
// there are no lines.
#pragma once

#include <chrono>
#include <string>

namespace unibuf_cli {

/// Returns whether there is something of that name that is no program, which unibuf names in no trace.
bool is_other_than_a_program(const std::string& name);

/// Returns what `tool`, which is found on PATH, prints for the addresses, one a line, of a program; nothing where it
/// fails, or has not ended at the deadline. `addresses` holds checked ones alone.
std::string told_by(const char* tool, const std::string& program, const std::string& addresses,
                    std::chrono::steady_clock::time_point deadline);

}  // namespace unibuf_cli
