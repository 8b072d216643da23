// views_type.cpp: the class Views, which `view` of a buffer is: it makes handles to parts of the array.
#include <new>
#include <optional>
#include <utility>

#include "module.hpp"
#include "options.hpp"
#include "plain.hpp"

namespace unibuf::python {

namespace {

/// Makes a handle to the elements of `array` that the index names.
nb::object part_of(nb::handle array, const array_index& index) {
    typed_buffer& of = self_of(array);
    rectangle_of_array* const within = of.rectangle();
    const std::size_t bytes = of.element().bytes;
    array_part found = within ? within->which : array_part::whole(of.shape());
    std::optional<unibuf::buffer> kept;  // Python is called below, and what it calls may free the buffer
    if (within) kept.emplace(within->array.view(0, rest));
    found.take(index);
    nb::object shape = found.shape();
    unibuf::buffer& all = kept ? *kept : of.bytes();
    if (found.follow_each_other()) {
        return make_buffer(array.type(), found.of(all, bytes), of.element(), std::move(shape));
    }
    unibuf::buffer made = found.of(all, bytes);
    nb::object strides = found.strides(bytes);
    return make_buffer(array.type(), std::move(made), of.element(), std::move(shape),
                       rectangle_of_array{all.view(0, rest), std::move(found), std::move(strides)});
}

/// Returns whether an index names the same elements whenever it is asked.
bool stays(nb::handle index) {
    PyObject* const it = index.ptr();
    if (PyLong_CheckExact(it) || it == Py_None || it == Py_Ellipsis) return true;
    if (PySlice_Check(it)) return stays(index.attr("start")) && stays(index.attr("stop")) && stays(index.attr("step"));
    if (!PyTuple_CheckExact(it)) return false;
    for (const nb::handle each : nb::borrow<nb::tuple>(index)) {
        if (!stays(each)) return false;
    }
    return true;
}

std::size_t axes_of(nb::handle array) { return static_cast<std::size_t>(PyTuple_Size(self_of(array).shape().ptr())); }

class views {
public:
    explicit views(nb::handle of) : of_(nb::borrow(of)) {}

    nb::handle of() const noexcept { return of_; }

    nb::object at(nb::handle index) {
        const array_index asked(index, axes_of(of_));
        nb::object result;
        {
            const nb::ft_object_guard alone(of_);
            result = part_of(of_, asked);
        }
        index_ = nb::borrow(index);
        made_ = nb::steal(PyWeakref_NewRef(result.ptr(), nullptr));
        if (!made_.is_valid()) nb::raise_python_error();
        return result;
    }

    /// Returns the rows `offset` to `offset + count` of the first axis.
    nb::object rows(nb::handle offset, nb::handle count) const {
        if (!PyIndex_Check(offset.ptr())) {
            throw nb::type_error(
                nb::str("view takes the number of its first row, and a count of rows, or an index, view[1:3]; "
                        "{!r} was given: arrays have views of other dtypes, `host.view(dtype)`")
                    .format(offset)
                    .c_str());
        }
        const access_options asked = range_of(offset, count, 1);
        const nb::ft_object_guard alone(of_);
        const std::size_t axes = axes_of(of_);
        if (axes == 0) throw error(error_code::invalid_argument, "a buffer without axes has no views");
        const auto extent = nb::cast<std::size_t>(self_of(of_).shape()[0]);
        const std::size_t left = asked.offset <= extent ? extent - asked.offset : 0;
        const std::size_t taken = asked.count == rest ? left : asked.count;
        if (asked.offset > extent || taken > left) {
            throw error(error_code::out_of_range, nb::str("{} rows from row {} on were asked for of a buffer with {}")
                                                      .format(taken, asked.offset, extent)
                                                      .c_str());
        }
        return part_of(of_, {asked.offset, asked.offset + taken, axes});
    }

    /// Writes the elements. What `b.view[index] += 1` assigns has been computed into the view already: it is the view
    /// that this very index has made.
    void set(nb::handle index, nb::handle value) {
        const bool is_last = index_.is(index) && made_.is_valid() && stays(index) && made_().is(value);
        if (is_last && self_of(value).bytes().id() == self_of(of_).bytes().id()) return;
        at(index).attr("host")[nb::ellipsis()] = value;
    }

