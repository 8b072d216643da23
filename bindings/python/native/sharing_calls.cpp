// sharing_calls.cpp: buffers over memory that is there already: of this program, or of other processes.
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>

#include "bytes_of_object.hpp"
#include "module.hpp"
#include "shared_memory.hpp"
#include "typed_buffer.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

nb::object over(nb::handle type, nb::handle content, nb::handle shape, nb::handle dtype) {
    element_type element = element_type_of(dtype);
    std::size_t size = 0;
    nb::object extents = shape_of(shape, element, size);
    auto keep = std::make_shared<bytes_of_object>(content, PyBUF_WRITABLE);
    if (keep->span().size() != size) {
        throw error(
            error_code::invalid_argument,
            nb::str("{} bytes were given for shape {} of {}").format(keep->span().size(), extents, dtype).c_str());
    }
    unibuf::buffer made = unibuf::buffer::over(keep->span(), keep);
    return make_buffer(type, std::move(made), std::move(element), std::move(extents), {});
}

/// The memory behind a name that share() gave.
class attachment {
public:
    explicit attachment(const std::string& name) : memory_(shared_memory::attach(name)) {}

    std::string description() const { return memory_->description(); }

    /// A handle of the buffer that this process has of it already, or None.
    nb::object known(nb::handle type, nb::handle shape, nb::handle dtype) const {
        std::optional<registered_buffer> found = get_registry().find(memory_->registered_name());
        if (!found) return nb::none();
        element_type element = element_type_of(dtype);
        std::size_t size = 0;
        nb::object extents = shape_of(shape, element, size);
        const buffer_options options = found->bytes.options();
        return make_buffer(type, std::move(found->bytes), std::move(element), std::move(extents), options);
    }

    /// Makes it the host's copy of a new buffer.
    void become(typed_buffer& of) const {
        if (of.size_bytes() != memory_->bytes().size()) {
            throw error(error_code::invalid_argument, "the shared memory has another size than it says");
        }
        of.attach(memory_);
        memory_->count_attached();
    }

private:
    std::shared_ptr<shared_memory> memory_;
};

}  // namespace

void define_sharing(nb::module_& in) {
    in.def("over", over, "type"_a, "content"_a, "shape"_a, "dtype"_a,
           nb::sig("def over(type: type, content: object, shape: object, dtype: object) -> typing.Any"));
    nb::class_<attachment>(in, "Attachment")
        .def(nb::init<const std::string&>(), "name"_a)
        .def("description", &attachment::description)
        .def("known", &attachment::known, "type"_a, "shape"_a, "dtype"_a,
             nb::sig("def known(self, type: type, shape: object, dtype: object) -> typing.Any"))
        .def("become", &attachment::become, "buffer"_a);
}

}  // namespace unibuf::python
