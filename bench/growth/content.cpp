// bench/growth/content.cpp: buffers whose bytes are newest here and there.
#include <unibuf/unibuf.hpp>

#include <array>
#include <memory>

#include "count.hpp"
#include "curve.hpp"

namespace growth::content {
namespace {

using unibuf::space;

/// A buffer of `alive` elements of four bytes that a device wrote, with one between each two that it did not.
std::shared_ptr<unibuf::buffer> in_pieces(std::size_t alive) {
    const space where("debug:0");
    auto made = std::make_shared<unibuf::buffer>(8 * (alive + 2));
    made->fill(std::array{std::byte{1}});
    made->read(where).release();
    for (std::size_t i = 0; i < alive; ++i) made->write(where, {.offset = 8 * i + 8, .count = 4}).release();
    return made;
}

const curve write_behind("content.write_in_order", logarithmic, [](std::size_t alive) {
    const auto of = in_pieces(alive);
    const space where("debug:0");
    return [=] {
        of->write(where, {.offset = 8 * (alive + 1), .count = 4}).release();
        of->read(unibuf::host, {.offset = 8 * (alive + 1), .count = 4}).release();
    };
});

const curve write_before("content.write_in_front", logarithmic, [](std::size_t alive) {
    const auto of = in_pieces(alive);
    const space where("debug:0");
    return [=] {
        of->write(where, {.offset = 0, .count = 4}).release();
        of->read(unibuf::host, {.offset = 0, .count = 4}).release();
    };
});

const curve lease("content.lease", logarithmic, [](std::size_t alive) {
    const auto of = in_pieces(alive);
    const space where("debug:0");
    return [=] { of->read(where, {.offset = 8, .count = 4}).release(); };
});

/// Pieces of which one goes and comes again, in an order that jumps.
const curve shuffled("content.write_shuffled", logarithmic, [](std::size_t alive) {
    const auto of = in_pieces(alive);
    const space where("debug:0");
    return [=, next = std::size_t{0}]() mutable {
        next = (next + 7919) % alive;
        const unibuf::access_options piece{.offset = 8 * next + 8, .count = 4};
        of->write(unibuf::host, piece).release();
        of->write(where, piece).release();
    };
});

const curve watched("content.write_watched", logarithmic, [](std::size_t alive) {
    const auto of = in_pieces(alive);
    static_cast<void>(of->host());
    for (std::size_t i = 0; i < alive; ++i) of->write(space("debug:0"), {.offset = 8 * i + 8, .count = 4}).release();
    const space where("debug:0");
    return [=, next = std::size_t{0}]() mutable {
        next = (next + 7919) % alive;
        of->write(where, {.offset = 8 * next + 8, .count = 4}).release();
    };
});

/// Pages of which a device has newer bytes, and the host others, with a pointer out.
const curve mixed_pages("content.pages_of_two", logarithmic, [](std::size_t alive) {
    const space where("debug:0");
    auto of = std::make_shared<unibuf::buffer>(4096 * alive);
    static_cast<void>(of->host());
    of->read(where).release();
    for (std::size_t i = 0; i < alive; ++i) of->write(where, {.offset = 4096 * i + 100, .count = 50}).release();
    return [=] { of->write(where, {.offset = 100, .count = 50}).release(); };
});

const curve whole_lease("content.whole_lease", flat, [](std::size_t alive) {
    const auto of = in_pieces(alive);
    const space where("debug:0");
    return [=] { of->read(where).release(); };
});

const curve whole_read("content.whole_read", linear, [](std::size_t alive) {
    const auto of = in_pieces(alive / 10);
    const space where("debug:0");
    return [=] {
        for (std::size_t i = 0; i < alive / 10; ++i) of->write(where, {.offset = 8 * i + 8, .count = 4}).release();
        of->read(unibuf::host).release();
    };
});

constexpr std::size_t row = 256;  // elements: four rows are a page

/// A column, with a pointer out.
const curve column("content.column_watched", linear, [](std::size_t alive) {
    const space where("debug:0");
    auto of = std::make_shared<unibuf::unified_buffer<int>>(unibuf::shape{alive / 10, row});
    of->fill(1);
    static_cast<void>(of->bytes().host());
    of->read(where).release();
    return [=] {
        auto one = of->view(unibuf::slice{0, alive / 10}, unibuf::slice{4, 5});
        one.write(where).release();
        one.read(unibuf::host).release();
    };
});

/// An access beside a column that a device wrote, with a pointer out.
const curve beside_column("content.lease_beside_column", flat, [](std::size_t alive) {
    const space where("debug:0");
    auto of = std::make_shared<unibuf::unified_buffer<int>>(unibuf::shape{alive, row});
    of->fill(1);
    static_cast<void>(of->bytes().host());
    of->read(where).release();
    of->view(unibuf::slice{0, alive}, unibuf::slice{4, 5}).write(where).release();
    return [=] { of->bytes().read(where, {.offset = 0, .count = 4}).release(); };
});

const curve state("content.state", flat, [](std::size_t alive) {
    const auto of = in_pieces(alive);
    return [=] { cost::use(of->state()); };
});

const curve current_at("content.current_at", flat, [](std::size_t alive) {
    const auto of = in_pieces(alive);
    return [=] { cost::use(of->current_at()); };
});

/// Blocks of a checkerboard, of which a device wrote every other one.
std::shared_ptr<unibuf::unified_buffer<int>> checkerboard(std::size_t alive) {
    const space where("debug:0");
    std::size_t side = 2;
    while (side * side / 2 < alive) side += 2;
    auto made = std::make_shared<unibuf::unified_buffer<int>>(unibuf::shape{4 * side, 4 * side});
    made->fill(1);
    made->read(where).release();
    for (std::size_t row = 0; row < side; ++row) {
        for (std::size_t column = row % 2; column < side; column += 2) {
            auto block = made->view(unibuf::slice{4 * row, 4 * row + 4}, unibuf::slice{4 * column, 4 * column + 4});
            block.write(where).release();
        }
    }
    return made;
}

const curve rectangles("content.rectangles", logarithmic, [](std::size_t alive) {
    const auto of = checkerboard(alive);
    const space where("debug:0");
    return [=] {
        auto block = of->view(unibuf::slice{0, 4}, unibuf::slice{4, 8});
        block.write(where).release();
        block.read(unibuf::host).release();
    };
});

const curve beside_rectangles("content.lease_beside_rectangles", flat, [](std::size_t alive) {
    const auto of = checkerboard(alive);
    const space where("debug:0");
    return [=] { of->read(where, {.offset = 0, .count = 4}).release(); };
});

}  // namespace
}  // namespace growth::content
