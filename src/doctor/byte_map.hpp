// doctor/byte_map.hpp: a value for each byte of a buffer.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace unibuf::doctor {

/// Bytes that follow each other and have equal values are one entry. All have T{} at first, without end.
template <class T>
class byte_map {
public:
    const T& at(std::uint64_t byte) const { return std::prev(all_.upper_bound(byte))->second; }

    /// Calls change(value, bytes) for each stretch of equal values from `begin` to `end`.
    template <class Change>
    void change(std::uint64_t begin, std::uint64_t end, Change change) {
        if (begin >= end) return;
        const auto first = cut(begin);
        const auto behind = cut(end);
        for (auto each = first; each != behind; ++each) change(each->second, std::next(each)->first - each->first);
        auto each = first == all_.begin() ? first : std::prev(first);
        while (each != behind) {
            const auto next = std::next(each);
            if (next == all_.end()) break;
            if (next->second == each->second) {
                const bool was_behind = next == behind;
                all_.erase(next);
                if (was_behind) break;
            } else {
                each = next;
            }
        }
    }

    /// Calls visit(value, bytes) for each stretch but the last, which has no end.
    template <class Visit>
    void for_each(Visit visit) const {
        for (auto each = all_.begin(); std::next(each) != all_.end(); ++each) {
            visit(each->second, std::next(each)->first - each->first);
        }
    }

private:
    using iterator = typename std::map<std::uint64_t, T>::iterator;

    /// Returns the entry that begins at a byte, which it makes.
    iterator cut(std::uint64_t at) {
        const auto next = all_.lower_bound(at);
        if (next != all_.end() && next->first == at) return next;
        return all_.emplace_hint(next, at, std::prev(next)->second);
    }

    std::map<std::uint64_t, T> all_ = {{0, T{}}};  // by where they begin
};

}  // namespace unibuf::doctor
