// trace/read.cpp: reads the file of a trace.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "trace/file.hpp"
#include "trace/recorder.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf {
namespace {

using trace::named;

// Rectangles are looked at row by row while there are no more,
constexpr std::uint64_t most_rows = 1 << 20;         // in one,
constexpr std::uint64_t most_rows_in_all = 1 << 24;  // and in a file.

/// Returns the text that an event has behind its key.
std::string_view text_of(const event& of) noexcept {
    const char* const begin = reinterpret_cast<const char*>(&of) + offsetof(event, begin);
    return {begin, ::strnlen(begin, trace::text_bytes)};
}

/// Returns whether an event can be one: a program that ends while it writes one leaves a part of it, and a file may be
/// damaged.
bool is_whole(const event& of) noexcept {
    if (of.kind > event_kind::text || of.why > cause::eviction || of.what > access::read_write) return false;
    if (of.from >= max_spaces || of.to >= max_spaces || of.route > transfer_route::by_host) return false;
    if (of.axes > hull_only || of.begin > of.end) return false;
    if (of.time > std::numeric_limits<std::int64_t>::max() || of.took > of.time) return false;
    if (of.axes == 0 || of.axes == hull_only) return true;
    const std::uint64_t inner = of.axes == 2 ? of.counts[1] : 1;
    std::uint64_t rows = 0, bytes = 0, first = 0, second = 0, last = 0;
    return !__builtin_mul_overflow(std::uint64_t{of.counts[0]}, inner, &rows) && rows != 0 && of.row_bytes != 0 &&
           !__builtin_mul_overflow(rows, of.row_bytes, &bytes) && bytes <= of.end - of.begin &&
           !__builtin_mul_overflow(of.counts[0] - 1, of.pitches[0], &first) &&
           !__builtin_mul_overflow(inner - 1, of.pitches[1], &second) &&
           !__builtin_add_overflow(first, second, &last) && !__builtin_add_overflow(last, of.row_bytes, &last) &&
           last <= of.end - of.begin;
}

/// Takes the rows of rectangles one by one while they are few enough to be looked at, and else what lies between the
/// first byte and the last. A file of a few events might ask for more rows than there is time and memory for.
void limit_rows(event& of, std::uint64_t& left) noexcept {
    if (of.axes == 0 || of.axes == hull_only) return;
    const std::uint64_t rows = std::uint64_t{of.counts[0]} * (of.axes == 2 ? of.counts[1] : 1);
    if (rows <= std::min(left, most_rows)) {
        left -= rows;
    } else {
        of.axes = hull_only;
    }
}

/// Adds the names, of which each thread writes its own in turn.
void add_text(const event& of, trace_file& to) {
    const auto append = [&](std::string& name) {
        if (of.to == 0) name.clear();
        if (name.size() == of.to * trace::text_bytes) name += text_of(of);
    };
    switch (static_cast<named>(of.from)) {  // what is none of these is damaged
        case named::file:
            break;
        case named::buffer:
            return append(to.buffers[of.buffer]);
        case named::space:
            return append(to.spaces[static_cast<std::uint8_t>(of.buffer)]);
        case named::site:
            return append(to.sites[of.buffer]);
        case named::untracked:
            return append(to.untracked);
    }
}

}  // namespace

trace_file read_trace(const std::string& file) {
    const auto refuse = [&](std::string_view why) {
        throw error(error_code::invalid_argument, fmt::format("a trace was to be read from {}: {}", file, why));
    };
    std::ifstream in(file, std::ios::binary);
    if (!in) refuse(std::strerror(errno));
    trace_file result;
    event each;
    bool first = true;
    std::uint64_t rows_left = most_rows_in_all;
    while (in.read(reinterpret_cast<char*>(&each), sizeof each)) {
        if (std::exchange(first, false) && (each.kind != event_kind::text || text_of(each) != trace::magic)) {
            refuse("it is no trace of this version: UNIBUF_TRACE=file writes one");
        }
        if (each.kind == event_kind::text) {
            add_text(each, result);
        } else if (each.kind != event_kind::none && is_whole(each)) {
            limit_rows(each, rows_left);
            result.events.push_back(each);
        }
    }
    if (in.bad()) refuse(std::strerror(errno));
    if (first) refuse(in.gcount() == 0 ? "it is empty" : "it is no trace: UNIBUF_TRACE=file writes one");
    trace::sort(result.events);
    return result;
}

}  // namespace unibuf
