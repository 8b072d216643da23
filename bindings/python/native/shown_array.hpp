// shown_array.hpp: the array that a buffer gives out again and again, as long as its copy stays where it is.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <unibuf/unibuf.hpp>

namespace unibuf::python {

namespace nb = nanobind;

/// Whoever needs what the view below the array keeps asks for it, on any thread: then the array goes, where nobody else
/// has it, or one made from it.
class shown_array {
public:
    shown_array() noexcept = default;
    ~shown_array() { drop(); }
    shown_array(const shown_array&) = delete;
    shown_array& operator=(const shown_array&) = delete;

    /// The array, or null.
    PyObject* get() const noexcept { return shown_ ? shown_->array.ptr() : nullptr; }
    space where() const noexcept { return shown_->native.where; }
    bool is_over(const native_memory& native) const noexcept {
        return get() && where() == native.where && shown_->native.handle == native.handle;
    }

    /// Who is to be named as the holder of a view that will be shown.
    holder as_holder();

    /// `root` is what every array made from this one refers to: its references say whether there are any.
    void show(nb::object array, nb::object root, const native_memory& native);

    /// What others have of it stays theirs.
    void drop() noexcept {
        if (shown_) shown_->drop();
    }

private:
    struct shown {
        nb::object array;
        nb::object root;  // null where it is the array itself
        native_memory native;
        Py_ssize_t alone = 0;  // references to the root, where nobody else has any

        bool is_idle() const noexcept;
        void drop() noexcept;
    };

    static void let_go(void* context) noexcept;

    std::shared_ptr<shown> shown_;  // null before the first one
};

}  // namespace unibuf::python
