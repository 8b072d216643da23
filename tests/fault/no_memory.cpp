// fault/no_memory.cpp: an operator new that fails when it is told to.
#include "fault/no_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace unibuf::test {
namespace {

thread_local constinit bool denies = false;
thread_local constinit bool denies_all = false;
thread_local constinit bool denied = false;
thread_local constinit unsigned left = 0;  // allocations before the one that is denied

/// Returns whether this allocation is to fail.
bool is_denied() noexcept {
    if (!denies || (!denies_all && left-- != 0)) return false;
    denies = denies_all;
    denied = true;
    return true;
}

}  // namespace

no_memory::no_memory() noexcept {
    denies = denies_all = true;
    denied = false;
}

no_memory::no_memory(unsigned granted) noexcept {
    denies = true;
    denies_all = denied = false;
    left = granted;
}

no_memory::~no_memory() { denies = denies_all = false; }

bool no_memory::was_felt() const noexcept { return denied; }

no_memory::suspended::suspended() noexcept : denied_(std::exchange(denies, false)) {}

no_memory::suspended::~suspended() { denies = denied_; }

}  // namespace unibuf::test

void* operator new(std::size_t bytes) {
    void* const made = unibuf::test::is_denied() ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));
    if (!made) throw std::bad_alloc();
    return made;
}
void operator delete(void* of) noexcept { std::free(of); }
void operator delete(void* of, std::size_t) noexcept { std::free(of); }
