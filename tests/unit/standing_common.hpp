// tests/unit/standing_common.hpp: a device that writes through its raw handle, so that nothing tells the library.
#pragma once

#include <cstring>

#include "unit/common.hpp"

namespace unibuf::test {

inline constexpr std::size_t size = 8192;
inline space gpu() { return space("debug:0"); }

inline bytes all_of(std::uint8_t value, std::size_t count = size) { return of(count, value); }

inline void device_writes(const standing_hold& hold, std::size_t offset, const bytes& data) {
    std::memcpy(hold.native().as<std::byte>() + offset, data.data(), data.size());
}

inline bytes device_holds(const standing_hold& hold, std::size_t offset, std::size_t count) {
    const std::byte* const at = hold.native().as<std::byte>() + offset;
    return bytes(at, at + count);
}

inline bytes host_reads(const buffer& of, std::size_t offset = 0, std::size_t count = size) {
    bytes result(count);
    of.copy_to(result, offset);
    return result;
}

template <class Act>
error_code code_of(Act act) {
    return failure_of(act).code;
}

}  // namespace unibuf::test
