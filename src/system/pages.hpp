// system/pages.hpp: what is asked of the operating system about pages of memory.
#pragma once

#include <cstddef>
#include <span>

namespace unibuf::system {

/// Returns the size of a page: 4 KiB on most machines, 16 KiB on those of Apple, 64 KiB on many servers of ARM.
std::size_t page_size() noexcept;

/// Asks for large pages, or for none, under whole pages. Systems that have no such choice do nothing.
void ask_for_huge_pages(std::span<std::byte> pages) noexcept;
void ask_for_no_huge_pages(std::span<std::byte> pages) noexcept;

/// Gives the memory under private whole pages back to the system, so that they read as zero. Returns false where it
/// keeps them.
bool give_back(std::span<std::byte> pages) noexcept;

}  // namespace unibuf::system
