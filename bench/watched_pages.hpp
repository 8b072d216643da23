// bench/watched_pages.hpp: memory whose writes a program finds by itself, with the calls that Linux has for that.
#pragma once

#include <cstddef>
#include <span>

namespace bench {

/// Pages of 1, all watched. One object of this class at a time.
class watched_pages {
public:
    /// Throws unibuf::error(device_unavailable) where the kernel does not watch.
    explicit watched_pages(std::size_t bytes);
    ~watched_pages();
    watched_pages(const watched_pages&) = delete;
    watched_pages& operator=(const watched_pages&) = delete;

    std::byte* data() const noexcept { return data_; }

    /// Returns the first run of pages that were written since the last call, and watches it anew.
    std::span<std::byte> written() const;

private:
    std::size_t bytes_;
    int faults_;
    int pagemap_;
    std::byte* data_ = nullptr;
};

}  // namespace bench
