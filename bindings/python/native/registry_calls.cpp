// registry_calls.cpp: buffers by name.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.hpp"
#include "options.hpp"
#include "typed_buffer.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

/// `instead`: takes the name away from another buffer, where this one is none that is refused.
void add(nb::handle given_name, nb::handle buffer, nb::handle kept, bool instead) {
    const std::string name = name_of(given_name);
    typed_buffer& of = buffer_of(buffer, "what has a name is a UnifiedBuffer");
    const auto keep = plain_value<bool>(kept, "keep is True or False");
    std::vector<std::size_t> extents;
    for (const nb::handle extent : of.shape()) extents.push_back(nb::cast<std::size_t>(extent));
    const auto element = nb::cast<std::string>(of.element().dtype.attr("str"));
    of.access([&](unibuf::buffer& bytes) {
        const auto all = shape::of(extents);
        if (instead && !bytes.is_rectangle()) get_registry().remove(name);
        get_registry().add(name, bytes, all, element, keep);
    });
}

/// Returns the buffer of that name as an instance of `type`; None where nobody has the name. `known` is the id of a
/// buffer and the dtype that it had when it got the name, or None: the library knows only what C++ can say of a dtype.
nb::object find(nb::handle type, nb::handle given_name, nb::handle known) {
    const std::string name = name_of(given_name);
    std::optional<registered_buffer> found = unlocked([&] { return get_registry().find(name); });
    if (!found) return nb::none();
    nb::list extents;
    for (const std::size_t extent : found->shape.extents()) extents.append(extent);
    const nb::object said = nb::str(found->element.c_str());
    const bool is_known =
        !known.is_none() && found->bytes.id() == nb::cast<std::uint64_t>(known[0]) && said.equal(known[1].attr("str"));
    element_type element = element_type_of(is_known ? nb::object(known[1]) : said);
    return make_buffer(type, std::move(found->bytes), std::move(element), nb::tuple(extents));
}

}  // namespace

void define_registry(nb::module_& in) {
    in.def("registry_add", add, "name"_a.none(), "buffer"_a.none().lock(), "keep"_a.none(), "instead"_a);
    in.def("registry_find", find, "type"_a, "name"_a.none(), "known"_a.none(),
           nb::sig("def registry_find(type: type, name: str, known: object | None) -> typing.Any"));
    in.def(
        "registry_remove",
        [](nb::handle given_name) {
            const std::string name = name_of(given_name);
            return unlocked([&] { return get_registry().remove(name); });
        },
        "name"_a.none());
    in.def("registry_names", [] { return unlocked([] { return get_registry().names(); }); });
}

}  // namespace unibuf::python
