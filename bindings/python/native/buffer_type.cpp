// buffer_type.cpp: the class Buffer, the base of unibuf.UnifiedBuffer.
#include <nanobind/stl/string.h>

#include <new>
#include <utility>
#include <vector>

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
    const space where = named_space_of(at);
    self.access([&](unibuf::buffer& of) { of.copy_to(data.span(), where, range.offset); });
}

/// Returns the handle to the array that `of` is a rectangle of, or to all of it.
unibuf::buffer& array_of(typed_buffer& of) { return of.rectangle() ? of.rectangle()->array : of.bytes(); }

/// Returns whether the buffer is a rectangle that `which` tells, or all of an array where that is None.
bool is_still(typed_buffer& of, nb::handle which) {
    return of.rectangle() ? of.rectangle()->which.is(which) : which.is_none();
}

// Each returns None where the buffer is not `within` any more, as others have called free().

/// Makes a handle to elements of that array that follow each other, from the byte `offset` on.
nb::object range(nb::pointer_and_handle<typed_buffer> self, std::size_t offset, nb::object shape, nb::handle within) {
    typed_buffer& of = *self.p;
    if (!is_still(of, within)) return nb::none();
    std::size_t bytes = of.element().bytes;
    for (const nb::handle extent : shape) bytes *= nb::cast<std::size_t>(extent);
    return make_buffer(self.h.type(), array_of(of).view(bytes ? offset : 0, bytes), of.element(), std::move(shape));
}

/// Makes a handle to a rectangle of that array, which `which` tells as unibuf._rectangles does.
nb::object rectangle(nb::pointer_and_handle<typed_buffer> self, nb::object which, nb::object shape, nb::object strides,
                     nb::handle within) {
    typed_buffer& of = *self.p;
    if (!is_still(of, within)) return nb::none();
    std::vector<std::size_t> extents;
    std::vector<slice> along;
    for (const nb::handle extent : nb::object(which[0])) extents.push_back(nb::cast<std::size_t>(extent));
    for (const nb::handle each : nb::object(which[1])) {
        along.push_back(
            {nb::cast<std::size_t>(each[0]), nb::cast<std::size_t>(each[1]), nb::cast<std::size_t>(each[2])});
    }
    unibuf::buffer& array = array_of(of);
    unibuf::buffer made = array.view(unibuf::shape::of(extents), of.element().bytes, along);
    return make_buffer(self.h.type(), std::move(made), of.element(), std::move(shape),
                       rectangle_of_array{array.view(0, rest), std::move(which), std::move(strides)});
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
    nb::class_<typed_buffer>(in, "Buffer", nb::type_slots(buffer_methods()), nb::is_weak_referenceable(),
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
            "_strides", [](const typed_buffer& self) { return self.strides(); }, nb::lock_self())
        .def_prop_ro(
            "_rectangle", [](typed_buffer& self) { return self.rectangle() ? self.rectangle()->which : nb::none(); },
            nb::lock_self())
        .def_prop_ro(
            "_has_steps", [](const typed_buffer& self) { return self.has_steps(); }, nb::lock_self())
        .def("_make_range", range, "offset"_a, "shape"_a, "within"_a.none(), nb::lock_self())
        .def("_make_rectangle", rectangle, "which"_a, "shape"_a, "strides"_a, "within"_a.none(), nb::lock_self())
        .def("_copy_bytes_from", copy_bytes_from, "source"_a, "offset"_a = 0, "at"_a = "host", nb::lock_self())
        .def("_copy_bytes_to", copy_bytes_to, "target"_a, "offset"_a = 0, "at"_a = "host", nb::lock_self())
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
