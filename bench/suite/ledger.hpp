// suite/ledger.hpp: the fewest bytes that have to move between two memories, from what each side touches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace suite {

/// An array's name, and a part of it, in elements: all of it, where nothing else is said.
struct touched {
    touched(const char* of) : array(of) {}
    touched(const char* of, std::size_t first, std::size_t how_many) : array(of), offset(first), count(how_many) {}

    std::string array;
    std::size_t offset = 0;
    std::size_t count = static_cast<std::size_t>(-1);
};

/// Counts the fewest bytes that have to move: each element has to be brought once to a side that reads it and has an
/// older one. What nobody has written, and what one value fills, either side can make by itself. A ledger knows nothing
/// of unibuf, so that it can judge it.
class ledger {
public:
    /// Notes an array, of which nobody has written anything.
    void make(const char* name, std::size_t count, std::size_t element_bytes);

    /// The elements are given one value, by either side.
    void fills(const touched& part);

    void host_reads(const touched& part) { reads(host, part); }
    void host_writes(const touched& part) { writes(host, part); }
    void device_reads(std::initializer_list<touched> parts);
    void device_writes(std::initializer_list<touched> parts);

    std::uint64_t least() const noexcept { return least_; }

private:
    enum sides : std::uint8_t { host = 1, device = 2, both = 3 };

    struct array {
        std::size_t element_bytes;
        std::vector<std::uint8_t> newest_at;  // of each element: the sides that have it
    };

    struct elements {
        array* in;
        std::size_t begin;
        std::size_t end;
    };

    elements found(const touched& part);
    void reads(sides who, const touched& part);
    void writes(sides who, const touched& part);

    std::map<std::string, array> arrays_;
    std::uint64_t least_ = 0;
};

}  // namespace suite
