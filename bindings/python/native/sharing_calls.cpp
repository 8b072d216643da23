// sharing_calls.cpp: buffers over memory that is there already: of this program, or of other processes.
#include <nanobind/stl/string.h>

#include <memory>
#include <span>

#include "bytes_of_object.hpp"
#include "module.hpp"
#include "options.hpp"
#include "typed_buffer.hpp"
#include "without_interpreter.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

nb::object over(nb::handle type, nb::handle content, nb::handle shape, nb::handle dtype) {
    element_type element = element_type_of(dtype);
    std::size_t size = 0;
    nb::object extents = shape_of(shape, element, size);
    nb::object view = nb::steal(PyMemoryView_FromObject(content.ptr()));  // keeps the bytes in place
    if (!view.is_valid()) nb::raise_python_error();
    const std::span<std::byte> bytes = bytes_of_object(view).span();
    buffer_options options;
    if (nb::cast<bool>(view.attr("readonly"))) options.access = host_access::constant;
    if (bytes.size() != size) {
        throw error(error_code::invalid_argument,
                    nb::str("{} bytes were given for shape {} of {}").format(bytes.size(), extents, dtype).c_str());
    }
    unibuf::buffer made = unlocked([&, keep = std::make_shared<kept_object>(std::move(view))] {
        return unibuf::buffer::over(bytes, keep, options);
    });
    return make_buffer(type, std::move(made), std::move(element), std::move(extents));
}

/// Returns the buffer behind a name that share() gave. Its shape and type are those that the giver has told.
nb::object attach(nb::handle type, const std::string& name, nb::handle shape, nb::handle dtype, nb::handle pinned,
                  nb::handle access, nb::handle hint, nb::handle device, nb::handle tracking,
                  nb::handle uninitialized) {
    element_type element = element_type_of(dtype);
    std::size_t size = 0;
    nb::object extents = shape_of(shape, element, size);
    const buffer_options wanted = options_of({pinned, access, hint, device, tracking, uninitialized});
    unibuf::buffer made = unlocked([&] { return unibuf::buffer::attach(name, wanted); });
    if (made.size_bytes() != size) {
        throw error(error_code::invalid_argument,
                    nb::str("'{}' was to be attached, but its {} bytes are none of shape {} of {}")
                        .format(name, made.size_bytes(), extents, dtype)
                        .c_str());
    }
    return make_buffer(type, std::move(made), std::move(element), std::move(extents));
}

}  // namespace

void define_sharing(nb::module_& in) {
    in.def("over", over, "type"_a, "content"_a, "shape"_a, "dtype"_a,
           nb::sig("def over(type: type, content: object, shape: object, dtype: object) -> typing.Any"));
    in.def(
        "description_of",
        [](nb::handle given_name) {
            const std::string name = name_of(given_name);
            return unlocked([&] { return unibuf::buffer::description_of(name); });
        },
        "name"_a.none());
    in.def("attach", attach, "type"_a, "name"_a, "shape"_a, "dtype"_a, nb::kw_only(), "pinned"_a = false,
           "access"_a = "read_write", "hint"_a = nb::none(), "device"_a = nb::none(), "tracking"_a = "auto",
           "uninitialized"_a = false,
           nb::sig("def attach(type: type, name: str, shape: object, dtype: object, **options: typing.Any) -> "
                   "typing.Any"));
}

}  // namespace unibuf::python
