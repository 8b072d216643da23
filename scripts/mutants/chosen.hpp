// scripts/mutants/chosen.hpp: which mutant this process is. It is included by the copies of sources that have mutants.
//
// UNIBUF_MUTANT is the number of the mutant that the process is; without it, it is none. Where UNIBUF_MUTANTS_REACHED
// names a file, the byte of each mutant whose place is come by is set there, by children of the process, too.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace unibuf_mutants {

inline constinit int chosen = 0;
inline constinit unsigned char* reached = nullptr;
inline constinit std::size_t count = 0;

inline bool begin() {
    if (const char* const number = std::getenv("UNIBUF_MUTANT")) chosen = std::atoi(number);
    const char* const name = std::getenv("UNIBUF_MUTANTS_REACHED");
    if (!name) return true;
    const int file = ::open(name, O_RDWR | O_CLOEXEC);
    struct stat about{};
    if (file < 0 || ::fstat(file, &about) != 0) std::abort();
    count = static_cast<std::size_t>(about.st_size);
    void* const bytes = ::mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) std::abort();
    reached = static_cast<unsigned char*>(bytes);
    ::close(file);
    return true;
}
inline const bool has_begun = begin();

/// Returns whether the process is this mutant. Not for what the compiler computes: what it has computed never changes.
inline bool is(int number) noexcept {
    if (reached && static_cast<std::size_t>(number) < count) reached[number] = 1;
    return number == chosen;
}

/// The same in a function that the compiler may run, too; there it is no mutant.
constexpr bool is_run(int number) noexcept { return !std::is_constant_evaluated() && is(number); }

}  // namespace unibuf_mutants
