// imported.hpp: what the extension module uses of modules that are written in Python.
#pragma once

#include "interpreter_lock.hpp"

namespace unibuf::python {

/// Returns the attribute `name` of `module`, which is kept until the process ends, as the module is.
inline nb::handle imported(const char* module, const char* name) {
    return in_python([&] { return nb::object(nb::module_::import_(module).attr(name)); }).release();
}

}  // namespace unibuf::python
