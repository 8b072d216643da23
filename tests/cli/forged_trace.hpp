// tests/cli/forged_trace.hpp: writes traces that no program has written.
#pragma once

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/file.hpp"
#include "unibuf/trace.hpp"

namespace unibuf::cli {

class forged_trace {
public:
    forged_trace() { name(trace::named::file, 0, trace::magic); }

    /// Adds a name, in as many events as that takes.
    void name(trace::named what, std::uint64_t key, std::string_view text) {
        for (std::uint8_t part = 0; part == 0 || !text.empty(); ++part) {
            event made{.kind = event_kind::text, .from = static_cast<std::uint8_t>(what), .to = part, .buffer = key};
            const std::size_t length = std::min(text.size(), trace::text_bytes);
            std::memcpy(reinterpret_cast<char*>(&made) + offsetof(event, begin), text.data(), length);
            text.remove_prefix(length);
            add(made);
        }
    }

    void add(const event& made) { all_.push_back(made); }

    /// Adds a transfer of a buffer of 1 MB from the host to space 1, which a place of this name asked for.
    void transfer(std::uint64_t number, std::string_view place) {
        name(trace::named::site, number, place);
        add({.time = 1000 * number + 1000,
             .kind = event_kind::transfer,
             .to = 1,
             .process = 1,
             .buffer = 1,
             .end = 1'000'000,
             .bytes = 1'000'000,
             .took = 10,
             .site = number});
    }

    void write(const std::string& file) const {
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<const char*>(all_.data()),
                   static_cast<std::streamsize>(all_.size() * sizeof(event)));
    }

private:
    std::vector<event> all_;
};

}  // namespace unibuf::cli
