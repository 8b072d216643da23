// buffer_type.cpp: the class Buffer, the base of unibuf.UnifiedBuffer.
#include <nanobind/stl/string.h>

#include <new>
#include <utility>

#include "bytes_of_object.hpp"
#include "imported.hpp"
#include "module.hpp"
#include "options.hpp"
#include "typed_buffer.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

void copy_bytes_from(typed_buffer& self, nb::handle source, nb::handle offset) {
    const bytes_of_object data(source);
    const access_options range = range_of(offset, nb::none(), self.element().bytes);
    self.access([&](unibuf::buffer& of) { of.copy_from(data.span(), range.offset); });
}

void copy_bytes_to(typed_buffer& self, nb::handle target, nb::handle offset) {
    const bytes_of_object data(target, PyBUF_WRITABLE);
    const access_options range = range_of(offset, nb::none(), self.element().bytes);
    self.access([&](unibuf::buffer& of) { of.copy_to(data.span(), range.offset); });
}

}  // namespace

nb::object make_buffer(nb::handle type, unibuf::buffer bytes, element_type element, nb::object shape,
                       const buffer_options& options) {
    nb::object made = nb::inst_alloc(type);
    new (nb::inst_ptr<typed_buffer>(made))
        typed_buffer(std::move(bytes), std::move(element), std::move(shape), options);
    nb::inst_mark_ready(made);
    return made;
}

void define_buffer(nb::module_& in) {
    nb::class_<typed_buffer>(in, "Buffer", nb::type_slots(buffer_methods()), nb::is_weak_referenceable(),
                             "Buffer(shape, dtype='float32', *, pinned=False, access='read_write', hint=None, "
                             "device=None, tracking='auto', uninitialized=False)\n--\n\n"
                             "The base of UnifiedBuffer, whose text tells what the arguments are.")
        .def_prop_ro(
            "id", [](typed_buffer& self) { return self.bytes().id(); }, nb::lock_self(),
            "A number that no other buffer of this process has had.")
        .def(
            "_fill",
            [](typed_buffer& self, const nb::bytes& pattern) {
                const std::span data(reinterpret_cast<const std::byte*>(pattern.c_str()), pattern.size());
                self.access([&](unibuf::buffer& of) { of.fill(data); });
            },
            nb::lock_self())
        .def(
            "_share",
            [](typed_buffer& self, const std::string& description) {
                return self.access([&](unibuf::buffer& of) { return of.share(description); });
            },
            nb::lock_self())
        .def(
            "_options", [](const typed_buffer& self) { return options_as_dict(self.options()); }, nb::lock_self())
        .def("_copy_bytes_from", copy_bytes_from, "source"_a, "offset"_a = 0, nb::lock_self())
        .def("_copy_bytes_to", copy_bytes_to, "target"_a, "offset"_a = 0, nb::lock_self())
        .def(
            "_statistics", [](typed_buffer& self) { return statistics_as_dict(self.bytes().statistics()); },
            nb::lock_self())
        .def(
            "_hold",
            [](typed_buffer& self, nb::handle where) {
                const space at = space_of(where);
                return memory(self.access([&](unibuf::buffer& of) { return of.copy_view(at); }));
            },
            nb::lock_self())
        .def(
            "_hold_copy",
            [](typed_buffer& self, nb::handle where) {
                const space at = space_of(where);
                return memory(self.access([&](unibuf::buffer& of) { return of.hold_copy(at); }), true);
            },
            nb::lock_self())
        .def(
            "_check_not_excluded",
            [](typed_buffer& self, int what) { self.bytes().check_not_excluded(static_cast<access>(what)); },
            nb::lock_self())
        .def(
            "_is_current_at",
            [](typed_buffer& self, nb::handle where) {
                const space at = space_of(where);
                return self.access([&](const unibuf::buffer& of) { return of.is_current_at(at); });
            },
            nb::lock_self());
}

}  // namespace unibuf::python
