// bench/growth/tracking.cpp: stores through a pointer, among many bytes that it may reach.
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "count.hpp"
#include "curve.hpp"

namespace growth::tracking {
namespace {

constexpr std::size_t page = 4096;

/// A buffer of so many pages with a pointer out, current at the host and at debug:0.
struct watched {
    explicit watched(std::size_t pages) : buffer(pages * page), first(buffer.host()) {
        std::fill_n(first, pages * page, std::byte{1});
        buffer.read(unibuf::space("debug:0")).release();
    }

    unibuf::buffer buffer;
    std::byte* first;
};

/// A store into one page, which a read of all at the device finds.
const curve one_page("tracking.one_page", flat, [](std::size_t alive) {
    const auto of = std::make_shared<watched>(alive);
    return [=, next = std::size_t{0}]() mutable {
        next = (next + 7919) % alive;
        of->first[next * page] ^= std::byte{1};
        of->buffer.read(unibuf::space("debug:0")).release();
    };
});

/// Stores into a hundredth of the pages.
const curve scattered("tracking.one_page_of_100", linear, [](std::size_t alive) {
    const std::size_t pages = 10 * alive;
    const auto of = std::make_shared<watched>(pages);
    return [=] {
        for (std::size_t at = 0; at < pages; at += 100) of->first[at * page] ^= std::byte{1};
        of->buffer.read(unibuf::space("debug:0")).release();
    };
});

/// A column of a hundredth as many narrow rows, a thousand of which lie in a page, that a device writes and the host
/// reads.
const curve column("tracking.narrow_column", linear, [](std::size_t alive) {
    const std::size_t rows = alive / 100;
    const auto of = std::make_shared<unibuf::unified_buffer<unsigned char>>(unibuf::shape(rows, 4));
    std::fill_n(of->host(), of->size(), std::uint8_t{1});
    return [=] {
        of->view(unibuf::slice{0, rows}, unibuf::slice{1, 2}).fill(7, unibuf::space("debug:0"));
        of->read(unibuf::host).release();
    };
});

/// One column of the rows of `width` bytes that a buffer is cut into.
unibuf::buffer column_of(unibuf::buffer& of, std::size_t width) {
    const std::size_t rows = of.size_bytes() / width;
    const std::array<unibuf::slice, 2> one{unibuf::slice{}, unibuf::slice{1, 2}};
    return of.view(0, rows * width).view(unibuf::shape(rows, width), 1, one);
}

/// A column that the host reads among those of another layout, which a device has written.
const curve layouts("tracking.two_layouts", linear, [](std::size_t alive) {
    const auto of = std::make_shared<unibuf::buffer>(66 + alive / 10);
    std::fill_n(of->host(), of->size_bytes(), std::byte{1});
    return [=] {
        const unibuf::space device("debug:0");
        of->read(device).release();
        column_of(*of, 2).write(device).release();
        column_of(*of, 33).read(unibuf::host).release();
        of->mark_host_dirty();
    };
});

}  // namespace
}  // namespace growth::tracking
