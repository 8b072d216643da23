// system/files.hpp: what is asked of the operating system about files.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace unibuf::system {

/// The number of an open file, which is closed unless it is taken; less than 0 where there is none.
class descriptor {
public:
    explicit descriptor(int number) noexcept : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(other.take()) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    explicit operator bool() const noexcept { return number_ >= 0; }
    int get() const noexcept { return number_; }
    int take() noexcept { return std::exchange(number_, -1); }

private:
    int number_;
};

/// Makes room on the disk for bytes of a file, which grows where it has to. Returns 0, or what went wrong, as errno has
/// it.
int reserve(int file, off_t begin, std::size_t bytes) noexcept;

// Files that are memory, which processes share, and whose size does not change any more. Each function returns -1, and
// says in errno why: where a system has no such files, ENOTSUP.

/// Makes one of so many bytes.
int make_shared(std::size_t bytes) noexcept;

/// Opens what another process has open under a number, if it may.
int open_shared(int process, int number) noexcept;

/// Returns whether the size of a file cannot change.
bool is_of_fixed_size(int file) noexcept;

}  // namespace unibuf::system
