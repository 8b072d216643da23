// bench/settle.hpp: whether a claim holds, of several cases.
#pragma once

#include <functional>

#include "claim.hpp"
#include "summary.hpp"

namespace bench {

/// Returns the worst case of a claim, by `measure`. Cases without their hardware are named in the note, and keep the
/// claim from holding. A case that fails makes the claim miss its goal.
outcome settle(const claim& claim, const std::function<figures(const situation&)>& measure);

}  // namespace bench
