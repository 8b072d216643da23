// array_header.hpp: what a NumPy array says of itself, as anybody who has the array may change it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace unibuf::python {

namespace nb = nanobind;

/// The header of an array: where its bytes are, its shape, strides, type and flags. NumPy lets each of them be set in
/// place.
class array_header {
public:
    array_header() = default;
    explicit array_header(nb::handle array) : layout_(layout_of(array)), plain_(plain_of(array)) {}

    /// Returns whether the array is as it was when this header was taken of it.
    bool is_of(PyObject* array) const noexcept;

    /// Returns whether there are weak references to a NumPy array.
    static bool has_weak_references(nb::handle array) noexcept {
        return __atomic_load_n(&of(array.ptr()).weak_references, __ATOMIC_RELAXED) != nullptr;
    }

    /// Returns whether a memoryview, or somebody else by the buffer protocol, has had the bytes of a NumPy array.
    static bool was_exported(nb::handle array) noexcept {
        constexpr std::uintptr_t tag = 3;  // is added to the address of what NumPy keeps for each export
        return (reinterpret_cast<std::uintptr_t>(of(array.ptr()).exports) & ~tag) != 0;
    }

    /// Lets a NumPy array be written, or not.
    static void set_writable(nb::handle array, bool writable) noexcept {
        constexpr int flag = 0x400;  // NPY_ARRAY_WRITEABLE
        int& flags = const_cast<fields&>(of(array.ptr())).flags;
        flags = writable ? flags | flag : flags & ~flag;
    }

private:
    /// The beginning of NumPy's PyArrayObject_fields, which is the same in all versions since 1.20.
    struct fields {
        PyObject object;
        char* data;
        int axes;
        Py_ssize_t* extents;
        Py_ssize_t* strides;
        PyObject* base;
        PyObject* dtype;
        int flags;
        PyObject* weak_references;
        void* exports;
    };
    struct plain {
        char* data = nullptr;
        PyObject* dtype = nullptr;
        int axes = 0;
        int flags = 0;

        friend bool operator==(const plain&, const plain&) = default;
    };

    static const fields& of(PyObject* array) noexcept { return *reinterpret_cast<const fields*>(array); }
    static plain plain_of(nb::handle array) noexcept {
        const fields& at = of(array.ptr());
        return {at.data, at.dtype, at.axes, at.flags};
    }
    static std::vector<Py_ssize_t> layout_of(nb::handle array);

    std::vector<Py_ssize_t> layout_;  // extents, then strides
    plain plain_;
};

}  // namespace unibuf::python
