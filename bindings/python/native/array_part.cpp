// array_part.cpp: which elements of an array an index names, where they are a rectangle, and how they lie.
#include "array_part.hpp"

#include <algorithm>
#include <ranges>
#include <string>

namespace unibuf::python {

namespace {

std::size_t size_at(nb::handle tuple, std::size_t place) {
    return PyLong_AsSize_t(PyTuple_GetItem(tuple.ptr(), static_cast<Py_ssize_t>(place)));
}

array_index::item slice_of(nb::handle given, std::size_t axis) {
    array_index::item result;
    const int read = PySlice_Unpack(given.ptr(), &result.start, &result.stop, &result.step);
    if (read == 0 && result.step > 0) return result;
    if (read != 0) {  // a step of 0 is a ValueError, as whatever an index raises may be
        nb::python_error failure;
        const nb::object step = given.attr("step");
        const bool is_zero = PyLong_CheckExact(step.ptr()) && step.equal(nb::int_(0));
        if (!is_zero || !failure.matches(PyExc_ValueError)) throw failure;
    }
    throw error(
        error_code::invalid_argument,
        nb::str("a step of {} along axis {} was asked for: views have steps of 1 or more, arrays of `host` others")
            .format(given.attr("step"), axis)
            .c_str());
}

/// Returns whether it stands for one int. Arrays of one element have axes that such an index would drop.
bool is_int(nb::handle given) {
    if (PyLong_CheckExact(given.ptr())) return true;
    if (PyBool_Check(given.ptr()) || !PyIndex_Check(given.ptr())) return false;
    return !nb::hasattr(given, "shape") || nb::len(nb::object(given.attr("shape"))) == 0;
}

array_index::item item_of(nb::handle given, std::size_t axis) {
    if (PySlice_Check(given.ptr())) return slice_of(given, axis);
    if (!is_int(given)) {
        throw nb::type_error(nb::str("a view takes ints, slices and '...'; {} was given: arrays of `host` take others")
                                 .format(given.type().attr("__name__"))
                                 .c_str());
    }
    const Py_ssize_t at = PyNumber_AsSsize_t(given.ptr(), nullptr);  // too large ones are out of bounds all the same
    if (at == -1 && PyErr_Occurred()) nb::raise_python_error();
    return {.is_slice = false, .start = at};
}

}  // namespace

array_index::array_index(nb::handle given, std::size_t axes) {
    const bool is_tuple = PyTuple_Check(given.ptr());
    const std::size_t count = is_tuple ? static_cast<std::size_t>(PyTuple_Size(given.ptr())) : 1;
    const auto at = [&](std::size_t place) {
        return is_tuple ? nb::handle(PyTuple_GetItem(given.ptr(), static_cast<Py_ssize_t>(place))) : given;
    };
    std::size_t gaps = 0;
    for (std::size_t place = 0; place != count; ++place) gaps += at(place).ptr() == Py_Ellipsis ? 1U : 0U;
    if (gaps > 1) {
        throw error(error_code::out_of_range,
                    "an index has one ellipsis ('...') at most; " + std::to_string(gaps) + " were given");
    }
    if (count - gaps > axes) {
        throw error(error_code::out_of_range,
                    std::to_string(count - gaps) + " indices were given for " + std::to_string(axes) + " axes");
    }
    items_.reserve(axes);
    const std::size_t missing = axes - (count - gaps);
    for (std::size_t place = 0; place != count; ++place) {
        const nb::handle each = at(place);
        each.ptr() == Py_Ellipsis ? items_.resize(items_.size() + missing)
                                  : items_.push_back(item_of(each, items_.size()));
    }
    items_.resize(axes);
}

array_index::array_index(std::size_t first, std::size_t behind, std::size_t axes) : items_(axes) {
    items_.front().start = static_cast<Py_ssize_t>(first);
    items_.front().stop = static_cast<Py_ssize_t>(behind);
}

array_part array_part::whole(nb::handle shape) {
    array_part result;
    result.axes_.resize(static_cast<std::size_t>(PyTuple_Size(shape.ptr())));
    for (std::size_t place = 0; axis & each : result.axes_) each.count = each.extent = size_at(shape, place++);
    return result;
}

std::size_t array_part::axes() const noexcept {
    return static_cast<std::size_t>(std::ranges::count(axes_, true, &axis::is_left));
}

void array_part::take(const array_index& index) {
    std::size_t place = 0;
    for (axis& each : axes_) {
        if (!each.is_left) continue;
        array_index::item taken = index.along(place);
        const auto extent = static_cast<Py_ssize_t>(each.count);
        if (taken.is_slice) {
            each.count = static_cast<std::size_t>(PySlice_AdjustIndices(extent, &taken.start, &taken.stop, taken.step));
        } else {
            if (taken.start < -extent || taken.start >= extent) {
                throw error(error_code::out_of_range, "index " + std::to_string(taken.start) +
                                                          " is out of bounds for axis " + std::to_string(place) +
                                                          " with size " + std::to_string(extent));
            }
            if (taken.start < 0) taken.start += extent;
            each.count = 1;
            each.is_left = false;
        }
        ++place;
        if (each.count == 0) continue;  // has no first element, and no other: see offset() and of()
        each.start += static_cast<std::size_t>(taken.start) * each.step;
        each.step *= each.count > 1 ? static_cast<std::size_t>(taken.step) : 1;
    }
}

template <class Value>
nb::object array_part::tuple_of(const Value& value) const {
    const nb::object result = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(axes())));
    if (!result.is_valid()) nb::raise_python_error();
    auto place = static_cast<Py_ssize_t>(axes());
    for_each_axis([&](const axis& each, std::size_t pitch) {
        if (!each.is_left) return;
        PyObject* const number = PyLong_FromSize_t(value(each, pitch));
        if (!number) nb::raise_python_error();
        PyTuple_SetItem(result.ptr(), --place, number);
    });
    return result;
}

nb::object array_part::shape() const {
    return tuple_of([](const axis& each, std::size_t) { return each.count; });
}

nb::object array_part::strides(std::size_t element_bytes) const {
    return tuple_of([&](const axis& each, std::size_t pitch) { return each.step * pitch * element_bytes; });
}

std::size_t array_part::count() const noexcept {
    std::size_t result = 1;
    for (const axis& each : axes_) result *= each.count;
    return result;
}

bool array_part::follow_each_other() const noexcept {
    if (count() == 0) return true;
    std::size_t expected = 1;
    bool result = true;
    for_each_axis([&](const axis& each, std::size_t pitch) {
        result = result && (each.count == 1 || each.step * pitch == expected);
        expected *= each.count;
    });
    return result;
}

std::size_t array_part::offset(std::size_t element_bytes) const noexcept {
    if (count() == 0) return 0;
    std::size_t result = 0;
    for_each_axis([&](const axis& each, std::size_t pitch) { result += each.start * pitch; });
    return result * element_bytes;
}

unibuf::buffer array_part::of(unibuf::buffer& array, std::size_t element_bytes) const {
    if (follow_each_other()) return array.view(offset(element_bytes), count() * element_bytes);
    std::vector<std::size_t> extents;
    std::vector<slice> along;
    for (const axis& each : axes_) {
        extents.push_back(each.extent);
        along.push_back({each.start, each.start + (each.count - 1) * each.step + 1, each.step});
    }
    return array.view(unibuf::shape::of(extents), element_bytes, along);
}

}  // namespace unibuf::python
