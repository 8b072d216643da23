// trace/read.cpp: reads the file of a trace.
#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "trace/file.hpp"
#include "trace/recorder.hpp"
#include "unibuf/error.hpp"

namespace unibuf {
namespace {

using trace::named;

/// Returns the text that an event has behind its key.
std::string_view text_of(const event& of) noexcept {
    const char* const begin = reinterpret_cast<const char*>(&of) + offsetof(event, begin);
    return {begin, ::strnlen(begin, trace::text_bytes)};
}

/// Adds the names, of which each thread writes its own in turn.
void add_text(const event& of, trace_file& to) {
    const auto append = [&](std::string& name) {
        if (of.to == 0) name.clear();
        if (name.size() == of.to * trace::text_bytes) name += text_of(of);
    };
    switch (static_cast<named>(of.from)) {
        case named::file:
            break;
        case named::buffer:
            return append(to.buffers[of.buffer]);
        case named::space:
            return append(to.spaces[static_cast<std::uint8_t>(of.buffer)]);
        case named::site:
            return append(to.sites[of.buffer]);
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
    while (in.read(reinterpret_cast<char*>(&each), sizeof each)) {
        if (std::exchange(first, false) && (each.kind != event_kind::text || text_of(each) != trace::magic)) {
            refuse("it is no trace of this version: UNIBUF_TRACE=file writes one");
        }
        if (each.kind == event_kind::text) {
            add_text(each, result);
        } else if (each.kind != event_kind::none && each.kind < event_kind::text) {
            result.events.push_back(each);
        }
    }
    if (first) refuse("it is empty");
    trace::sort(result.events);
    return result;
}

}  // namespace unibuf
