// tracking/watch.cpp
#include "tracking/watch.hpp"

#include "tracking/kernel.hpp"
#include "tracking/pages.hpp"
#include "tracking/shadow.hpp"

namespace unibuf::tracking {

std::unique_ptr<watch> make_watch(std::span<std::byte> memory, bool whole_pages, std::span<std::byte> mapping) {
    const std::size_t page = kernel::page();
    if (memory.empty() || kernel::is_off()) return nullptr;
    if (!whole_pages) {
        if (memory.size() >= page) return nullptr;
        return std::make_unique<shadow_watch>(memory);
    }
    kernel& by = kernel::instance();
    if (!mapping.empty()) {
        if (!by.add_common(mapping)) return nullptr;
        return std::make_unique<page_watch>(memory, page_watch::of::common_mapping);
    }
    const std::span pages(memory.data(), (memory.size() + page - 1) / page * page);
    if (!by.add(pages)) return nullptr;
    return std::make_unique<page_watch>(memory, page_watch::of::own_mapping);
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
