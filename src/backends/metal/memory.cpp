// backends/metal/memory.cpp: an MTLBuffer, and what can be done with it.
#include "backends/metal/memory.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

#include "backends/poll.hpp"

namespace unibuf::backends::metal {
namespace {

constexpr std::size_t most_under_way = 4;

std::size_t up_to_word(std::size_t bytes) noexcept { return (bytes + blit_word - 1) / blit_word * blit_word; }

/// Encodes a copy of bytes that lie together: whole words by the copy engine, what is left by a kernel.
void encode_copy(context& in, id commands, id from, std::size_t from_offset, id to, std::size_t to_offset,
                 std::size_t bytes) {
    const auto by_kernel = [&](std::size_t skipped, std::size_t count) {
        if (count == 0) return;
        const slab row{
            .row_bytes = count, .here = {.offset = to_offset + skipped}, .there = {.offset = from_offset + skipped}};
        in.kernels.copy(commands, from, to, row);
    };
    if (from_offset % blit_word != to_offset % blit_word) return by_kernel(0, bytes);
    const std::size_t head = std::min(bytes, up_to_word(to_offset) - to_offset);
    const std::size_t words = (bytes - head) / blit_word * blit_word;
    if (words != 0) {
        const id encoder = blit_encoder(commands);
        if (!encoder) throw error(error_code::transfer_failed, "Metal makes no blit encoder");
        metal::copy(encoder, from, from_offset + head, to, to_offset + head, words);
        end_encoding(encoder);
    }
    by_kernel(0, head);
    by_kernel(head + words, bytes - head - words);
}

void encode_rows(context& in, id commands, id from, id to, const rectangle_copy& rows) {
    for_each_slab(rows, [&](const slab& each) { in.kernels.copy(commands, from, to, each); });
}

/// Returns the same rows, where `there` has no gaps.
rectangle_copy from_packed(const rectangle_copy& what) {
    rectangle_copy result = what;
    result.there = rectangle_copy::end::without_gaps(what.row_bytes, what.axes, what.counts);
    return result;
}

/// Waits, and throws nothing.
void settle(const std::deque<fence>& started) noexcept {
    for (const fence& each : started) is_over(each, forever);
}

}  // namespace

fence buffer_memory::write(std::size_t offset, std::span<const std::byte> from, queue on) {
    std::deque<fence> under_way;
    try {
        while (!from.empty()) {
            const std::size_t bytes = std::min(from.size(), staging::block_bytes);
            if (under_way.size() == most_under_way) {
                under_way.front().wait();
                under_way.pop_front();
            }
            const std::size_t begin = offset % blit_word;  // so that both ends lie alike
            staging::block block = in_.staging.take(begin + bytes);
            std::memcpy(block.bytes + begin, from.data(), bytes);
            const auto encode = [&](id commands) {
                encode_copy(in_, commands, block.buffer.get(), begin, native(), offset, bytes);
            };
            std::vector<fence> earlier;
            if (bytes == from.size()) earlier.assign(under_way.begin(), under_way.end());
            under_way.push_back(in_.work.submit(on, encode, std::move(earlier)));
            in_.staging.give_back(std::move(block), under_way.back());
            on = {.native = on ? on.native : in_.work.own()};  // what comes next is behind this
            offset += bytes;
            from = from.subspan(bytes);
        }
    } catch (...) {
        settle(under_way);
        throw;
    }
    return under_way.back();
}

/// Returns when all is at the host: the host has to take it out of the staging memory itself.
fence buffer_memory::read(std::size_t offset, std::span<std::byte> to, queue on) {
    struct part {
        staging::block block;
        std::byte* begin;
        std::span<std::byte> to;
    };
    std::deque<part> parts;
    std::deque<fence> under_way;
    const auto finish_first = [&] {
        under_way.front().wait();
        part& first = parts.front();
        std::memcpy(first.to.data(), first.begin, first.to.size());
        in_.staging.give_back(std::move(first.block), {});
        parts.pop_front();
        under_way.pop_front();
    };
    try {
        while (!to.empty()) {
            if (under_way.size() == most_under_way) finish_first();
            const std::size_t bytes = std::min(to.size(), staging::block_bytes);
            // Whole words are read, also of what lies beside.
            const std::size_t begin = offset / blit_word * blit_word;
            const std::size_t words = up_to_word(offset + bytes) - begin;
            parts.push_back({.block = in_.staging.take(words), .begin = nullptr, .to = to.first(bytes)});
            const staging::block& block = parts.back().block;
            parts.back().begin = block.bytes + (offset - begin);
            under_way.push_back(in_.work.submit(
                on, [&](id commands) { encode_copy(in_, commands, native(), begin, block.buffer.get(), 0, words); }));
            on = {.native = on ? on.native : in_.work.own()};
            offset += bytes;
            to = to.subspan(bytes);
        }
        while (!under_way.empty()) finish_first();
    } catch (...) {
        settle(under_way);
        throw;
    }
    return {};
}

bool buffer_memory::takes_from(const memory& other) const noexcept {
    const auto* const source = dynamic_cast<const buffer_memory*>(&other);
    return source && &source->in_ == &in_;
}

fence buffer_memory::write_from(memory& other, std::size_t from, std::size_t offset, std::size_t bytes, queue on) {
    return in_.work.submit(on, [&](id commands) {
        encode_copy(in_, commands, reinterpret_cast<id>(other.handle()), from, native(), offset, bytes);
    });
}

fence buffer_memory::write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) {
    staging::block block = in_.staging.take(what.bytes());
    const rectangle_copy rows = from_packed(what);
    rectangle_copy packed = rows.turned();
    packed.there = what.there;
    copy_rows(packed, block.bytes, host);
    fence done =
        in_.work.submit(on, [&](id commands) { encode_rows(in_, commands, block.buffer.get(), native(), rows); });
    in_.staging.give_back(std::move(block), done);
    return done;
}

