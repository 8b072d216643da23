// system/pages_linux.cpp: what is asked of the operating system about pages of memory, on Linux.
#include <sys/mman.h>

#include "system/pages.hpp"

namespace unibuf::system {

void ask_for_huge_pages(std::span<std::byte> pages) noexcept { ::madvise(pages.data(), pages.size(), MADV_HUGEPAGE); }

void ask_for_no_huge_pages(std::span<std::byte> pages) noexcept {
    ::madvise(pages.data(), pages.size(), MADV_NOHUGEPAGE);
}

bool give_back(std::span<std::byte> pages) noexcept {
    constexpr int dont_need_locked = 24;  // Linux 5.18 has this, for a program that has its memory locked
    return ::madvise(pages.data(), pages.size(), MADV_DONTNEED) == 0 ||
           ::madvise(pages.data(), pages.size(), dont_need_locked) == 0;
}

}  // namespace unibuf::system