    // The collector of cycles needs these two: an index may refer to anything.
    static int traverse(PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        if (!nb::inst_ready(self)) return 0;
        const views& each = *nb::inst_ptr<views>(self);
        Py_VISIT(each.of_.ptr());
        Py_VISIT(each.index_.ptr());
        Py_VISIT(each.made_.ptr());
        return 0;
    }
    static int clear(PyObject* self) {
        if (!nb::inst_ready(self)) return 0;
        views& each = *nb::inst_ptr<views>(self);
        const nb::object index = std::move(each.index_), made = std::move(each.made_);
        return 0;
    }

private:
    nb::object of_;
    nb::object index_;  // the last one
    nb::object made_;   // a weak reference to what it made
};

views& views_of(nb::handle self) {
    if (!nb::inst_ready(self)) throw nb::type_error("views are made by `view` of a buffer");
    return *nb::inst_ptr<views>(self);
}

/// Calls `act` with the views that `self` is.
template <class Act>
PyObject* with_views(PyObject* self, const Act& act) {
    return guarded([&]() -> PyObject* {
        const nb::ft_object_guard alone(self);
        return act(views_of(self));
    });
}

PyObject* get_view(PyObject* self, PyObject* index) {
    return with_views(self, [&](views& of) { return of.at(index).release().ptr(); });
}

int set_view(PyObject* self, PyObject* index, PyObject* value) {
    PyObject* const done = with_views(self, [&](views& of) {
        if (value) {
            of.set(index, value);
        } else if (PyObject_DelItem(of.of().ptr(), index) != 0) {
            nb::raise_python_error();
        }
        return Py_NewRef(Py_None);
    });
    Py_XDECREF(done);
    return done ? 0 : -1;
}

nb::object rows_of_views(nb::handle self, const call_arguments& arguments) {
    nb::handle offset = Py_None, count = Py_None;
    arguments.take("|OO:view", {"offset", "count"}, offset, count);
    return views_of(self).rows(offset, count);
}

PyObject* get_attribute_of_views(PyObject* self, PyObject* name) {
    PyObject* const found = PyObject_GenericGetAttr(self, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    return with_views(self, [&](views& of) -> PyObject* {
        const nb::str word = nb::borrow<nb::str>(name);
        const bool is_public = PyUnicode_GetLength(name) != 0 && PyUnicode_ReadChar(name, 0) != '_';
        const bool is_of_view = is_public && nb::hasattr(of.of().type(), word);
        const nb::object hint =
            is_of_view ? nb::str(": it takes an index, and its result has {!r}: view[:].{}").format(word, word)
                       : nb::str("");
        PyErr_Format(PyExc_AttributeError, "`view` of a buffer has no attribute %R%U", name, hint.ptr());
        return nullptr;
    });
}

PyObject* text_of_views(PyObject* self) {
    return with_views(self, [](views& of) { return PyUnicode_FromFormat("<views of %R>", of.of().ptr()); });
}

}  // namespace

nb::object make_views(nb::handle of) {
    static const nb::handle type = nb::type<views>();
    nb::object made = nb::inst_alloc(type);
    new (nb::inst_ptr<views>(made)) views(of);
    nb::inst_mark_ready(made);
    return made;
}

void define_views(nb::module_& in) {
    static PyType_Slot slots[] = {{Py_mp_subscript, reinterpret_cast<void*>(&get_view)},
                                  {Py_mp_ass_subscript, reinterpret_cast<void*>(&set_view)},
                                  {Py_tp_getattro, reinterpret_cast<void*>(&get_attribute_of_views)},
                                  {Py_tp_repr, reinterpret_cast<void*>(&text_of_views)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(&views::traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&views::clear)},
                                  {0, nullptr}};
    const nb::handle type = nb::class_<views>(
        in, "Views", nb::type_slots(slots),
        "What `view` of a buffer is.\n\n"
        "`view[index]` has the elements that an array has by that index: of ints, slices with steps of 1 or more, and\n"
        "`...`. Only their bytes move, and exclude others. Raises IndexError and TypeError as arrays do, and "
        "ValueError\n"
        "for other steps. `view[index] = value` is as `b[index] = value`, but that only the bytes of the view move.\n"
        "`view(offset, count=None)` has rows `offset` to `offset + count` of the first axis; raises OutOfRangeError.");
    // Its function has a signature, which a slot has not.
    static PyMethodDef call = method<rows_of_views>(
        "__call__", "__call__($self, offset, count=None)\n--\n\nRows `offset` to `offset + count` of the first axis.");
    const nb::object made = nb::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &call));
    if (!made.is_valid()) nb::raise_python_error();
    type.attr("__call__") = made;
}

}  // namespace unibuf::python
