// trace/call_site.hpp: where the program called the library.
#pragma once

#include <cstdint>
#include <string>

namespace unibuf::trace {

/// Returns the address in the program, or in another library, to which this call returns: the first one up the stack
/// that is no binding's. 0 where unibuf is linked into the program, which hides where the one ends, and where the
/// binding of an interpreter calls: what the program does there, that says by call_from.
///
/// It costs some loads for each function of unibuf's between: these are compiled with frame pointers.
std::uint64_t call_site() noexcept;

/// Returns "main at /path/program+0x1234", or what of it is known.
std::string describe_site(std::uint64_t site);

}  // namespace unibuf::trace
