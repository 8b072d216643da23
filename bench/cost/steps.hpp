// bench/cost/steps.hpp: counts what this thread does, instruction by instruction.
//
// The processor stops after each instruction while its trap flag is set, and the system makes a signal of that. Neither
// the speed of the machine nor its other work changes what is counted. It is for Linux on x86-64.
#pragma once

#include <cstdint>
#include <span>

namespace cost {

struct counts {
    std::uint64_t instructions = 0;
    std::uint64_t locked = 0;        // atomic reads, changes and writes, which are among the instructions
    std::uint64_t system_calls = 0;  // reading the clock is none, where the kernel has its code in the process
    std::uint64_t allocations = 0;   // calls of malloc and its like, in which those of C++ and of Python end
    std::uint64_t driver_calls = 0;  // of CUDA; what the driver does in them is not counted
};

/// Gets ready to count on this thread, with the drivers that are loaded by now.
void prepare_steps();

/// Sets what was counted to 0, and returns what it was.
counts taken_steps() noexcept;

/// Returns the addresses of the instructions that were counted last, in their order. They are kept where the
/// environment has UNIBUF_COST_PLACES.
std::span<const std::uint64_t> places_of_steps() noexcept;

inline constexpr std::uint64_t trap_flag = 0x100;

/// Has steps counted from here on; does nothing where `flag` is 0 instead of trap_flag. The compiler moves nothing that
/// is used across this, nor across the end.
inline void begin_steps(std::uint64_t flag) noexcept {
    asm volatile(
        "lea -128(%%rsp), %%rsp\n\t"  // past what a function may keep below its stack
        "pushfq\n\t"
        "orq %0, (%%rsp)\n\t"
        "popfq\n\t"
        "lea 128(%%rsp), %%rsp"
        :
        : "r"(flag)
        : "memory", "cc");
}

inline void end_steps() noexcept {
    asm volatile(
        "lea -128(%%rsp), %%rsp\n\t"
        "pushfq\n\t"
        "andq %0, (%%rsp)\n\t"
        "popfq\n\t"
        "lea 128(%%rsp), %%rsp"
        :
        : "r"(~trap_flag)
        : "memory", "cc");
}

}  // namespace cost
