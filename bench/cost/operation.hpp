// bench/cost/operation.hpp: the operations whose costs are counted.
//
// A source in this folder has one counted by defining an object at namespace scope:
//
//     const cost::operation mine("area.what", [](const char* name) { cost::count(name, [&] { ... }); });
#pragma once

#include <map>
#include <string>

namespace cost {

/// Counts an operation under its name. Throws unibuf::error(device_unavailable) where this machine lacks what that
/// needs.
using counting = void (*)(const char* name);

/// Returns all operations, by name.
std::map<std::string, counting>& operations();

struct operation {
    operation(const char* name, counting how) { operations().emplace(name, how); }
};

}  // namespace cost
