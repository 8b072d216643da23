// system/files_linux.cpp: what is asked of the operating system about files, on Linux.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "system/files.hpp"

namespace unibuf::system {
namespace {

constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

int reserve(int file, off_t begin, std::size_t bytes) noexcept {
    return ::posix_fallocate(file, begin, static_cast<off_t>(bytes));
}

int make_shared(std::size_t bytes) noexcept {
    const int made = ::memfd_create("unibuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0) return -1;
    if (::ftruncate(made, static_cast<off_t>(bytes)) == 0 && ::fcntl(made, F_ADD_SEALS, sealed) == 0) return made;
    const int why = errno;
    ::close(made);
    errno = why;
    return -1;
}

int open_shared(int process, int number) noexcept {
    std::array<char, 48> path{};  // memory may be short
    std::snprintf(path.data(), path.size(), "/proc/%d/fd/%d", process, number);
    return ::open(path.data(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

bool is_of_fixed_size(int file) noexcept {
    const int seals = ::fcntl(file, F_GET_SEALS);  // -1 where it can have none
    return seals >= 0 && (seals & sealed) == sealed;
}

}  // namespace unibuf::system
