// trace_calls.cpp: traces, and what they say.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <unibuf/trace.hpp>

#include "module.hpp"
#include "typed_buffer.hpp"
#include "without_interpreter.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

nb::tuple as_tuple(const traffic& of) { return nb::make_tuple(of.moved, of.least, of.declared, of.found, of.assumed); }

std::vector<std::string> why_of(nb::handle buffer) {
    const std::uint64_t id = buffer_of(buffer, "events are those of a UnifiedBuffer").bytes().id();
    return unlocked([&] { return why(recorded_events(), id); });
}

}  // namespace

void define_trace(nb::module_& in) {
    in.def(
        "write_trace", [](const std::string& file) { return unlocked([&] { return write_trace(file); }); }, "file"_a);
    in.def("stop_trace", [] { unlocked([] { stop_trace(); }); });
    in.def("keep_events", [](std::size_t each_thread) { keep_events(each_thread); }, "each_thread"_a);
    in.def("why", why_of, "buffer"_a.none().lock());
    in.def(
        "recorded_traffic", [] { return as_tuple(unlocked([] { return traffic_of(recorded_events()); })); },
        nb::sig("def recorded_traffic() -> tuple[int, int, int, int, int]"));
    in.def(
        "traffic_of_file",
        [](const std::string& file) { return as_tuple(unlocked([&] { return traffic_of(read_trace(file).events); })); },
        "file"_a, nb::sig("def traffic_of_file(file: str) -> tuple[int, int, int, int, int]"));
}

}  // namespace unibuf::python
