// buffer_methods.cpp: what a program calls on a buffer.
#include <nanobind/stl/string.h>

#include <array>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "array_operators.hpp"
#include "imported.hpp"
#include "module.hpp"
#include "options.hpp"
#include "plain.hpp"

namespace unibuf::python {

namespace {

const nb::handle none = Py_None;

void construct(nb::handle self, const call_arguments& arguments) {
    nb::handle shape, dtype;
    option_arguments options;
    arguments.take("O|O$OOOOOO:UnifiedBuffer",
                   {"shape", "dtype", "pinned", "access", "hint", "device", "tracking", "uninitialized"}, shape, dtype,
                   options.pinned, options.access, options.hint, options.device, options.tracking,
                   options.uninitialized);
    static constinit imported usual("numpy", "float32");
    element_type element = element_type_of(dtype.is_valid() ? dtype : usual.get());
    std::size_t size = 0;
    nb::object extents = shape_of(shape, element, size);
    const buffer_options wanted = options_of(options);
    unibuf::buffer bytes(size, wanted);
    if (nb::inst_ready(self)) throw nb::type_error("a buffer is made once: its __init__ was called again");
    new (nb::inst_ptr<typed_buffer>(self)) typed_buffer(std::move(bytes), std::move(element), std::move(extents));
    nb::inst_mark_ready(self);
}

constexpr std::array<const char*, 5> of_blocks{"space", "stream", "offset", "count", "timeout"};

/// Makes a block, as a method of that `Name`.
template <access What>
PyObject* block(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        self_of(self);
        constexpr const char* name = What == access::read ? "read" : What == access::write ? "write" : "read_write";
        const auto [where, stream, offset, elements, timeout] =
            fast_arguments{given, count, names}.take(name, of_blocks, 2);
        const auto or_none = [](nb::handle of) { return of ? of : none; };
        return make_block(self, What, or_none(where), offset, or_none(elements), timeout, or_none(stream))
            .release()
            .ptr();
    });
}

/// Returns the definition of a method that makes blocks, whose arguments `text` begins with.
template <access What>
PyMethodDef block_method(const char* name, const char* text) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(block<What>)), METH_FASTCALL | METH_KEYWORDS,
            text};
}

/// Makes `where` current. Where the buffer has no copy yet, it gets one, as by any first access.
void sync(typed_buffer& self, space where, nb::handle offset, nb::handle count) {
    const access_options range = self.part(offset, count);
    self.access([&](unibuf::buffer& of) {
        const auto run = [&] {
            where == host ? of.sync_to_host(range.offset, range.count) : of.sync_to_device(range.offset, range.count);
        };
        try {
            return run();
        } catch (const error& failure) {
            if (failure.code() != error_code::not_allocated) throw;
        }
        of.copy_view(detail::as_named(where));
        run();
    });
}

void sync_to_host(nb::handle self, const call_arguments& arguments) {
    nb::handle offset, count = none;
    arguments.take("|OO:sync_to_host", {"offset", "count"}, offset, count);
    sync(self_of(self), host, offset, count);
}

void sync_to_device(nb::handle self, const call_arguments& arguments) {
    nb::handle offset, count = none;
    arguments.take("|OO:sync_to_device", {"offset", "count"}, offset, count);
    typed_buffer& of = self_of(self);
    sync(of, device_of_calls(), offset, count);
}

void mark(typed_buffer& self, space where, nb::handle offset, nb::handle count, nb::handle stream) {
    access_options options = self.part(offset, count);
    options.on = queue_of(stream, where);
    self.mark(where, options);
}

void mark_host_dirty(nb::handle self, const call_arguments& arguments) {
    if (arguments.none()) return self_of(self).mark(host, {});
    nb::handle offset, count = none;
    arguments.take("|OO:mark_host_dirty", {"offset", "count"}, offset, count);
    mark(self_of(self), host, offset, count, none);
}

void mark_device_dirty(nb::handle self, const call_arguments& arguments) {
    if (arguments.none()) return self_of(self).mark(device_of_calls(), {});
    nb::handle offset, count = none, stream = none;
    arguments.take("|OOO:mark_device_dirty", {"offset", "count", "stream"}, offset, count, stream);
    typed_buffer& of = self_of(self);
    mark(of, device_of_calls(), offset, count, stream);
}

