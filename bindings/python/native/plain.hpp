// plain.hpp: what functions have that Python calls without nanobind.
//
// Such a function takes less time to call. Its text begins with its arguments, of which inspect.signature and help()
// tell then. It refuses wrong ones in the words of Python's own functions.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "errors.hpp"
#include "typed_buffer.hpp"

namespace unibuf::python {

/// Returns the buffer of `self`. Throws error(invalid_argument) where its class has not called the __init__ of its
/// base.
inline typed_buffer& self_of(nb::handle self) {
    if (!nb::inst_ready(self)) {
        throw error(error_code::invalid_argument, "the buffer was used before UnifiedBuffer.__init__ was called");
    }
    return *nb::inst_ptr<typed_buffer>(self);
}

/// Returns what `call` returns of the buffer of `self`, as guarded() does. Where Python has no lock of the interpreter,
/// one thread at a time has the buffer, until the call waits or moves bytes.
template <class Call>
PyObject* with_buffer(PyObject* self, const Call& call) noexcept {
    return guarded([&]() -> PyObject* {
        const nb::ft_object_guard alone(self);
        return call(self_of(self));
    });
}

/// The arguments of a call, as Python gives them.
struct call_arguments {
    PyObject* positional;
    PyObject* named;  // null where none were given

    bool none() const { return PyTuple_Size(positional) == 0 && !named; }

    /// Sets `values` to the arguments by their names, and leaves those that were not given. `format` is that of
    /// PyArg_ParseTupleAndKeywords, with only objects in it. Raises TypeError.
    template <std::size_t Count, class... Values>
    void take(const char* format, const char* const (&names)[Count], Values&... values) const {
        static_assert(Count == sizeof...(Values));
        std::array<const char*, Count + 1> list{};
        for (std::size_t index = 0; index < Count; ++index) list[index] = names[index];
        std::array<PyObject*, Count> found{values.ptr()...};
        const auto parse = [&](auto&... each) {
            return PyArg_ParseTupleAndKeywords(positional, named, format, const_cast<char**>(list.data()), &each...);
        };
        if (!std::apply(parse, found)) nb::raise_python_error();
        std::size_t index = 0;
        ((values = nb::handle(found[index++])), ...);
    }
};

/// The arguments of a call that Python gives as they lie on its stack.
struct fast_arguments {
    PyObject* const* given;
    Py_ssize_t positional;
    PyObject* names;  // of those behind the positional ones; null where there are none

    /// Returns the arguments of `function` by their names, of which so many may be positional; those that were not
    /// given are null. Raises TypeError.
    template <std::size_t Count>
    std::array<nb::handle, Count> take(const char* function, const std::array<const char*, Count>& known,
                                       Py_ssize_t most_positional) const {
        std::array<nb::handle, Count> result;
        if (positional > most_positional) {
            PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments (%zd given)", function,
                         most_positional, positional);
            nb::raise_python_error();
        }
        for (Py_ssize_t index = 0; index < positional; ++index) result[static_cast<std::size_t>(index)] = given[index];
        const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
        for (Py_ssize_t index = 0; index < named; ++index) {
            PyObject* const name = PyTuple_GetItem(names, index);
            std::size_t place = 0;
            while (place < Count && PyUnicode_CompareWithASCIIString(name, known[place]) != 0) ++place;
            if (place == Count || result[place]) {
                PyErr_Format(PyExc_TypeError,
                             place == Count ? "%s() got an unexpected keyword argument %R"
                                            : "%s() got multiple values for argument %R",
                             function, name);
                nb::raise_python_error();
            }
            result[place] = given[positional + index];
        }
        return result;
    }
};

/// Calls `Call` with `self` and its arguments, as a method that Python has made of it.
template <auto Call>
PyObject* call_method(PyObject* self, PyObject* positional, PyObject* named) {
    return guarded([&]() -> PyObject* {
        const nb::ft_object_guard alone(self);
        const call_arguments arguments{positional, named};
        if constexpr (std::is_void_v<decltype(Call(nb::handle(self), arguments))>) {
            Call(nb::handle(self), arguments);
            return Py_NewRef(Py_None);
        } else {
            return nb::object(Call(nb::handle(self), arguments)).release().ptr();
        }
    });
}

/// Returns the definition of a method whose arguments `text` begins with.
template <auto Call>
PyMethodDef method(const char* name, const char* text) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call_method<Call>)),
            METH_VARARGS | METH_KEYWORDS, text};
}

}  // namespace unibuf::python
