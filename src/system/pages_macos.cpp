// system/pages_macos.cpp: what is asked of the operating system about pages of memory, on macOS.
#include <sys/mman.h>

#include "system/pages.hpp"

namespace unibuf::system {

// The kernel chooses the size of pages by itself.
void ask_for_huge_pages(std::span<std::byte>) noexcept {}
void ask_for_no_huge_pages(std::span<std::byte>) noexcept {}

/// MADV_DONTNEED and MADV_FREE promise no zeros here, so other pages come in the place of these.
bool give_back(std::span<std::byte> pages) noexcept {
    constexpr int flags = MAP_PRIVATE | MAP_ANON | MAP_FIXED;
    return ::mmap(pages.data(), pages.size(), PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

}  // namespace unibuf::system
