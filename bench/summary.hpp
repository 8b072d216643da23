// bench/summary.hpp: shows the claims with their figures, as a table and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "claim.hpp"

namespace bench {

/// The figures of one situation of a claim.
struct found_case {
    std::string name;
    figures found;
};

/// One row of the table. Where it has no figures, the note says why.
struct outcome {
    std::string name;
    std::string unit;
    std::string goal;
    std::optional<figures> found = {};
    std::optional<bool> holds = {};  // nothing where hardware is missing
    bool failed = false;             // a case could not be measured, though its hardware is there
    std::string note = {};
    std::vector<found_case> cases = {};  // all cases that could be measured
};

/// Returns a list of {name, unit, measured, limit, ratio, goal, holds, cases}, with a note where there is something to
/// say.
nlohmann::ordered_json to_json(const std::vector<outcome>& outcomes);

/// Returns a table for people. Claims that miss their goal stand last.
std::string to_table(const std::vector<outcome>& outcomes);

}  // namespace bench
