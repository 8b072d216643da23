// suite/ledger.cpp
#include "ledger.hpp"

#include <algorithm>
#include <stdexcept>

namespace suite {

void ledger::make(const char* name, std::size_t count, std::size_t element_bytes) {
    arrays_.insert_or_assign(name, array{element_bytes, std::vector<std::uint8_t>(count, both)});
}

void ledger::fills(const touched& part) { writes(both, part); }

void ledger::device_reads(std::initializer_list<touched> parts) {
    for (const touched& each : parts) reads(device, each);
}

void ledger::device_writes(std::initializer_list<touched> parts) {
    for (const touched& each : parts) writes(device, each);
}

ledger::elements ledger::found(const touched& part) {
    const auto at = arrays_.find(part.array);
    if (at == arrays_.end()) throw std::logic_error("the ledger has no array " + part.array);
    const std::size_t size = at->second.newest_at.size();
    if (part.offset > size) throw std::logic_error("the ledger was told of elements behind the end of " + part.array);
    return {&at->second, part.offset, part.offset + std::min(part.count, size - part.offset)};
}

void ledger::reads(sides who, const touched& part) {
    const elements all = found(part);
    std::size_t lacking = 0;
    for (std::size_t i = all.begin; i < all.end; ++i) {
        std::uint8_t& newest_at = all.in->newest_at[i];
        if ((newest_at & who) == 0) ++lacking;
        newest_at |= who;
    }
    least_ += lacking * all.in->element_bytes;
}

void ledger::writes(sides who, const touched& part) {
    const elements all = found(part);
    std::fill(all.in->newest_at.data() + all.begin, all.in->newest_at.data() + all.end, who);
}

}  // namespace suite
