// shown_array.hpp: the array that a buffer gives out again and again, as long as its copy stays where it is.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <unibuf/unibuf.hpp>

namespace unibuf::python {

namespace nb = nanobind;

/// The one array that a buffer keeps for its next access. The library asks for it, on any thread, where the view below
/// the array is in the way: then the array goes, unless somebody else has it, or an array made from it.
class shown_array {
public:
    shown_array() noexcept = default;
    ~shown_array() { drop(); }
    shown_array(const shown_array&) = delete;
    shown_array& operator=(const shown_array&) = delete;

    /// Returns the array, or null.
    PyObject* get() const noexcept { return shown_ ? shown_->array.ptr() : nullptr; }
    space where() const noexcept { return shown_->native.where; }
    bool is_over(const native_memory& native) const noexcept {
        return get() && where() == native.where && shown_->native.handle == native.handle;
    }

    /// Returns what is to be named as the holder of a view that will be shown.
    holder as_holder();

    /// Keeps `array` for the next access. Every array made from it refers to `root`, so the references to `root` say
    /// whether there are any.
    void show(nb::object array, nb::object root, const native_memory& native);

    /// Keeps the array no longer. Whoever else has it keeps it.
    void drop() noexcept {
        if (shown_) shown_->drop();
    }

private:
    struct shown {
        nb::object array;
        nb::object root;  // null where the array itself is the root
        native_memory native;
        Py_ssize_t alone = 0;  // references to the root that there are where nobody else has one

        bool is_idle() const noexcept;
        void drop() noexcept;
    };

    static void let_go(void* context) noexcept;

    std::shared_ptr<shown> shown_;  // null before the first array
};

}  // namespace unibuf::python
