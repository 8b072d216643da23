// backends/host/host.cpp: the host's own memory.
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "backends/host/addressed_memory.hpp"
#include "backends/host/available_memory.hpp"
#include "tracking/watch.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

[[noreturn]] void refuse(std::size_t bytes) {
    throw error(error_code::out_of_memory,
                fmt::format("the host has no room for {} bytes: {}", bytes, std::strerror(errno)));
}

/// From one page on, or where they were asked for: whole pages of an anonymous mapping, zero until they are touched and
/// on the node that touches them first. Below: cache lines from the heap.
class host_memory final : public addressed_memory {
public:
    host_memory(std::size_t bytes, bool whole_pages) : host_memory(bytes, rounded(bytes, whole_pages)) {}

    ~host_memory() override {
        if (mapped(bytes_)) {
            ::munmap(host_address(), bytes_);
        } else {
            std::free(host_address());
        }
    }

    host_memory(const host_memory&) = delete;
    host_memory& operator=(const host_memory&) = delete;

    bool whole_pages() const noexcept override { return mapped(bytes_); }
    bool starts_zero() const noexcept override { return true; }

private:
    host_memory(std::size_t asked, std::size_t bytes) : addressed_memory(allocate(asked, bytes)), bytes_(bytes) {}

    static bool mapped(std::size_t bytes) noexcept { return bytes >= page; }

    static std::size_t rounded(std::size_t bytes, bool whole_pages) {
        const std::size_t unit = whole_pages || bytes >= page ? page : cache_line;
        const std::size_t result = (bytes + unit - 1) / unit * unit;
        if (result >= bytes) return result;
        errno = ENOMEM;
        refuse(bytes);
    }

    static std::byte* allocate(std::size_t asked, std::size_t bytes) {
        if (!mapped(bytes)) {
            void* const lines = std::aligned_alloc(cache_line, bytes);
            if (!lines) refuse(asked);
            return static_cast<std::byte*>(std::memset(lines, 0, bytes));
        }
        void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) refuse(asked);
        if (bytes >= huge_page) ::madvise(pages, bytes, MADV_HUGEPAGE);
        return static_cast<std::byte*>(pages);
    }

    std::size_t bytes_;
};

class host_device final : public device {
public:
    host_device() {
        const available has = available_memory();
        const tracking::mechanism& finds = tracking::about();
        about_.description =
            fmt::format("host memory{}, where writes are {}{}", has.cgroup.empty() ? "" : " within a cgroup's limit",
                        finds.finds_writes ? "found by " : "not found: ", finds.description);
        about_.own_memory = false;
        about_.addresses = true;
        about_.memory_bytes = has.memory.total;
        if (!has.cgroup.empty()) about_.properties.push_back({"limited by cgroup", has.cgroup});
    }

    const traits& about() const noexcept override { return about_; }
    memory_info memory_now() override { return available_memory().memory; }

    std::unique_ptr<memory> allocate(const request& what) override {
        return std::make_unique<host_memory>(what.bytes, what.whole_pages);
    }

private:
    traits about_;
};

}  // namespace

discovery discover_host() {
    discovery result;
    result.devices.push_back(std::make_unique<host_device>());
    result.devices.push_back(std::make_unique<host_device>());  // in the place of a device: see spaces.hpp
    return result;
}

}  // namespace unibuf::backends
