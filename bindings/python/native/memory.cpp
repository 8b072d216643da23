// memory.cpp: what keeps the bytes of a copy in place while Python objects show them.
#include "memory.hpp"

#include <nanobind/stl/string.h>

#include <optional>
#include <utility>

#include "without_interpreter.hpp"

namespace unibuf::python {

memory::memory(copy_view held, bool read_only) : data_(held.data()), native_(held.native()), read_only_(read_only) {
    held_ = std::move(held);
}

memory::memory(const byte_lease& by, bool read_only)
    : data_(by.address()), native_(by.native()), read_only_(read_only) {}

memory::memory(pool_block held, nb::object stream) : data_(held.address()), native_(held.native()) {
    held_.emplace<allocation>(std::make_unique<kept_object>(std::move(stream)), std::move(held));
}

memory::memory(memory&& other) noexcept
    : held_(std::exchange(other.held_, std::monostate())),
      data_(other.data_),
      native_(other.native_),
      read_only_(other.read_only_) {}

void memory::end() noexcept {
    ended_ = true;
    if (std::holds_alternative<std::monostate>(held_)) return;
    std::optional<without_interpreter> unlocked;
    if (nb::is_alive()) unlocked.emplace();
    held_ = std::monostate();
}

namespace {

const memory& memory_of(PyObject* self) { return *nb::inst_ptr<memory>(self); }

int get_memory(PyObject* self, Py_buffer* view, int flags) {
    view->obj = nullptr;
    if (!nb::inst_ready(self)) {
        PyErr_SetString(PyExc_BufferError, "the memory was made by nobody");
        return -1;
    }
    const memory& of = memory_of(self);
    if (!of.data() && of.size_bytes() != 0) {
        PyErr_Format(PyExc_BufferError, "memory at %s cannot be addressed by the host",
                     of.native().where.name().c_str());
        return -1;
    }
    if (of.has_ended()) {  // somebody had a weak reference to it
        PyErr_SetString(PyExc_BufferError, "the memory of a block that has ended was asked for");
        return -1;
    }
    static std::byte nothing{};
    return PyBuffer_FillInfo(view, self, of.data() ? of.data() : &nothing, static_cast<Py_ssize_t>(of.size_bytes()),
                             of.read_only(), flags);
}

PyType_Slot memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_memory)}, {0, nullptr}};

}  // namespace

void memory::define(nb::module_& in) {
    nb::class_<memory>(in, "Memory", nb::type_slots(memory_slots), nb::is_weak_referenceable(),
                       "Bytes of one copy, held in place until this and every array over them has gone.")
        .def_prop_ro(
            "space", [](const memory& self) { return self.native().where.name(); }, "Where they are.")
        .def_prop_ro(
            "handle", [](const memory& self) { return self.native().handle; },
            "What the API of the space calls the copy: an address, a CUdeviceptr, a cl_mem, a GL buffer name.")
        .def_prop_ro(
            "offset", [](const memory& self) { return self.native().offset; }, "Of the first byte inside it, in bytes.")
        .def("__repr__",
             [](const memory& self) {
                 const native_memory& at = self.native();
                 return nb::str("Memory({}: {} bytes from {} of {:#x})")
                     .format(at.where.name(), at.bytes, at.offset, at.handle);
             })
        .def_prop_ro("nbytes", &memory::size_bytes)
        .def_prop_ro("readonly", &memory::read_only);
}

}  // namespace unibuf::python
