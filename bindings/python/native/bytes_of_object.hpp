// bytes_of_object.hpp: the bytes of an object with the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

namespace unibuf::python {

namespace nb = nanobind;

/// Keeps the C-contiguous bytes of an object in place as long as it lives. Needs the interpreter's lock.
class bytes_of_object {
public:
    /// Raises what the object raises. `flags` go to PyObject_GetBuffer, which is asked for contiguity in any case.
    explicit bytes_of_object(nb::handle of, int flags = 0) {
        if (PyObject_GetBuffer(of.ptr(), &view_, PyBUF_C_CONTIGUOUS | flags) != 0) nb::raise_python_error();
    }
    ~bytes_of_object() { PyBuffer_Release(&view_); }
    bytes_of_object(const bytes_of_object&) = delete;
    bytes_of_object& operator=(const bytes_of_object&) = delete;

    std::span<std::byte> span() const noexcept {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

private:
    Py_buffer view_{};
};

}  // namespace unibuf::python
