// tool.cpp: the command-line tool, for `python -m unibuf`.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tool.hpp>
#include <vector>

#include "module.hpp"
#include "without_interpreter.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

int run_tool(const std::vector<std::string>& arguments) {
#ifdef UNIBUF_PYTHON_TOOL
    std::vector<const char*> texts = {"unibuf"};
    for (const std::string& each : arguments) texts.push_back(each.c_str());
    texts.push_back(nullptr);
    return unlocked([&] { return unibuf_cli::run_tool(static_cast<int>(texts.size()) - 1, texts.data()); });
#else
    static_cast<void>(arguments);
    throw error(error_code::unsupported,
                "the command-line tool was asked for, but this package was built without it: where it was built there "
                "was no CLI11 or no nlohmann/json");
#endif
}

}  // namespace

void define_tool(nb::module_& in) { in.def("run_tool", run_tool, "arguments"_a); }

}  // namespace unibuf::python
