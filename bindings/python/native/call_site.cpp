// call_site.cpp: where a Python program called the library, for traces.
#include "call_site.hpp"

#include <nanobind/nanobind.h>

#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <unibuf/trace.hpp>
#include <utility>
#include <vector>

#include "interpreter_lock.hpp"
#include "module.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

/// The line elsewhere that a thread works for; 0 where there is none.
thread_local constinit std::uint64_t asked_elsewhere = 0;

/// Returns a text of Python's; names of files may have bytes that are none in UTF-8.
std::string text_of(nb::handle text) {
    Py_ssize_t size = 0;
    if (const char* const kept = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) {
        return {kept, static_cast<std::size_t>(size)};
    }
    PyErr_Clear();
    const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (!bytes.is_valid()) nb::raise_python_error();
    return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

/// The folders whose code calls for the program: the package's own, and the standard library's.
class folders {
public:
    static folders& instance() {
        static auto* const only = new folders;
        return *only;
    }

    void add(std::string folder) {
        const std::scoped_lock lock(mutex_);
        all_.push_back(std::move(folder));
    }

    bool have(std::string_view file) {
        if (file.starts_with("<frozen ")) return true;  // modules that are compiled into the interpreter
        const std::scoped_lock lock(mutex_);
        for (const std::string_view folder : all_) {
            if (!file.starts_with(folder)) continue;
            const std::string_view rest = file.substr(folder.size());
            // What is installed is in a folder of the standard library's.
            if (rest.starts_with('/') && !rest.starts_with("/site-packages/") && !rest.starts_with("/dist-packages/")) {
                return true;
            }
        }
        return false;
    }

private:
    std::mutex mutex_;
    std::vector<std::string> all_;
};

/// Returns "In[3]" where a file is a cell of a notebook, which IPython gives a name that says nothing; else nothing.
/// The number of a cell changes when it is run again.
std::string cell_of(nb::handle file) {
    static PyObject* const name = PyUnicode_InternFromString("IPython");
    const nb::object module = nb::steal(name ? PyImport_GetModule(name) : nullptr);
    if (!module.is_valid()) return {};
    try {
        const nb::object shell = in_python([&] { return module.attr("get_ipython")(); });
        if (shell.is_none()) return {};
        const nb::object named = in_python([&] { return shell.attr("compile").attr("format_code_name")(file); });
        return named.is_none() ? std::string() : text_of(named[1]);
    } catch (const nb::python_error& failure) {
        // Nothing may be thrown here, and Ctrl-C not be lost.
        if (failure.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
        return {};
    }
}

/// A line of Python that is running.
struct running_line {
    nb::object file;
    nb::object function;
    int number = 0;

    /// Returns "file.py:12 in function", or "In[3], line 12 in function".
    std::string text() const {
        const std::string cell = cell_of(file);
        return (cell.empty() ? text_of(file) + ":" : cell + ", line ") + std::to_string(number) + " in " +
               text_of(function);
    }
};

}  // namespace

/// Returns the number of the innermost line that is the program's. Where there is none, as on a thread of an executor,
/// it is that of the line that has asked for the thread's work, or the innermost one of the standard library. 0 where
/// there is none at all, or no memory.
std::uint64_t called_from_python::site_of_line() {
    const nb::error_scope on_its_way;
    try {
        running_line innermost;
        nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
        for (; frame.is_valid() && !frame.is_none(); frame = frame.attr("f_back")) {
            auto* const native = reinterpret_cast<PyFrameObject*>(frame.ptr());
            const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(native)));
            running_line line{.file = code.attr("co_filename"),
                              .function = code.attr("co_name"),
                              .number = PyFrame_GetLineNumber(native)};
            if (!folders::instance().have(text_of(line.file))) return site_of(line.text());
            if (!innermost.file.is_valid()) innermost = std::move(line);
        }
        if (asked_elsewhere != 0) return asked_elsewhere;
        if (innermost.file.is_valid()) return site_of(innermost.text());
    } catch (const std::exception&) {
        PyErr_Clear();
    }
    return 0;
}

working_for::working_for(std::uint64_t site) noexcept : before_(std::exchange(asked_elsewhere, site)) {}
working_for::~working_for() { asked_elsewhere = before_; }

void define_call_sites(nb::module_& in) {
    add_binding(reinterpret_cast<const void*>(&define_call_sites), true);
    // The module os is a file of the standard library, which Python finds the others by.
    const nb::object os = nb::getattr(nb::module_::import_("os"), "__file__", nb::none());
    if (!os.is_none()) {
        const std::string file = text_of(os);
        folders::instance().add(file.substr(0, file.rfind('/')));
    }
    in.def(
        "leave_out_of_places",
        [](const nb::list& of) {
            for (const nb::handle each : of) folders::instance().add(text_of(each));
        },
        "folders"_a, nb::sig("def leave_out_of_places(folders: list[str]) -> None"));
    in.def("running_line", [] { return is_tracing() ? called_from_python::site_of_line() : 0; });
}

}  // namespace unibuf::python
