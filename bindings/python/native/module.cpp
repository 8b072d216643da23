// module.cpp: unibuf._native, what the Python package has of the library.
#include "module.hpp"

#include "errors.hpp"
#include "memory.hpp"
#include "signals.hpp"

using namespace unibuf::python;

namespace {

// The types of the module, and the objects of NumPy that it keeps, are one set for the process.
bool is_loaded = false;

constexpr const char* in_sub_interpreter =
    "unibuf was to be imported in a sub-interpreter; like NumPy it works in the main interpreter alone (a process of "
    "its "
    "own has one)";

bool is_main_interpreter() { return PyInterpreterState_GetID(PyInterpreterState_Get()) == 0; }

/// Says why the module cannot be loaded here and now; returns nothing where it can be.
const char* refusal() {
    if (!is_main_interpreter()) return in_sub_interpreter;
    if (is_loaded) {
        // Since Python 3.13 this is called in the main interpreter also where a sub-interpreter imports.
        return "unibuf was to be loaded a second time; a process loads it once, in the main interpreter alone (it is "
               "to "
               "stay in sys.modules)";
    }
    return nullptr;
}

}  // namespace

NB_MODULE(_native_once, in) {
    if (!is_main_interpreter()) throw nb::import_error(in_sub_interpreter);
    refuse_other_package();
    nb::set_leak_warnings(false);  // buffers may be alive when the interpreter ends
    translate_errors();
    hears_signals::note_main_thread();
    in.attr("version") = UNIBUF_VERSION;
    memory::define(in);
    define_buffer(in);
    define_plain_properties(in);
    define_views(in);
    define_access(in);
    define_standing(in);
    define_pool(in);
    define_spaces(in);
    define_dlpack(in);
    define_registry(in);
    define_sharing(in);
    define_tool(in);
    define_trace(in);
    define_cancelling(in);
    define_call_sites(in);
    define_opencl(in);
    is_loaded = true;
}

#ifdef UNIBUF_PYTHON_STANDALONE
/// Tells another unibuf in the process that one is inside this module.
extern "C" NB_EXPORT const char unibuf_is_inside;
const char unibuf_is_inside = 1;
#endif

/// Refuses before anything of the loaded module is touched, and leaves the rest to nanobind.
extern "C" NB_EXPORT PyObject* PyInit__native() {
    if (const char* const why = refusal()) {
        PyErr_SetString(PyExc_ImportError, why);
        return nullptr;
    }
    return PyInit__native_once();
}
