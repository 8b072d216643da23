// bench/cost/instruction.hpp: what an instruction of x86-64 is, as far as costs are counted.
#pragma once

#include <cstdint>

namespace cost {

struct instruction {
    bool is_locked = false;       // an atomic read, change and write: with the lock prefix, or xchg with memory
    bool is_system_call = false;  // of the kernel, by `syscall`
    bool is_repeated = false;     // by rep: the processor stops after each round
};

/// Reads the instruction at `code`.
instruction decoded(const std::uint8_t* code) noexcept;

}  // namespace cost
