// array_header.cpp: what a NumPy array says of itself, as anybody who has the array may change it.
#include "array_header.hpp"

#include <algorithm>

namespace unibuf::python {

bool array_header::is_of(PyObject* array) const noexcept {
    const fields& now = of(array);
    if (plain_ != plain_of(array)) return false;
    const auto extents = layout_.begin();
    const auto strides = extents + now.axes;
    return std::equal(extents, strides, now.extents) && std::equal(strides, layout_.end(), now.strides);
}

std::vector<Py_ssize_t> array_header::layout_of(nb::handle array) {
    const fields& at = of(array.ptr());
    std::vector<Py_ssize_t> result(at.extents, at.extents + at.axes);
    result.insert(result.end(), at.strides, at.strides + at.axes);
    return result;
}

}  // namespace unibuf::python
