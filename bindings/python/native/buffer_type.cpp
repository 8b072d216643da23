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

void construct(typed_buffer* self, nb::handle shape, nb::handle dtype, bool pinned, const char* access, nb::handle hint,
               nb::handle device, const char* tracking, bool uninitialized) {
    element_type element = element_type_of(dtype);
    std::size_t size = 0;
    nb::object extents = shape_of(shape, element, size);
    const buffer_options options = options_of(pinned, access, hint, device, tracking, uninitialized);
    unibuf::buffer bytes(size, options);
    new (self) typed_buffer(std::move(bytes), std::move(element), std::move(extents), options);
}

/// Makes a view of rows `offset` to `offset + count` of the first axis.
nb::object view(nb::pointer_and_handle<typed_buffer> self, nb::ssize_t offset, nb::handle count) {
    typed_buffer& of = *self.p;
    const Py_ssize_t axes = PyTuple_Size(of.shape().ptr());
    if (axes == 0) throw error(error_code::invalid_argument, "a buffer without axes has no views");
    const auto rows = nb::cast<std::size_t>(of.shape()[0]);
    const std::size_t row_bytes = rows ? of.size_bytes() / rows : 0;
    const access_options rows_asked = range_of(offset, count, 1);
    const std::size_t rest_rows = rows_asked.offset <= rows ? rows - rows_asked.offset : 0;
    const std::size_t asked = rows_asked.count == rest ? rest_rows : rows_asked.count;
    if (rows_asked.offset > rows || asked > rest_rows) {
        throw error(error_code::out_of_range, nb::str("rows {} to {} of a buffer with {} were asked for")
                                                  .format(rows_asked.offset, rows_asked.offset + asked, rows)
                                                  .c_str());
    }
    nb::object shape = nb::steal(PyTuple_GetSlice(of.shape().ptr(), 0, axes));
    if (static_cast<std::size_t>(asked) != rows) {
        nb::list extents(of.shape());
        extents[0] = nb::int_(asked);
        shape = nb::tuple(extents);
    }
    return make_buffer(self.h.type(), of.handle().view(rows_asked.offset * row_bytes, asked * row_bytes), of.element(),
                       std::move(shape), of.options());
}

/// Makes `where` current. Where the buffer has no copy yet, it gets one, as by any first access.
void sync(typed_buffer& self, space where, nb::ssize_t offset, nb::handle count) {
    const access_options range = range_of(offset, count, self.element().bytes);
    self.access([&](unibuf::buffer& of) {
        const auto run = [&] {
            where == host ? of.sync_to_host(range.offset, range.count) : of.sync_to_device(range.offset, range.count);
        };
        try {
            return run();
        } catch (const error& failure) {
            if (failure.code() != error_code::not_allocated) throw;
        }
        of.copy_view(where == host_as_device ? host : where);
        run();
    });
}

void mark(typed_buffer& self, space where, nb::ssize_t offset, nb::handle count, nb::handle stream) {
    access_options options = range_of(offset, count, self.element().bytes);
    options.on = queue_of(stream);
    self.mark(where, options);
}

void copy_bytes_from(typed_buffer& self, nb::handle source, nb::ssize_t offset) {
    const bytes_of_object data(source);
    const access_options range = range_of(offset, nb::none(), self.element().bytes);
    self.access([&](unibuf::buffer& of) { of.copy_from(data.span(), range.offset); });
}

void copy_bytes_to(typed_buffer& self, nb::handle target, nb::ssize_t offset) {
    const bytes_of_object data(target, PyBUF_WRITABLE);
    const access_options range = range_of(offset, nb::none(), self.element().bytes);
    self.access([&](unibuf::buffer& of) { of.copy_to(data.span(), range.offset); });
}

