// tool.cpp: the command-line tool, for `python -m unibuf`, and its pages.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <lines.hpp>
#include <page.hpp>
#include <string>
#include <tool.hpp>
#include <vector>

#include "module.hpp"
#include "without_interpreter.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

#ifdef UNIBUF_PYTHON_TOOL
int run_tool(const std::vector<std::string>& arguments) {
    std::vector<const char*> texts = {"unibuf"};
    for (const std::string& each : arguments) texts.push_back(each.c_str());
    texts.push_back(nullptr);
    return unlocked([&] { return unibuf_cli::run_tool(static_cast<int>(texts.size()) - 1, texts.data()); });
}

std::string page_of_file(const std::string& file) {
    return unlocked([&] { return unibuf_cli::page_of(unibuf_cli::trace_with_lines(file), file); });
}
#else
[[noreturn]] void refuse() {
    throw error(error_code::unsupported,
                "the command-line tool was asked for, but this package was built without it: where it was built there "
                "was no CLI11 or no nlohmann/json");
}

int run_tool(const std::vector<std::string>&) { refuse(); }
std::string page_of_file(const std::string&) { refuse(); }
#endif

}  // namespace

void define_tool(nb::module_& in) {
    in.def("run_tool", run_tool, "arguments"_a);
    in.def("page_of_file", page_of_file, "file"_a);
}

}  // namespace unibuf::python
