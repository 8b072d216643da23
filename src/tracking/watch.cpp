// tracking/watch.cpp
#include "tracking/watch.hpp"

#include "tracking/kernel.hpp"
#include "tracking/pages.hpp"
#include "tracking/shadow.hpp"

namespace unibuf::tracking {

std::unique_ptr<watch> make_watch(std::span<std::byte> memory, bool whole_pages) {
    const std::size_t page = kernel::page();
    if (memory.empty() || kernel::is_off()) return nullptr;
    if (!whole_pages) {
        if (memory.size() >= page) return nullptr;
        return std::make_unique<shadow_watch>(memory);
    }
    const std::span pages(memory.data(), (memory.size() + page - 1) / page * page);
    if (!kernel::instance().add(pages)) return nullptr;
    return std::make_unique<page_watch>(memory);
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
