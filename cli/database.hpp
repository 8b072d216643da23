// cli/database.hpp: a trace as a database of SQLite, for traces of millions of events.
#pragma once

#include <string>

#include "unibuf/trace.hpp"

namespace unibuf_cli {

/// Writes tables `event`, `space` and `site`; what is in a file of that name goes. Throws error(unsupported) where the
/// tool was built without SQLite.
void write_database(const unibuf::trace_file& of, const std::string& name);

}  // namespace unibuf_cli