void mark_dirty(nb::handle self, const call_arguments& arguments) {
    nb::handle where, offset, count = none, stream = none;
    arguments.take("O|OOO:mark_dirty", {"space", "offset", "count", "stream"}, where, offset, count, stream);
    typed_buffer& of = self_of(self);
    mark(of, named_space_of(where), offset, count, stream);
}

void prefetch(nb::handle self, const call_arguments& arguments) {
    nb::handle where = none, offset, count = none, stream = none;
    arguments.take("|OOOO:prefetch", {"space", "offset", "count", "stream"}, where, offset, count, stream);
    typed_buffer& of = self_of(self);
    access_options options = of.part(offset, count);
    const space to = where.is_none() ? device_of_calls() : space_of(where);
    options.on = queue_of(stream, to);
    of.access([&](unibuf::buffer& bytes) { bytes.prefetch(to, options); });
}

void discard(nb::handle self, const call_arguments& arguments) {
    nb::handle where;
    arguments.take("O:discard", {"space"}, where);
    typed_buffer& of = self_of(self);
    const space at = named_space_of(where);
    of.access([&](unibuf::buffer& bytes) { bytes.discard(at); });
}

nb::object io_view(nb::handle self, const call_arguments& arguments) {
    nb::handle mode = none;
    arguments.take("|O:io_view", {"mode"}, mode);
    const std::string word =
        mode.is_none() ? "write" : plain_value<std::string>(mode, "mode is one of 'write', 'read_write'");
    if (word != "write" && word != "read_write") {
        throw error(error_code::invalid_argument, "mode is one of 'write', 'read_write'; '" + word + "' was asked for");
    }
    return self_of(self).io_view(word == "write" ? access::write : access::read_write);
}

PyObject* discard_content(PyObject* self, PyObject*) {
    return with_buffer(self, [](typed_buffer& of) {
        of.access([](unibuf::buffer& bytes) { bytes.discard_content(); });
        return Py_NewRef(Py_None);
    });
}

PyObject* free_all(PyObject* self, PyObject*) {
    return with_buffer(self, [](typed_buffer& of) {
        of.free();
        return Py_NewRef(Py_None);
    });
}

nb::object placement(nb::handle self, const call_arguments& arguments) {
    nb::handle where;
    arguments.take("O:placement", {"space"}, where);
    typed_buffer& of = self_of(self);
    const space at = named_space_of(where);  // lets go of the interpreter's lock: others may release the buffer
    const placement_info found = of.bytes().placement(at);
    static constinit imported tuple("unibuf.placement", "Placement");
    return tuple(found.placement == placement::shared ? "shared" : "mirrored", found.pinned,
                 nb::str(found.reason.c_str()), found.writes_found, nb::str(found.mapping.c_str()), found.pointers_out);
}

