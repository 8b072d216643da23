// module.cpp: unibuf._native, what the Python package has of the library.
#include "module.hpp"

#include "errors.hpp"
#include "memory.hpp"

NB_MODULE(_native, in) {
    using namespace unibuf::python;
    nb::set_leak_warnings(false);  // buffers may be alive when the interpreter ends
    translate_errors();
    in.attr("version") = UNIBUF_VERSION;
    memory::define(in);
    define_buffer(in);
    define_plain_properties(in);
    define_access(in);
    define_standing(in);
    define_pool(in);
    define_spaces(in);
    define_dlpack(in);
    define_registry(in);
    define_sharing(in);
}
