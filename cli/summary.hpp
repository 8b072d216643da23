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

struct buffer_traffic {
    std::uint64_t id;
    std::string name;
    unibuf::traffic sum;
};

struct summary {
    explicit summary(const unibuf::trace_file& of);

    unibuf::traffic all;
    std::string untracked;                                                        // unibuf::trace_file::untracked
    std::map<std::tuple<std::string, std::string, std::string>, counted> routes;  // by from, to and cause
    std::vector<std::pair<std::string, counted>> sites;                           // what moved most comes first
    std::vector<buffer_traffic> buffers;  // what moved most without need comes first
};

/// A finding with the names that a trace has.
struct named_finding : unibuf::finding {
    named_finding(const unibuf::finding& found, const unibuf::trace_file& of)
        : finding(found), line(of.site_name(site)), of_buffer(of.buffer_name(buffer)) {}

    std::string line;
    std::string of_buffer;
};

/// Returns what could be better, what took longest first.
std::vector<named_finding> findings_of(const unibuf::trace_file& of);

/// Returns "1.25", or "inf".
std::string ratio_text(const unibuf::traffic& of);

nlohmann::ordered_json to_json(const summary& of);
nlohmann::ordered_json to_json(const named_finding& of);

/// Returns JSON as text. What is no UTF-8 in it, such as a name of a file, is replaced.
std::string text_of(const nlohmann::ordered_json& of, int indent = 2);

}  // namespace unibuf_cli
