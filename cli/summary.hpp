// cli/summary.hpp: a trace, summed up.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "unibuf/trace.hpp"

namespace unibuf_cli {

struct counted {
    std::uint64_t transfers = 0;
    std::uint64_t bytes = 0;

    void add(const unibuf::event& made) {
        ++transfers;
        bytes += made.bytes;
    }
};

struct summary {
    explicit summary(const unibuf::trace_file& of);

    unibuf::traffic all;
    std::map<std::tuple<std::string, std::string, std::string>, counted> routes;  // by from, to and cause
    std::vector<std::pair<std::string, counted>> sites;                           // what moved most comes first
    std::vector<std::pair<std::uint64_t, unibuf::traffic>> buffers;  // what moved most without need comes first
};

/// Returns "1.25", or "inf".
std::string ratio_text(const unibuf::traffic& of);

nlohmann::ordered_json to_json(const summary& of);
nlohmann::ordered_json to_json(const unibuf::finding& of, const std::string& line);

/// Returns JSON as text. What is no UTF-8 in it, such as a name of a file, is replaced.
std::string text_of(const nlohmann::ordered_json& of, int indent = 2);

}  // namespace unibuf_cli
