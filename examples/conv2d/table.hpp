// conv2d/table.hpp: shows what was measured, as a table and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "conv2d.hpp"

namespace conv2d {

/// One mode on one space, or a space that is not there.
struct row {
    std::string space;
    std::optional<mode> how = {};           // nothing where the space as a whole is unavailable
    std::optional<measurement> found = {};  // nothing where `reason` says why
    std::string reason = {};
};

/// Returns a table for people. The last column compares with the copying version on the same space.
std::string to_table(const std::vector<row>& rows);

/// Returns a list of {space, mode, milliseconds, bytes_copied, peak_bytes, fence_waits, ratio}, or {space, mode,
/// unavailable}.
nlohmann::ordered_json to_json(const std::vector<row>& rows);

}  // namespace conv2d
