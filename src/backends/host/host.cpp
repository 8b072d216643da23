// backends/host/host.cpp: the host's own memory.
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "backends/host/addressed_memory.hpp"
#include "backends/host/available_memory.hpp"
#include "backends/host/common_pages.hpp"
#include "backends/host/sizes.hpp"
#include "system/pages.hpp"
#include "tracking/watch.hpp"
#include "unibuf/detail/sizes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

[[noreturn]] void refuse(std::size_t bytes) {
    throw error(error_code::out_of_memory,
                fmt::format("the host has no room for {} bytes: {}", bytes, std::strerror(errno)));
}

void* zeros(std::size_t bytes) {
    void* const block = std::calloc(1, bytes);
    if (!block) refuse(bytes);
    return block;
}

/// Memory from the heap, in whole cache lines. They lie in a block of calloc, which knows what is zero already:
/// aligned_alloc takes several times as long. This object lies before them, at the begin of the block.
class lines final : public addressed_memory {
public:
    static std::unique_ptr<memory> allocate(std::size_t bytes) {
        static_assert(sizeof(lines) % alignof(std::max_align_t) == 0);
        constexpr std::size_t most_before = sizeof(lines) + cache_line - alignof(std::max_align_t);
        return std::unique_ptr<memory>(::new (zeros(detail::rounded_up(bytes, cache_line) + most_before)) lines);
    }
    static void operator delete(void* block) noexcept { std::free(block); }

    bool starts_zero() const noexcept override { return true; }

private:
    lines() noexcept : addressed_memory(reinterpret_cast<std::byte*>(this) + before(this)) {}

    /// Returns where the first line behind the object begins, in bytes from its begin.
    static std::size_t before(const lines* at) noexcept {
        const auto begin = std::bit_cast<std::uintptr_t>(at);
        return detail::rounded_up(begin + sizeof(lines), cache_line) - begin;
    }
};

/// Returns how far behind the begin of its pages an allocation begins. A processor takes a load for one of what it has
/// just stored where both lie at the same offset of 4 KiB: a kernel that reads one array and writes another waits then.
std::size_t next_stagger() noexcept {
    static constinit std::atomic<std::size_t> count = 0;
    constexpr std::size_t apart = 1536;  // whole sectors, for direct I/O; the eighth begins with a page again
    return count.fetch_add(1, std::memory_order_relaxed) * apart % 4096;
}

// Smaller ones would take much more memory for it.
constexpr std::size_t least_staggered = std::size_t{64} << 10;

/// Pages that hold nothing else, are zero until they are touched, and lie on the node that touches them first.
class whole_pages_memory : public addressed_memory {
public:
    whole_pages_memory(std::span<std::byte> pages, std::size_t before) noexcept
        : addressed_memory(pages.data() + before), bytes_(pages.size()) {}

    bool whole_pages() const noexcept override { return true; }
    bool starts_zero() const noexcept override { return true; }

protected:
    std::span<std::byte> pages() const noexcept {
        const std::size_t before = reinterpret_cast<std::uintptr_t>(host_address()) % system::page_size();
        return {host_address() - before, bytes_};
    }

private:
    std::size_t bytes_;
};

class part_of_mapping final : public whole_pages_memory {
public:
    part_of_mapping(std::size_t bytes, std::size_t before)
        : whole_pages_memory({common_pages::instance().allocate(bytes), bytes}, before) {}
    ~part_of_mapping() override { common_pages::instance().free(pages().data(), pages().size()); }
    part_of_mapping(const part_of_mapping&) = delete;
    part_of_mapping& operator=(const part_of_mapping&) = delete;

    std::span<std::byte> common_mapping() const noexcept override {
        return common_pages::mapping_around(pages().data());
    }
};

class own_mapping final : public whole_pages_memory {
public:
    own_mapping(std::size_t asked, std::size_t bytes, std::size_t before)
        : whole_pages_memory(map(asked, bytes), before) {}
    ~own_mapping() override { ::munmap(pages().data(), pages().size()); }
    own_mapping(const own_mapping&) = delete;
    own_mapping& operator=(const own_mapping&) = delete;

private:
    static std::span<std::byte> map(std::size_t asked, std::size_t bytes) {
        void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) refuse(asked);
        const std::span result(static_cast<std::byte*>(pages), bytes);
        if (bytes >= huge_page) system::ask_for_huge_pages(result);
        return result;
    }
};

std::unique_ptr<memory> allocate_pages(std::size_t asked, bool staggered) {
    const std::size_t before = staggered && asked >= least_staggered ? next_stagger() : 0;
    const std::size_t bytes = detail::rounded_up(before + asked, system::page_size());
    if (common_pages::serves(bytes)) {
        try {
            return std::make_unique<part_of_mapping>(bytes, before);
        } catch (const error&) {  // there may still be room for a smaller mapping
        }
    }
    return std::make_unique<own_mapping>(asked, bytes, before);
}

class host_device final : public device {
public:
    host_device() {
        const available has = available_memory();
        about_.description = has.cgroup.empty() ? "host memory" : "host memory within a cgroup's limit";
        about_.own_memory = false;
        about_.addresses = true;
        about_.memory_bytes = has.memory.total;
        if (!has.cgroup.empty()) about_.properties.push_back({"limited by cgroup", has.cgroup});
    }

    const traits& about() const noexcept override { return about_; }

    std::string describe() const override {
        const tracking::mechanism finds = tracking::about();
        return fmt::format("{}, where writes are {}{}", about_.description,
                           finds.finds_writes ? "found by " : "not found: ", finds.description);
    }
    memory_info memory_now() override { return available_memory().memory; }

    std::unique_ptr<memory> allocate(const allocation_request& what) override {
        if (what.whole_pages || what.bytes > tracking::most_compared())
            return allocate_pages(what.bytes, what.staggered && !what.whole_pages);
        return lines::allocate(what.bytes);
    }

private:
    traits about_;
};

}  // namespace

discovery discover_host() {
    discovery result;
    result.devices.push_back(std::make_unique<host_device>());
    result.devices.push_back(std::make_unique<host_device>());  // stands in the place of a device: see spaces.hpp
    return result;
}

}  // namespace unibuf::backends
