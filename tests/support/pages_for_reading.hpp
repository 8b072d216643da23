// tests/support/pages_for_reading.hpp: memory that a store ends the process in.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "support/bytes.hpp"

namespace unibuf::test {

/// Pages that the system lets nobody write: a store there ends the process.
class pages_for_reading {
public:
    pages_for_reading() : at_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        change(1);
    }
    ~pages_for_reading() { ::munmap(at_, size); }
    pages_for_reading(const pages_for_reading&) = delete;
    pages_for_reading& operator=(const pages_for_reading&) = delete;

    static constexpr std::size_t size = 100003;

    std::span<const std::byte> all() const { return {static_cast<const std::byte*>(at_), size}; }

    /// Writes other content, as whoever writes a mapped file does.
    void change(unsigned seed) {
        ::mprotect(at_, size, PROT_READ | PROT_WRITE);
        std::ranges::copy(noise(size, seed), static_cast<std::byte*>(at_));
        ::mprotect(at_, size, PROT_READ);
    }

private:
    void* at_;
};

}  // namespace unibuf::test
