// shown_array.hpp: the array that a buffer gives out again and again, as long as its copy stays where it is.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>

#include "memory.hpp"

namespace unibuf::python {

class shown_array {
public:
    /// The array, or null.
    PyObject* get() const noexcept { return array_.ptr(); }
    bool is_over(const native_memory& native) const noexcept {
        return array_.is_valid() && where_ == native.where && handle_ == native.handle;
    }
    space where() const noexcept { return where_; }

    /// `root` is what every array made from this one refers to: its references say whether there are any.
    void show(nb::object array, nb::object root, const native_memory& native) {
        std::swap(array_, array);  // what the old ones call when they go may come back here
        std::swap(root_, root);
        where_ = native.where;
        handle_ = native.handle;
        alone_ = Py_REFCNT(root_.ptr());
    }

    /// Whether nobody else has it, or an array made from it.
    bool is_idle() const noexcept {
        return array_.is_valid() && Py_REFCNT(array_.ptr()) == 1 && Py_REFCNT(root_.ptr()) == alone_;
    }
    void drop() noexcept { const shown_array gone = std::move(*this); }

private:
    nb::object array_;
    nb::object root_;
    space where_;
    std::uintptr_t handle_ = 0;
    Py_ssize_t alone_ = 0;
};

}  // namespace unibuf::python
