// trace_calls.cpp: traces, and what they say.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unibuf/guard.hpp>
#include <unibuf/trace.hpp>

#include "module.hpp"
#include "options.hpp"
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

/// Returns from, to, bytes and cause of the last transfers of a buffer that are known, oldest first.
std::vector<nb::tuple> last_transfers(nb::handle buffer, std::size_t most) {
    const std::uint64_t id = buffer_of(buffer, "transfers are those of a UnifiedBuffer").bytes().id();
    const std::vector<event> events = unlocked([&] {
        std::vector<event> all = recorded_events();
        std::erase_if(all, [&](const event& each) { return each.buffer != id || each.kind != event_kind::transfer; });
        return all;
    });
    const trace_file names;
    std::vector<nb::tuple> result;
    for (std::size_t i = events.size() - std::min(most, events.size()); i < events.size(); ++i) {
        result.push_back(nb::make_tuple(names.space_name(events[i].from), names.space_name(events[i].to),
                                        events[i].bytes, std::string(to_string(events[i].why))));
    }
    return result;
}

std::vector<nb::tuple> findings_of_file(const std::string& file) {
    const trace_file read = unlocked([&] { return read_trace(file); });
    std::vector<nb::tuple> result;
    for (const finding& each : unlocked([&] { return diagnose(read.events, read); })) {
        result.push_back(nb::make_tuple(std::string(to_string(each.kind)), read.site_name(each.site), each.times,
                                        each.bytes, static_cast<double>(each.took) / 1e9, each.evidence, each.change));
    }
    return result;
}

transfer_link link_of(nb::handle from, nb::handle to) {
    const auto given = [](nb::handle name) {
        return name.is_none() ? std::nullopt : std::optional(named_space_of(name));
    };
    return {.from = given(from), .to = given(to)};
}

/// Ends when it is told to, and not where the interpreter finds time.
struct guard_of_block {
    std::optional<transfer_guard> held;
};

void define_guards(nb::module_& in) {
    nb::class_<guard_of_block>(in, "Guard").def("end", [](guard_of_block& of) { of.held.reset(); });
    in.def(
        "guard",
        [](int action, nb::handle from, nb::handle to) {
            auto made = std::make_unique<guard_of_block>();
            made->held.emplace(static_cast<guard_action>(action), link_of(from, to));
            return made;
        },
        "action"_a, "from_"_a.none(), "to"_a.none());
    nb::class_<transfer_budget>(in, "Budget")
        .def("moved", [](const transfer_budget& of) { return of.moved(); })
        .def("check", [](const transfer_budget& of) { of.check(); });
    in.def(
        "budget",
        [](nb::handle nbytes, nb::handle from, nb::handle to) {
            return std::make_unique<transfer_budget>(size_of(nbytes, "a budget is a number of bytes that"),
                                                     link_of(from, to));
        },
        "nbytes"_a.none(), "from_"_a.none(), "to"_a.none());
}

}  // namespace

void define_trace(nb::module_& in) {
    define_guards(in);
    in.def(
        "write_trace",
        [](const std::string& file, bool close) {
            return unlocked([&] { return write_trace(file, close ? trace_detail::close : trace_detail::events); });
        },
        "file"_a, "close"_a);
    in.def("stop_trace", [] { unlocked([] { stop_trace(); }); });
    in.def(
        "keep_events", [](nb::handle each_thread) { keep_events(size_of(each_thread, "a number of events")); },
        "each_thread"_a, nb::sig("def keep_events(each_thread: int) -> None"));
    in.def("why", why_of, "buffer"_a.none().lock());
    in.def("last_transfers", last_transfers, "buffer"_a.none().lock(), "most"_a,
           nb::sig("def last_transfers(buffer: object, most: int) -> list[tuple[str, str, int, str]]"));
    in.def("findings_of_file", findings_of_file, "file"_a,
           nb::sig("def findings_of_file(file: str) -> list[tuple[str, str, int, int, float, str, str]]"));
    in.def(
        "recorded_traffic", [] { return as_tuple(unlocked([] { return traffic_of(recorded_events()); })); },
        nb::sig("def recorded_traffic() -> tuple[int, int, int, int, int]"));
    in.def(
        "traffic_of_file",
        [](const std::string& file) { return as_tuple(unlocked([&] { return traffic_of(read_trace(file).events); })); },
        "file"_a, nb::sig("def traffic_of_file(file: str) -> tuple[int, int, int, int, int]"));
}

}  // namespace unibuf::python
