// signals.cpp: who ends the waits of a call: signals, and those who cancel it.
#include "signals.hpp"

#include <nanobind/nanobind.h>

#include "call_site.hpp"
#include "interpreter_lock.hpp"
#include "module.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

unsigned long main_thread = 0;

void run_handlers(void*) {
    const taken_lock locked;
    if (in_python(PyErr_CheckSignals) != 0) nb::raise_python_error();
}

void call_check(void* check) {
    const taken_lock locked;
    in_python([&] { return nb::handle(static_cast<PyObject*>(check))(); });
}

/// Calls `act` with `arguments` for the line `running` of another thread, and `check` now and then as long as it waits
/// for something of the library. What `check` raises ends it.
void call_while(nb::handle check, std::uint64_t running, nb::handle act, const nb::args& arguments) {
    const interruptible asks(call_check, check.ptr());
    const working_for place(running);
    in_python([&] { return act(*arguments); });
}

}  // namespace

void hears_signals::note_main_thread() {
    const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
    main_thread = nb::cast<unsigned long>(thread.attr("ident"));
}

hears_signals::hears_signals() {
    if (PyThread_get_thread_ident() == main_thread) asks_.emplace(run_handlers);
}

void define_cancelling(nb::module_& in) {
    // The thread that forks is the main one of its child.
    const nb::object noted = nb::cpp_function(&hears_signals::note_main_thread);
    nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") = noted);
    in.def("call_while", call_while, "check"_a, "running"_a, "act"_a, "arguments"_a,
           nb::sig("def call_while(check: collections.abc.Callable[[], object], running: int, "
                   "act: collections.abc.Callable[..., object], *arguments: typing.Any) -> None"));
}

}  // namespace unibuf::python
