// backends/host/taken_bytes.hpp: which memory of the program's own is a buffer's.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace unibuf::backends {

/// Bytes of the program's own, which are the host's copy of one buffer at a time: a second buffer would not know what a
/// device has newer of the first. Any thread.
class taken_bytes {
public:
    /// Throws error(invalid_argument) where some of the bytes are taken. `by` names the buffer that takes them.
    taken_bytes(std::span<const std::byte> bytes, const std::string& by);
    ~taken_bytes();
    taken_bytes(const taken_bytes&) = delete;
    taken_bytes& operator=(const taken_bytes&) = delete;

private:
    const std::byte* begin_ = nullptr;  // null where there are none
};

}  // namespace unibuf::backends
