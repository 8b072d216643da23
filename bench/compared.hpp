// bench/compared.hpp: contents that are compared by digest, where nobody finds what the program writes.
#pragma once

#include <cstddef>

#include "claim.hpp"

namespace bench {

/// Measures an access at the device after one page of so many bytes was rewritten through a pointer, against one that
/// sends all. The memory is one that several processes may map, of which the kernel does not tell who writes.
figures one_page_compared(const char* device, std::size_t bytes);

/// Does so where all bytes are rewritten each time.
figures all_compared(const char* device, std::size_t bytes);

}  // namespace bench
