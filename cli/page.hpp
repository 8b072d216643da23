// cli/page.hpp: a trace as a page for a browser.
#pragma once

#include <string>
#include <string_view>

#include "unibuf/trace.hpp"

namespace unibuf_cli {

/// Returns the page, which needs no network. `name` is its title.
std::string page_of(const unibuf::trace_file& of, std::string_view name);

// These are made of files when the tool is built. Without Chart.js, which draws the charts, it is empty.
extern const std::string_view page_template;
extern const std::string_view chart_library;

}  // namespace unibuf_cli
