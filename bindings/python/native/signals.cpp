// signals.cpp
#include "signals.hpp"

#include <nanobind/nanobind.h>

#include "interpreter_lock.hpp"

namespace unibuf::python {

namespace {

unsigned long main_thread = 0;

void run_handlers(void*) {
    const taken_lock locked;
    if (in_python(PyErr_CheckSignals) != 0) nb::raise_python_error();
}

}  // namespace

void hears_signals::note_main_thread() {
    const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
    main_thread = nb::cast<unsigned long>(thread.attr("ident"));
}

hears_signals::hears_signals() {
    if (PyThread_get_thread_ident() == main_thread) asks_.emplace(run_handlers);
}

}  // namespace unibuf::python
