// element_type.cpp: what a buffer's elements are, to NumPy.
#include "element_type.hpp"

#include <unibuf/detail/sizes.hpp>
#include <unibuf/error.hpp>
#include <unordered_map>
#include <utility>

#include "imported.hpp"

namespace unibuf::python {

namespace {

constinit imported dtype_class("numpy", "dtype");
constinit imported array_class("numpy", "ndarray");

element_type describe(nb::object dtype) {
    if (nb::cast<bool>(dtype.attr("hasobject"))) {
        throw nb::type_error(
            nb::str("dtype {!r} refers to Python objects: elements are plain data").format(dtype).c_str());
    }
    const auto bytes = nb::cast<std::size_t>(dtype.attr("itemsize"));
    if (bytes == 0) {
        throw nb::type_error(nb::str("dtype {!r} has elements of no bytes").format(dtype).c_str());
    }
    if (!dtype.attr("subdtype").is_none()) {
        throw nb::type_error(
            nb::str("dtype {!r} is an array itself: its axes belong to the shape").format(dtype).c_str());
    }
    return {std::move(dtype), bytes};
}

}  // namespace

element_type element_type_of(nb::handle wanted) {
    if (wanted.is_none()) {
        throw nb::type_error(
            "a dtype is what numpy.dtype takes, other than None, which is float64 there; None was given");
    }
    if (nb::isinstance(wanted, dtype_class.get())) return describe(nb::borrow(wanted));
    if (!PyType_Check(wanted.ptr())) return describe(dtype_class(wanted));
    // Classes like numpy.float32 are remembered: they are few, and live as long as the process.
    static auto& known = *new std::unordered_map<PyObject*, element_type>;
    static constinit nb::ft_mutex one_at_a_time;
    {
        const nb::ft_lock_guard alone(one_at_a_time);
        const auto found = known.find(wanted.ptr());
        if (found != known.end()) return found->second;
    }
    element_type result = describe(dtype_class(wanted));
    const nb::ft_lock_guard alone(one_at_a_time);
    if (known.size() < 64 && known.emplace(wanted.ptr(), result).second) wanted.inc_ref();
    return result;
}

namespace {

/// Throws what says that this is no shape. Where something else has failed on the way, that is raised.
[[noreturn]] void refuse_shape(nb::handle given) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
    PyErr_Clear();
    if (is_array(given)) {
        throw nb::type_error(nb::str("a shape is an int or a tuple of ints; an array of shape {} was given: from_numpy "
                                     "makes a buffer over it, and copy_from of a buffer of its shape copies it")
                                 .format(given.attr("shape"))
                                 .c_str());
    }
    throw nb::type_error(nb::str("a shape is an int or a tuple of ints; {!r} was given").format(given).c_str());
}

/// Returns the last shape where this one is equal to it: many buffers of one shape share it.
nb::object the_last_or(nb::object shape) {
    static nb::ft_mutex one_at_a_time;
    static constinit PyObject* last = nullptr;  // is never given back
    const nb::ft_lock_guard alone(one_at_a_time);
    if (!last || PyObject_RichCompareBool(last, shape.ptr(), Py_EQ) != 1) {
        Py_XDECREF(std::exchange(last, Py_NewRef(shape.ptr())));
    }
    return nb::borrow(last);
}

}  // namespace

nb::object shape_of(nb::handle wanted, const element_type& element, std::size_t& bytes) {
    constexpr std::size_t most_axes = 64;  // as many as a NumPy array may have
    nb::object shape;
    // PyIndex_Check takes every array of integers for an integer; PyNumber_Index takes only one without axes.
    const nb::object one = nb::steal(PyIndex_Check(wanted.ptr()) ? PyNumber_Index(wanted.ptr()) : nullptr);
    if (one.is_valid()) {
        shape = nb::make_tuple(one);
    } else {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
        PyErr_Clear();
        shape = nb::steal(PySequence_Tuple(wanted.ptr()));
        if (!shape.is_valid()) refuse_shape(wanted);
    }
    const auto axes = static_cast<std::size_t>(PyTuple_Size(shape.ptr()));
    if (axes > most_axes) throw error(error_code::invalid_argument, "a shape has up to 64 axes");
    bytes = element.bytes;
    bool empty = false;
    bool plain = true;
    bool countable = true;
    std::vector<nb::object> extents;
    for (std::size_t axis = 0; axis < axes; ++axis) {
        extents.push_back(nb::borrow(PyTuple_GetItem(shape.ptr(), static_cast<Py_ssize_t>(axis))));
        nb::object& extent = extents.back();
        if (!PyLong_CheckExact(extent.ptr())) {
            plain = false;
            extent = nb::steal(PyNumber_Index(extent.ptr()));  // once: what it returns may differ the next time
            if (!extent.is_valid()) refuse_shape(wanted);
        }
        const Py_ssize_t count = PyNumber_AsSsize_t(extent.ptr(), PyExc_OverflowError);
        if (count == -1 && PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_OverflowError)) nb::raise_python_error();
            PyErr_Clear();
            countable = false;
            continue;
        }
        if (count < 0) {
            throw error(error_code::invalid_argument,
                        nb::str("a shape has no negative extents; {!r} was asked for").format(shape).c_str());
        }
        empty |= count == 0;
        if (count == 0) continue;
        const auto all = detail::product(bytes, static_cast<std::size_t>(count));
        countable &= all.has_value();
        bytes = all.value_or(bytes);
    }
    if (!countable || bytes > static_cast<std::size_t>(PY_SSIZE_T_MAX)) {
        throw error(
            error_code::out_of_memory,
            nb::str("shape {!r} of {} has more bytes than can be addressed").format(shape, element.dtype).c_str());
    }
    if (empty) bytes = 0;
    if (plain) return the_last_or(std::move(shape));
    nb::object result = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(axes)));
    for (std::size_t axis = 0; axis < axes; ++axis) {
        PyTuple_SetItem(result.ptr(), static_cast<Py_ssize_t>(axis), extents[axis].release().ptr());
    }
    return result;
}

bool is_array(nb::handle object) { return nb::isinstance(object, array_class.get()); }

nb::object array_over(nb::handle memory, nb::handle shape, nb::handle dtype, nb::handle strides) {
    if (strides.is_none()) return array_class(shape, dtype, memory);
    return array_class(shape, dtype, memory, 0, strides);
}

}  // namespace unibuf::python
