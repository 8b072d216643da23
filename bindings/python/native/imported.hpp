// imported.hpp: what the extension module uses of modules that are written in Python.
#pragma once

#include <atomic>

#include "interpreter_lock.hpp"

namespace unibuf::python {

/// An attribute of a module, which is looked up at the first use and kept until the process ends, as the module is. Two
/// threads may look it up at once: one that waited for the other would keep the interpreter's lock from it.
class imported {
public:
    constexpr imported(const char* module, const char* name) noexcept : module_(module), name_(name) {}

    nb::handle get() {
        PyObject* found = found_.load(std::memory_order_acquire);
        if (!found) {
            const auto look_up = [&] { return nb::object(nb::module_::import_(module_).attr(name_)); };
            found = in_python(look_up).release().ptr();
            found_.store(found, std::memory_order_release);
        }
        return found;
    }

    template <class... Arguments>
    nb::object operator()(const Arguments&... arguments) {
        return get()(arguments...);
    }

private:
    const char* module_;
    const char* name_;
    std::atomic<PyObject*> found_ = nullptr;
};

}  // namespace unibuf::python
