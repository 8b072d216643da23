// support/process_limits.hpp: what a process has only so many of, taken until there is no more.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>

namespace unibuf::test {

/// While it lives, the process can have no more of a resource.
class no_more_of {
public:
    no_more_of(decltype(RLIMIT_AS) what, rlim_t in_use) : what_(what) {
        ::getrlimit(what_, &before_);
        const rlimit none{.rlim_cur = in_use, .rlim_max = before_.rlim_max};
        ::setrlimit(what_, &none);
    }
    ~no_more_of() { ::setrlimit(what_, &before_); }
    no_more_of(const no_more_of&) = delete;
    no_more_of& operator=(const no_more_of&) = delete;

private:
    decltype(RLIMIT_AS) what_;
    rlimit before_{};
};

inline rlim_t descriptors_in_use() {
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    return static_cast<rlim_t>(next);
}

/// Takes nearly all mappings that a process may have, and, when it is asked to, the others.
class mappings {
public:
    static std::size_t most() {
        std::size_t result = 65530;
        std::ifstream("/proc/sys/vm/max_map_count") >> result;
        return result;
    }

    mappings() : pages_(2 * most()) {
        memory_ = static_cast<std::byte*>(
            ::mmap(nullptr, pages_ * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        take();
        leave();
    }
    ~mappings() { ::munmap(memory_, pages_ * page_); }
    mappings(const mappings&) = delete;
    mappings& operator=(const mappings&) = delete;

    /// Each page that differs from those beside it takes two.
    void take() {
        while (::mprotect(memory_ + (taken_ + 1) * page_, page_, PROT_READ) == 0) taken_ += 2;
        ASSERT_LT(taken_ + 2, pages_);
    }

    void leave() {
        constexpr std::size_t left = 1000;
        const std::size_t kept = taken_ - std::min(taken_, left);
        for (; taken_ != kept; taken_ -= 2) ::mprotect(memory_ + (taken_ - 1) * page_, page_, PROT_NONE);
    }

private:
    std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::size_t pages_;
    std::byte* memory_ = nullptr;
    std::size_t taken_ = 0;
};

}  // namespace unibuf::test
