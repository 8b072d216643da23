// system/pages.cpp: what is asked of the operating system about pages of memory.
#include "system/pages.hpp"

#include <unistd.h>

namespace unibuf::system {

std::size_t page_size() noexcept {
    static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

}  // namespace unibuf::system
