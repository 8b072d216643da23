// backends/host/common_pages.cpp: small allocations of whole pages, from mappings that many of them have in common.
#include "backends/host/common_pages.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "system/pages.hpp"
#include "tracking/kernel.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

/// A block lies at a multiple of its size, so that an address tells which block it is in.
class mapped_block final : public arena::block {
public:
    explicit mapped_block(std::size_t bytes) : bytes_(bytes) {
        void* const found = ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (found == MAP_FAILED) {
            throw error(error_code::out_of_memory,
                        fmt::format("the host has no room for a block of {} bytes: {}", bytes, std::strerror(errno)));
        }
        auto* const begin = static_cast<std::byte*>(found);
        const std::size_t before = (bytes - reinterpret_cast<std::uintptr_t>(begin) % bytes) % bytes;
        at_ = begin + before;
        if (before != 0) ::munmap(begin, before);
        ::munmap(at_ + bytes, bytes - before);
        // Whoever touches one buffer would touch its neighbours in a huge page.
        system::ask_for_no_huge_pages({at_, bytes});
    }
    ~mapped_block() override {
        tracking::kernel::remove_common({at_, bytes_});
        ::munmap(at_, bytes_);
    }
    mapped_block(const mapped_block&) = delete;
    mapped_block& operator=(const mapped_block&) = delete;

    std::uintptr_t address() const noexcept override { return reinterpret_cast<std::uintptr_t>(at_); }

private:
    std::size_t bytes_;
    std::byte* at_ = nullptr;
};

}  // namespace

common_pages& common_pages::instance() {
    static auto* const only = new common_pages;  // buffers may go when static objects do
    return *only;
}

arena::measures common_pages::measures() noexcept {
    return {.block = block, .granule = system::page_size(), .largest = largest};
}

/// Nothing is ever freed that work may use, so nothing has to be marked.
common_pages::common_pages()

    : parts_(measures(), [](std::size_t bytes) { return std::make_unique<mapped_block>(bytes); }, [] {}) {}

std::byte* common_pages::allocate(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    return reinterpret_cast<std::byte*>(parts_.allocate(bytes).address);
}

void common_pages::free(std::byte* address, std::size_t bytes) noexcept {
    if (!system::give_back({address, bytes})) return;  // the memory is not given out again
    const std::scoped_lock lock(mutex_);
    parts_.free(reinterpret_cast<std::uintptr_t>(address), bytes, false);
}

}  // namespace unibuf::backends