PyMethodDef methods[] = {
    block_method<access::read>(
        "read",
        "read($self, space=None, stream=None, *, offset=0, count=None, timeout=None)\n--\n\n"
        "`with buffer.read(\"cuda:0\") as array:` the right to read there; nobody writes meanwhile.\n\n"
        "Waits for accesses of other threads that exclude it, `timeout` seconds at most (then LeaseTimeoutError);\n"
        "AccessConflictError within one thread. With a `stream` or queue of the device, transfers go there too, and "
        "the\n"
        "host does not stop for them. A part has one axis. None is the default device. The array is for reading only,\n"
        "and after the block it is stale memory at best."),
    block_method<access::write>("write",
                                "write($self, space=None, stream=None, *, offset=0, count=None, timeout=None)\n--\n\n"
                                "The right to write; what was there before is not fetched, and unspecified."),
    block_method<access::read_write>(
        "read_write",
        "read_write($self, space=None, stream=None, *, offset=0, count=None, timeout=None)\n--\n\n"
        "The right to do both."),
    method<sync_to_host>("sync_to_host",
                         "sync_to_host($self, offset=0, count=None)\n--\n\n"
                         "Makes the host current."),
    method<sync_to_device>("sync_to_device",
                           "sync_to_device($self, offset=0, count=None)\n--\n\n"
                           "Makes the default device current."),
    method<mark_host_dirty>("mark_host_dirty",
                            "mark_host_dirty($self, offset=0, count=None)\n--\n\n"
                            "Says that the host's bytes stand, and drops newer ones elsewhere. Raises\n"
                            "BufferNotAllocatedError."),
    method<mark_device_dirty>(
        "mark_device_dirty",
        "mark_device_dirty($self, offset=0, count=None, stream=None)\n--\n\n"
        "Says that the default device's bytes stand, and drops newer ones elsewhere. They are ready after all\n"
        "work that was submitted to the device until now, or to `stream`. Raises BufferNotAllocatedError."),
    method<mark_dirty>("mark_dirty",
                       "mark_dirty($self, space, offset=0, count=None, stream=None)\n--\n\n"
                       "The same of any space."),
    method<prefetch>("prefetch",
                     "prefetch($self, space=None, offset=0, count=None, stream=None)\n--\n\n"
                     "Starts to make a space current, and returns; accesses there wait for it. None is the default\n"
                     "device."),
    method<discard>("discard",
                    "discard($self, space)\n--\n\n"
                    "Drops the copy at a space. Raises AccessConflictError where nobody else is current, or arrays\n"
                    "show it."),
    method<io_view>(
        "io_view",
        "io_view($self, mode='write')\n--\n\n"
        "An array of the host's memory for what no page table shows: reads with O_DIRECT, io_uring with\n"
        "registered buffers, MPI between processes of a machine, RDMA. The bytes count as written until the\n"
        "array, and all that was made of it, has gone, which is to be after the I/O has ended: accesses\n"
        "elsewhere move them each time, and may see half of it; what would write them elsewhere raises\n"
        "AccessConflictError. 'write' discards the old content, 'read_write' keeps it."),
    {"discard_content", discard_content, METH_NOARGS,
     "discard_content($self)\n--\n\n"
     "Drops the content: it reads as zero. Raises AccessConflictError while arrays of the host are held."},
    {"free", free_all, METH_NOARGS,
     "free($self)\n--\n\n"
     "Drops every copy, and the content. Arrays that are held keep the memory that they show; views, a name in\n"
     "the registry and a pool stay with what was there before."},
    method<placement>("placement",
                      "placement($self, space)\n--\n\n"
                      "How a space has its copy: a Placement. Raises BufferNotAllocatedError where it has none."),
    {"__array_ufunc__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(array_ufunc)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

int init(PyObject* self, PyObject* positional, PyObject* named) {
    PyObject* const done = call_method<construct>(self, positional, named);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

thread_local constinit bool failure_is_kept = false;

/// Keeps the error that is set for `__array__`: NumPy drops it, and asks for that next.
void keep_failure(PyObject* self) noexcept {
    nb::python_error failure;
    try {
        static constinit imported keep("unibuf._failed_export", "keep");
        in_python([&] { return keep(nb::handle(self), failure.value()); });
        failure_is_kept = true;
    } catch (const nb::python_error&) {  // another signal: `__array__` waits anew then
    }
    failure.restore();
}

/// Forgets the error that is kept. Returns false where it is Ctrl-C's, and the call that it has ended asks again: the
/// error is set then.
bool forget_failure(PyObject* self) noexcept {
    if (!std::exchange(failure_is_kept, false)) return true;
    try {
        static constinit imported forget("unibuf._failed_export", "forget");
        in_python([&] { return forget(nb::handle(self)); });
        return true;
    } catch (nb::python_error& interrupted) {
        interrupted.restore();
        return false;
    }
}

/// Exports the host's array, which the consumer holds from then on: what he writes is found. Types with fields are
/// refused, as the protocol does not carry all of them: NumPy asks for `__array__` then.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    view->obj = nullptr;
    if (!forget_failure(self)) return -1;
    bool is_refused = false;
    PyObject* const array = with_buffer(self, [&](typed_buffer& of) -> PyObject* {
        is_refused = nb::cast<std::string>(of.element().dtype.attr("kind")) == "V";
        if (!is_refused) return of.host();
        PyErr_SetString(PyExc_BufferError, "elements with fields, or of a library's own type, are exported by `host`");
        return nullptr;
    });
    if (!array) {
        if (!is_refused) keep_failure(self);
        return -1;
    }
    const int done = PyObject_GetBuffer(array, view, flags);
    Py_DECREF(array);
    return done;
}

}  // namespace

PyType_Slot* buffer_slots() {
    static std::vector<PyType_Slot> slots = [] {
        const std::span operators = array_operators();
        std::vector<PyType_Slot> result(operators.begin(), operators.end());
        result.push_back({Py_tp_init, reinterpret_cast<void*>(init)});
        result.push_back({Py_tp_methods, methods});
        result.push_back({Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)});
        result.push_back({0, nullptr});
        return result;
    }();
    return slots.data();
}

}  // namespace unibuf::python
