// doctor/versions.cpp: the least number of links that joins the memories of a version.
#include "doctor/versions.hpp"

#include <bit>

namespace unibuf::doctor {

namespace {

constexpr memory_set set_of(std::uint8_t memory) noexcept { return memory_set{1} << memory; }
constexpr bool has(memory_set memories, std::uint8_t one) noexcept { return (memories & set_of(one)) != 0; }

}  // namespace

std::uint64_t links::of_tree(memory_set memories) const noexcept {
    if (memories == 0) return 0;
    const auto joined = static_cast<std::uint64_t>(std::popcount(memories)) - 1;
    if (joined == 0 || has(memories, host.id())) return joined;
    memory_set reached = memories & -memories;
    for (memory_set before = 0; before != reached;) {
        before = reached;
        for (memory_set left = before; left != 0; left &= left - 1) {
            reached |= of_[static_cast<std::size_t>(std::countr_zero(left))] & memories;
        }
    }
    return reached == memories ? joined : joined + 1;
}

std::uint64_t versions::cost_of(const version& of) const noexcept {
    return of.everywhere ? 0 : links_.of_tree(of.memories);
}

void versions::use(std::uint64_t begin, std::uint64_t end, std::uint8_t memory) {
    all_.change(begin, end, [&](version& of, std::uint64_t) {
        if (!of.everywhere) of.memories |= set_of(memory);
    });
}

void versions::write(std::uint64_t begin, std::uint64_t end, std::uint8_t memory) {
    all_.change(begin, end, [&](version& of, std::uint64_t bytes) {
        ended_ += bytes * cost_of(of);
        of = {.memories = set_of(memory), .everywhere = false};
    });
}

void versions::make_everywhere(std::uint64_t begin, std::uint64_t end) {
    all_.change(begin, end, [&](version& of, std::uint64_t bytes) {
        ended_ += bytes * cost_of(of);
        of = {};
    });
}

std::uint64_t versions::least() const noexcept {
    std::uint64_t result = ended_;
    all_.for_each([&](const version& each, std::uint64_t bytes) { result += bytes * cost_of(each); });
    return result;
}

}  // namespace unibuf::doctor
