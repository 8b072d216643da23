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
    explicit host_memory(std::size_t bytes, bool whole_pages)
        : bytes_(round_up(bytes, whole_pages || bytes >= page ? page : cache_line)) {
        if (bytes_ < bytes) {
            errno = ENOMEM;
            refuse(bytes);
        }
        if (!mapped()) {
            address_ = static_cast<std::byte*>(std::aligned_alloc(cache_line, bytes_));
            if (!address_) refuse(bytes);
            std::memset(address_, 0, bytes_);
            return;
        }
        void* const pages = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) refuse(bytes);
        address_ = static_cast<std::byte*>(pages);
        if (bytes_ >= huge_page) ::madvise(address_, bytes_, MADV_HUGEPAGE);
    }

    ~host_memory() override {
        if (mapped()) {
            ::munmap(address_, bytes_);
        } else {
            std::free(address_);
        }
    }

    host_memory(const host_memory&) = delete;
    host_memory& operator=(const host_memory&) = delete;

    bool whole_pages() const noexcept override { return mapped(); }
    bool starts_zero() const noexcept override { return true; }

private:
    bool mapped() const noexcept { return bytes_ >= page; }

    static std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
        return (bytes + unit - 1) / unit * unit;
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
