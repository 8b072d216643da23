// bench/cost/instruction.cpp
#include "instruction.hpp"

namespace cost {

instruction decoded(const std::uint8_t* code) noexcept {
    instruction found;
    bool repeats = false;
    for (bool prefix = true; prefix;) {
        switch (*code) {
            case 0xF0:
                found.is_locked = true;
                break;
            case 0xF2:
            case 0xF3:
                repeats = true;
                break;
            case 0x26:  // segments
            case 0x2E:
            case 0x36:
            case 0x3E:
            case 0x64:
            case 0x65:
            case 0x66:  // size of operand, and of address
            case 0x67:
                break;
            default:
                prefix = false;
        }
        if (prefix) ++code;
    }
    if ((*code & 0xF0U) == 0x40) ++code;  // REX
    const std::uint8_t opcode = code[0];
    const std::uint8_t second = code[1];
    const bool is_exchange = opcode == 0x86 || opcode == 0x87;
    const bool is_of_memory = second < 0xC0;  // by the mode in ModRM
    found.is_locked = found.is_locked || (is_exchange && is_of_memory);
    found.is_system_call = opcode == 0x0F && second == 0x05;
    const bool is_of_strings = (opcode >= 0xA4 && opcode <= 0xA7) || (opcode >= 0xAA && opcode <= 0xAF);
    found.is_repeated = repeats && is_of_strings;
    return found;
}

}  // namespace cost
