// system/files_macos.cpp: what is asked of the operating system about files, on macOS.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "system/files.hpp"

namespace unibuf::system {

int reserve(int file, off_t begin, std::size_t bytes) noexcept {
    const off_t end = begin + static_cast<off_t>(bytes);
    const off_t had = ::lseek(file, 0, SEEK_END);
    fstore_t wanted{};
    wanted.fst_flags = F_ALLOCATEALL;
    wanted.fst_posmode = F_PEOFPOSMODE;
    wanted.fst_length = std::max<off_t>(0, end - had);
    if (wanted.fst_length == 0) return 0;
    // File systems without the call have room that is as good as promised, or none that can be.
    if (::fcntl(file, F_PREALLOCATE, &wanted) != 0 && errno != ENOTSUP) return errno;
    return ::ftruncate(file, end) == 0 ? 0 : errno;
}

// No process can open what another has by a number, so buffers are not shared by name.
int make_shared(std::size_t) noexcept {
    errno = ENOTSUP;
    return -1;
}
int open_shared(int, int) noexcept {
    errno = ENOTSUP;
    return -1;
}
bool is_of_fixed_size(int) noexcept { return false; }

}  // namespace unibuf::system
