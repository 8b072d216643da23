// bench/watched_pages.cpp
#include "watched_pages.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <unibuf/error.hpp>

namespace bench {
namespace {

std::uint64_t number(const void* of) { return reinterpret_cast<std::uintptr_t>(of); }

// struct pm_scan_arg and struct page_region of <linux/fs.h>, which many systems do not have yet.
struct scan {
    std::uint64_t size, flags, start, end, walk_end, regions, count, most_pages, inverted, all_of, any_of, tell;
};
struct region {
    std::uint64_t start, end, categories;
};
constexpr std::uint64_t is_written = 2;
constexpr std::uint64_t protect_and_check = 3;
constexpr std::uint64_t unpopulated_and_asynchronous = (1U << 13) | (1U << 15);

}  // namespace

watched_pages::watched_pages(std::size_t bytes)
    : bytes_(bytes),
      faults_(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1))),
      pagemap_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {
    void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(pages);
    ::madvise(data_, bytes, MADV_NOHUGEPAGE);
    std::memset(data_, 1, bytes);
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = unpopulated_and_asynchronous;
    uffdio_register wanted{};
    wanted.range = {.start = number(data_), .len = bytes};
    wanted.mode = UFFDIO_REGISTER_MODE_WP;
    uffdio_writeprotect protection{};
    protection.range = wanted.range;
    protection.mode = UFFDIO_WRITEPROTECT_MODE_WP;
    if (::ioctl(faults_, UFFDIO_API, &api) != 0 || ::ioctl(faults_, UFFDIO_REGISTER, &wanted) != 0 ||
        ::ioctl(faults_, UFFDIO_WRITEPROTECT, &protection) != 0 || pagemap_ < 0) {
        throw unibuf::error(unibuf::error_code::device_unavailable, "this kernel does not watch pages");
    }
}

watched_pages::~watched_pages() {
    ::munmap(data_, bytes_);
    ::close(faults_);
    ::close(pagemap_);
}

std::span<std::byte> watched_pages::written() const {
    std::array<region, 1> found{};
    scan asked{};
    asked.size = sizeof asked;
    asked.flags = protect_and_check;
    asked.start = number(data_);
    asked.end = asked.start + bytes_;
    asked.regions = number(found.data());
    asked.count = found.size();
    asked.all_of = asked.tell = is_written;
    if (::ioctl(pagemap_, _IOWR('f', 16, scan), &asked) < 1) return {};
    return {data_ + (found[0].start - asked.start), found[0].end - found[0].start};
}

}  // namespace bench
