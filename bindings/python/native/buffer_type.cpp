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

void copy_bytes_from(typed_buffer& self, nb::handle source, nb::handle offset, nb::handle at) {
    const bytes_of_object data(source);
    const access_options range = range_of(offset, nb::none(), self.element().bytes);
    const space where = named_space_of(at);
    self.access([&](unibuf::buffer& of) { of.copy_from(data.span(), where, range.offset); });
}

void copy_bytes_to(typed_buffer& self, nb::handle target, nb::handle offset, nb::handle at) {
    const bytes_of_object data(target, PyBUF_WRITABLE);
    const access_options range = range_of(offset, nb::none(), self.element().bytes);
    if (at.is_none()) return self.access([&](unibuf::buffer& of) { of.copy_value_to(data.span(), range.offset); });
    const space where = named_space_of(at);
    self.access([&](unibuf::buffer& of) { of.copy_to(data.span(), where, range.offset); });
}

}  // namespace

nb::object make_buffer(nb::handle type, unibuf::buffer bytes, element_type element, nb::object shape,
                       std::optional<rectangle_of_array> rectangle) {
    nb::object made = nb::inst_alloc(type);
    new (nb::inst_ptr<typed_buffer>(made))
        typed_buffer(std::move(bytes), std::move(element), std::move(shape), std::move(rectangle));
    nb::inst_mark_ready(made);
    return made;
}

void define_buffer(nb::module_& in) {
    nb::class_<typed_buffer>(in, "Buffer", nb::type_slots(buffer_slots()), nb::is_weak_referenceable(),
                             "Buffer(shape, dtype='float32', *, pinned=False, access='read_write', hint=None, "
                             "device=None, tracking='auto', uninitialized=False)\n--\n\n"
                             "The base of UnifiedBuffer, whose text tells what the arguments are.")
        .def_prop_ro(
            "id", [](typed_buffer& self) { return self.bytes().id(); }, nb::lock_self(),
            "A number that no other buffer of this process has had.")
        .def(
            "_fill",
            [](typed_buffer& self, const nb::bytes& pattern, nb::handle at) {
                const std::span data(reinterpret_cast<const std::byte*>(pattern.c_str()), pattern.size());
                if (at.is_none()) return self.access([&](unibuf::buffer& of) { of.fill(data); });
                const space where = named_space_of(at);
                self.access([&](unibuf::buffer& of) { of.fill(data, where); });
            },
            "pattern"_a, "at"_a = nb::none(), nb::lock_self())
        .def(
            "_share",
            [](typed_buffer& self, const std::string& description) {
                return self.access([&](unibuf::buffer& of) { return of.share(description); });
            },
            nb::lock_self())
        .def(
            "_options", [](const typed_buffer& self) { return options_as_dict(self.options()); }, nb::lock_self())
        .def_prop_ro(
            "strides",
            [](const typed_buffer& self) {
                nb::object result = self.strides();
                return result.is_none() ? array_part::whole(self.shape()).strides(self.element().bytes) : result;
            },
            nb::lock_self(),
            "The bytes from one element to the next, for each axis: row-major, unless this is a rectangle.")
        .def_prop_ro(
            "_strides", [](const typed_buffer& self) { return self.strides(); }, nb::lock_self())
        .def_prop_ro(
            "_has_steps", [](const typed_buffer& self) { return self.has_steps(); }, nb::lock_self())
        .def("_copy_bytes_from", copy_bytes_from, "source"_a, "offset"_a = 0, "at"_a = "host", nb::lock_self())
        .def("_copy_bytes_to", copy_bytes_to, "target"_a, "offset"_a = 0, "at"_a.none() = "host", nb::lock_self())
        .def_prop_ro(
            "_is_elsewhere",
            [](typed_buffer& self) {
                return !self.bytes().is_whole() &&
                       self.access([](const unibuf::buffer& of) { return of.current_at() != host; });
            },
            nb::lock_self(), "Whether it is a part that a device has, and the host has not.")
        .def(
            "_current_at",
            [](typed_buffer& self) {
                return self.access([](const unibuf::buffer& of) { return of.current_at().name(); });
            },
            nb::lock_self())
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
