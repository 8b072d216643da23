// buffer/invariants.hpp: what debug builds check of a buffer after every operation.
#pragma once

#include <cstdint>

#include "buffer/core.hpp"
#include "buffer/gate_bits.hpp"

namespace unibuf::detail {

/// Says which rule is broken, and aborts. Where none is, it returns, and has allocated nothing.
void check_invariants(const core& of, const guarded& state) noexcept;

/// Does the same for what the gate has said until the lock was taken, where it might have said only what `may_say` has.
void check_gate(const core& of, std::uint32_t said, const gate_bits& may_say) noexcept;

}  // namespace unibuf::detail