nb::dict placement(typed_buffer& self, nb::handle where) {
    const space at = space_of(where);  // lets go of the interpreter's lock: others may release the buffer
    const placement_info found = self.bytes().placement(at);
    nb::dict result;
    result["placement"] = found.placement == placement::shared ? "shared" : "mirrored";
    result["pinned"] = found.pinned;
    result["reason"] = found.reason;
    return result;
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
    nb::class_<typed_buffer>(in, "Buffer", nb::type_slots(plain_methods()), nb::is_weak_referenceable())
        .def("__init__", construct, "shape"_a, "dtype"_a = nb::borrow(imported("numpy", "float32")), nb::kw_only(),
             "pinned"_a = false, "access"_a = "read_write", "hint"_a = nb::none(), "device"_a = nb::none(),
             "tracking"_a = "auto", "uninitialized"_a = false)
        .def("view", view, "offset"_a, "count"_a = nb::none(),
             nb::sig("def view(self, offset: int, count: int | None = None) -> typing.Self"),
             "Rows `offset` to `offset + count` of the first axis: another handle of the same buffer, with its copies "
             "and its state. Raises OutOfRangeError.")
        .def(
            "sync_to_host",
            [](typed_buffer& self, nb::ssize_t offset, nb::handle count) { sync(self, host, offset, count); },
            "offset"_a = 0, "count"_a = nb::none(),
            nb::sig("def sync_to_host(self, offset: int = 0, count: int | None = None) -> None"),
            "Makes the host current.")
        .def(
            "sync_to_device",
            [](typed_buffer& self, nb::ssize_t offset, nb::handle count) {
                sync(self, device_of_calls(), offset, count);
            },
            "offset"_a = 0, "count"_a = nb::none(),
            nb::sig("def sync_to_device(self, offset: int = 0, count: int | None = None) -> None"),
            "Makes the default device current.")
        .def(
            "_mark_host_dirty",
            [](typed_buffer& self, nb::ssize_t offset, nb::handle count) {
                mark(self, host, offset, count, nb::none());
            },
            "offset"_a = 0, "count"_a = nb::none())
        .def(
            "_mark_device_dirty",
            [](typed_buffer& self, nb::ssize_t offset, nb::handle count, nb::handle stream) {
                mark(self, device_of_calls(), offset, count, stream);
            },
            "offset"_a = 0, "count"_a = nb::none(), "stream"_a = nb::none())
        .def(
            "mark_dirty",
            [](typed_buffer& self, nb::handle where, nb::ssize_t offset, nb::handle count, nb::handle stream) {
                mark(self, space_of(where), offset, count, stream);
            },
            "space"_a, "offset"_a = 0, "count"_a = nb::none(), "stream"_a = nb::none(),
            nb::sig("def mark_dirty(self, space: str, offset: int = 0, count: int | None = None, "
                    "stream: typing.Any = None) -> None"),
            "The same of any space.")
        .def(
            "prefetch",
            [](typed_buffer& self, nb::handle where, nb::ssize_t offset, nb::handle count, nb::handle stream) {
                access_options options = range_of(offset, count, self.element().bytes);
                options.on = queue_of(stream);
                const space to = where.is_none() ? device_of_calls() : space_of(where);
                self.access([&](unibuf::buffer& of) { of.prefetch(to, options); });
            },
            "space"_a = nb::none(), "offset"_a = 0, "count"_a = nb::none(), "stream"_a = nb::none(),
            nb::sig("def prefetch(self, space: str | None = None, offset: int = 0, count: int | None = None, "
                    "stream: typing.Any = None) -> None"),
            "Starts to make a space current, and returns; accesses there wait for it. None is the default device.")
        .def(
            "discard",
            [](typed_buffer& self, nb::handle where) {
                const space at = space_of(where);
                self.access([&](unibuf::buffer& of) { of.discard(at); });
            },
            "space"_a, nb::sig("def discard(self, space: str) -> None"),
            "Drops the copy at a space. Raises AccessConflictError where nobody else is current, or arrays show it.")
        .def(
            "discard_content",
            [](typed_buffer& self) { self.access([](unibuf::buffer& of) { of.discard_content(); }); },
            "Drops the content: it reads as zero. Raises AccessConflictError while arrays of the host are held.")
        .def("free", &typed_buffer::free,
             "Drops every copy, and the content. Arrays that are held keep the memory that they show; views, a name "
             "in the registry and a pool stay with what was there before.")
        .def("placement", placement, "space"_a, nb::sig("def placement(self, space: str) -> dict[str, typing.Any]"),
             "How a space has its copy: `placement`, 'mirrored' or 'shared'; `pinned`; `reason`, why so. Raises "
             "BufferNotAllocatedError where it has none.")
        .def_prop_ro(
            "id", [](typed_buffer& self) { return self.bytes().id(); },
            "A number that no other buffer of this process has had.")
        .def("_fill",
             [](typed_buffer& self, const nb::bytes& pattern) {
                 const std::span data(reinterpret_cast<const std::byte*>(pattern.c_str()), pattern.size());
                 self.access([&](unibuf::buffer& of) { of.fill(data); });
             })
        .def("_share",
             [](typed_buffer& self, const std::string& description) {
                 return self.access([&](unibuf::buffer& of) { return of.share(description); });
             })
        .def("_options", [](const typed_buffer& self) { return options_as_dict(self.options()); })
        .def("_copy_bytes_from", copy_bytes_from, "source"_a, "offset"_a = 0)
        .def("_copy_bytes_to", copy_bytes_to, "target"_a, "offset"_a = 0)
        .def("_statistics", [](typed_buffer& self) { return statistics_as_dict(self.bytes().statistics()); })
        .def("_hold",
             [](typed_buffer& self, nb::handle where) {
                 const space at = space_of(where);
                 return memory(self.access([&](unibuf::buffer& of) { return of.copy_view(at); }));
             })
        .def("_hold_copy",
             [](typed_buffer& self, nb::handle where) {
                 const space at = space_of(where);
                 return memory(self.access([&](unibuf::buffer& of) { return of.hold_copy(at); }), true);
             })
        .def("_is_current_at", [](typed_buffer& self, nb::handle where) {
            const space at = space_of(where);
            return self.access([&](const unibuf::buffer& of) { return of.is_current_at(at); });
        });
}

}  // namespace unibuf::python
