// buffer_properties.cpp: what a buffer is asked most often.
#include "imported.hpp"
#include "module.hpp"
#include "plain.hpp"

namespace unibuf::python {

namespace {

template <auto Get>
PyObject* get(PyObject* self, void*) {
    return with_buffer(self, Get);
}

/// Returns the state as the member of unibuf.BufferState with its number.
PyObject* state_of(typed_buffer& of) {
    static constinit imported members("unibuf.state", "by_number");
    return Py_NewRef(PyTuple_GetItem(members.get().ptr(), static_cast<Py_ssize_t>(of.state())));
}

/// A property that has its function here. Tools that show what an object has leave properties of Python alone, and take
/// what PyGetSetDef makes for a plain value: to complete a name, they would move bytes.
template <auto Get>
PyObject* get_property(PyObject* property, PyObject* self, PyObject*) {
    if (!self) return Py_NewRef(property);
    return get<Get>(self, nullptr);
}

constinit imported take_back_host("unibuf._in_place", "take_back_host");
constinit imported take_back_device("unibuf._in_place", "take_back_device");

/// Gives an array back, as an in-place operator does that got it from the property.
template <imported& TakeBack>
int set_property(PyObject*, PyObject* self, PyObject* array) {
    PyObject* const done = guarded([&] {
        const nb::handle given = array ? array : Py_None;  // null where it was to be deleted
        return in_python([&] { return TakeBack(nb::handle(self), given); }).release().ptr();
    });
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/// Adds a property to `type`, of a class of its own, whose text is the property's, too.
template <auto Get, imported& TakeBack>
void add_property(nb::handle type, const char* name, const char* text) {
    PyType_Slot slots[] = {{Py_tp_descr_get, reinterpret_cast<void*>(get_property<Get>)},
                           {Py_tp_descr_set, reinterpret_cast<void*>(set_property<TakeBack>)},
                           {Py_tp_doc, const_cast<char*>(text)},
                           {0, nullptr}};
    PyType_Spec spec = {
        .name = "unibuf._native.property", .basicsize = 0, .itemsize = 0, .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
    const nb::object made = nb::steal(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(&PyProperty_Type)));
    if (!made.is_valid()) nb::raise_python_error();
    type.attr(name) = made();
}

int refuse(PyObject*, PyObject*, void* why) {
    PyErr_SetString(PyExc_AttributeError, static_cast<const char*>(why));
    return -1;
}

/// Returns the definition of a property that cannot be set; `why` is the error's text.
template <auto Get>
PyGetSetDef read_only(const char* name, const char* text, const char* why) {
    return {name, get<Get>, refuse, text, const_cast<char*>(why)};
}

PyGetSetDef properties[] = {
    read_only<state_of>("state", "Which side is newest: a BufferState.",
                        "`state` of a buffer follows from what is written, and is not set: mark_dirty, mark_host_dirty "
                        "and mark_device_dirty tell of writes"),
    read_only<[](typed_buffer& of) { return Py_NewRef(of.shape().ptr()); }>(
        "shape", "The extents, a tuple.",
        "`shape` of a buffer stays as it was made: reshape(shape) is its host's array in another one"),
    read_only<[](typed_buffer& of) { return Py_NewRef(of.element().dtype.ptr()); }>(
        "dtype", "The numpy.dtype of the elements.",
        "`dtype` of a buffer stays as it was made: astype(dtype) is an array of another one, and host.view(dtype) has "
        "the same bytes"),
    read_only<[](typed_buffer& of) { return PyLong_FromSize_t(of.size_bytes()); }>(
        "nbytes", "The size in bytes.", "`nbytes` of a buffer stays as it was made"),
    read_only<[](typed_buffer& of) { return PyLong_FromSize_t(of.size_bytes() / of.element().bytes); }>(
        "size", "The number of elements.", "`size` of a buffer stays as it was made"),
    {"view", [](PyObject* self, void*) { return guarded([&] { return make_views(self).release().ptr(); }); }, nullptr,
     "Other handles of the same buffer, with its copies and its state: `view(offset, count)` has rows `offset` to\n"
     "`offset + count` of the first axis; `view[2:10, ::2]` has what an array has by that index.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

void define_plain_properties(nb::module_& in) {
    in.def("add_properties", [](nb::handle type) {
        for (PyGetSetDef* each = properties; each->name; ++each) {
            const nb::object made = nb::steal(PyDescr_NewGetSet(reinterpret_cast<PyTypeObject*>(type.ptr()), each));
            type.attr(each->name) = made;
        }
        add_property<[](typed_buffer& of) { return of.host(); }, take_back_host>(
            type, "host",
            "The host's copy as a NumPy array, current when it is returned, writable at any time after that. Each "
            "caller gets an array of its own over the same bytes. A check where nothing has to move.");
        add_property<[](typed_buffer& of) { return of.device(); }, take_back_device>(
            type, "device",
            "The default device's copy, current when it is returned: a cupy.ndarray, a pyopencl array of this thread, "
            "or, where the host is the device, a NumPy array over the same bytes as `host`. What is written to it "
            "elsewhere, mark_device_dirty tells.");
    });
}

}  // namespace unibuf::python
