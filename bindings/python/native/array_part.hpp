// array_part.hpp: which elements of an array an index names, where they are a rectangle, and how they lie.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <unibuf/unibuf.hpp>
#include <vector>

namespace unibuf::python {

namespace nb = nanobind;

/// An index of ints, slices with steps of 1 or more, and `...`, without the objects that it was given by: what is made
/// of it calls no Python, which could change a buffer meanwhile.
class array_index {
public:
    /// Throws error(out_of_range) for more indices than `axes`, error(invalid_argument) for other steps, and TypeError
    /// for what is none of these.
    array_index(nb::handle given, std::size_t axes);

    /// The rows `first` to `behind` of the first of `axes`.
    array_index(std::size_t first, std::size_t behind, std::size_t axes);

    struct item {
        bool is_slice = true;
        Py_ssize_t start = 0;  // of an int: which one
        Py_ssize_t stop = PY_SSIZE_T_MAX;
        Py_ssize_t step = 1;
    };

    /// Returns what is taken along the axis.
    const item& along(std::size_t axis) const noexcept { return items_[axis]; }

private:
    std::vector<item> items_;  // one for each axis
};

/// Elements of a row-major array.
class array_part {
public:
    /// All elements of an array whose extents are the ints of a tuple.
    static array_part whole(nb::handle shape);

    /// Leaves those of the elements that the index names. Throws error(out_of_range), and some are left then.
    void take(const array_index& index);

    /// Returns how many axes are left: no int took them away.
    std::size_t axes() const noexcept;

    nb::object shape() const;
    nb::object strides(std::size_t element_bytes) const;
    bool follow_each_other() const noexcept;
    std::size_t count() const noexcept;

    /// Returns the bytes before the first element.
    std::size_t offset(std::size_t element_bytes) const noexcept;

    /// Returns a handle to the elements, by one to the array.
    unibuf::buffer of(unibuf::buffer& array, std::size_t element_bytes) const;

private:
    struct axis {
        std::size_t extent = 0;  // of the array
        std::size_t start = 0;
        std::size_t step = 1;
        std::size_t count = 0;
        bool is_left = true;
    };

    /// Calls visit(const axis&, elements from one index to the next) for each axis, the last one first.
    template <class Visit>
    void for_each_axis(const Visit& visit) const {
        std::size_t pitch = 1;
        for (auto each = axes_.rbegin(); each != axes_.rend(); pitch *= (each++)->extent) visit(*each, pitch);
    }

    /// Returns a tuple of value(axis, pitch) of the axes that are left.
    template <class Value>
    nb::object tuple_of(const Value& value) const;

    std::vector<axis> axes_;
};

}  // namespace unibuf::python
