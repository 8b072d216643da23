// bench/heap.cpp
#include "heap.hpp"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace bench {
namespace {

constinit thread_local std::ptrdiff_t taken = 0;

std::ptrdiff_t counted(void* address) noexcept {
    const std::size_t bytes = ::malloc_usable_size(address);
    return bytes < contents ? static_cast<std::ptrdiff_t>(bytes) : 0;
}

void* take(void* address) {
    if (!address) throw std::bad_alloc();
    taken += counted(address);
    return address;
}

void give_back(void* address) noexcept {
    taken -= counted(address);
    std::free(address);
}

std::size_t rounded_up(std::size_t bytes, std::size_t unit) noexcept { return (bytes + unit - 1) / unit * unit; }

}  // namespace

std::ptrdiff_t heap_bytes() noexcept { return taken; }

}  // namespace bench

// All other forms of operator new and delete call these.
void* operator new(std::size_t bytes) { return bench::take(std::malloc(bytes == 0 ? 1 : bytes)); }

void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto unit = static_cast<std::size_t>(alignment);
    return bench::take(std::aligned_alloc(unit, bench::rounded_up(bytes == 0 ? 1 : bytes, unit)));
}

void operator delete(void* address) noexcept { bench::give_back(address); }
void operator delete(void* address, std::size_t) noexcept { bench::give_back(address); }
void operator delete(void* address, std::align_val_t) noexcept { bench::give_back(address); }
void operator delete(void* address, std::size_t, std::align_val_t) noexcept { bench::give_back(address); }
