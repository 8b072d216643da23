// tracking/watch.cpp
#include "tracking/watch.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "system/pages.hpp"
#include "tracking/edged.hpp"
#include "tracking/kernel.hpp"
#include "tracking/pages.hpp"
#include "tracking/shadow.hpp"
#include "unibuf/detail/sizes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::tracking {
namespace {

// To compare so many pages takes no longer than to ask the kernel where some of them are compared anyway.
constexpr std::size_t least_pages = 4;

std::unique_ptr<watch> watch_inside(std::span<std::byte> memory) {
    const byte_range pages = edged_watch::whole_pages_of(memory);
    if (pages.size() < least_pages * system::page_size()) return std::make_unique<shadow_watch>(memory);
    if (!kernel::instance().add(memory.subspan(pages.begin, pages.size()))) return nullptr;
    return std::make_unique<edged_watch>(memory);
}

}  // namespace

std::unique_ptr<watch> make_watch(std::span<std::byte> memory, own_pages own, std::span<std::byte> mapping) {
    const std::size_t page = system::page_size();
    if (memory.empty() || kernel::is_off()) return nullptr;
    if (memory.size() <= most_compared || (own != own_pages::all && memory.size() < page))
        return std::make_unique<shadow_watch>(memory);
    if (own == own_pages::none) return nullptr;
    if (own == own_pages::inside) return watch_inside(memory);
    kernel& by = kernel::instance();
    if (!mapping.empty()) {
        if (!by.add_common(mapping)) return nullptr;
        return std::make_unique<page_watch>(memory, page_watch::of::common_mapping);
    }
    const std::span pages(memory.data(), detail::rounded_up(memory.size(), page));
    if (!by.add(pages)) return nullptr;
    return std::make_unique<page_watch>(memory, page_watch::of::own_mapping);
}

byte_ranges touched(std::span<std::byte> memory) {
    const byte_range all{0, memory.size()};
    if (!kernel::instance().usable()) return all;
    const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % system::page_size();
    const std::size_t pages = (before + memory.size() + system::page_size() - 1) / system::page_size();
    std::vector<byte_range> found;
    try {
        kernel::instance().scan({memory.data() - before, pages * system::page_size()}, kernel::look_for::touched,
                                memory, found, std::numeric_limits<std::size_t>::max());
    } catch (const error&) {
        return all;
    }
    return byte_ranges::of(std::move(found));
}

const mechanism& about() {
    static const mechanism found = [] {
        const std::string& missing = kernel::instance().missing();
        if (missing.empty()) return mechanism{true, "userfaultfd and PAGEMAP_SCAN"};
        return mechanism{false, missing};
    }();
    return found;
}

}  // namespace unibuf::tracking