/// Returns when all is at the host, as read() does.
fence buffer_memory::read_rectangle(const rectangle_copy& what, std::byte* host, queue on) {
    staging::block block = in_.staging.take(what.bytes());
    const rectangle_copy rows = from_packed(what).turned();
    in_.work.submit(on, [&](id commands) { encode_rows(in_, commands, native(), block.buffer.get(), rows); }).wait();
    rectangle_copy unpacked = rows.turned();
    unpacked.here = what.there;
    copy_rows(unpacked, host, block.bytes);
    in_.staging.give_back(std::move(block), {});
    return {};
}

fence buffer_memory::write_rectangle_from(memory& other, const rectangle_copy& what, queue on) {
    return in_.work.submit(
        on, [&](id commands) { encode_rows(in_, commands, reinterpret_cast<id>(other.handle()), native(), what); });
}

fence buffer_memory::fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) {
    const bool uniform = std::ranges::all_of(pattern, [&](std::byte each) { return each == pattern[0]; });
    const std::size_t begin = std::min(offset + bytes, up_to_word(offset));
    const std::size_t words = uniform ? (offset + bytes - begin) / blit_word * blit_word : 0;
    const bool by_kernel = words != bytes;
    staging::block block;
    if (by_kernel) {
        block = in_.staging.take(pattern.size());
        std::ranges::copy(pattern, block.bytes);
    }
    fence done = in_.work.submit(on, [&](id commands) {
        const auto fill_rest = [&](std::size_t at, std::size_t count) {
            if (count != 0) in_.kernels.fill(commands, native(), at, count, block.buffer.get(), pattern.size());
        };
        if (words == 0) return fill_rest(offset, bytes);
        const id encoder = blit_encoder(commands);
        if (!encoder) throw error(error_code::transfer_failed, "Metal makes no blit encoder");
        metal::fill(encoder, native(), {begin, words}, std::to_integer<std::uint8_t>(pattern[0]));
        end_encoding(encoder);
        fill_rest(offset, begin - offset);
        fill_rest(begin + words, offset + bytes - begin - words);
    });
    if (by_kernel) in_.staging.give_back(std::move(block), done);
    return done;
}

}  // namespace unibuf::backends::metal
