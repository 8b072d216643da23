// kept_object.hpp: a reference to a Python object that ends on any thread, whatever locks are held there.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

namespace unibuf::python {

namespace nb = nanobind;

/// The library lets go of what it was given under locks of its own, where nobody may wait for the interpreter's lock,
/// and nothing that Python calls when an object goes may run. So the object goes a little later: with the end of the
/// call of this module that is under way, or when the main thread goes on.
class kept_object {
public:
    /// With the interpreter's lock held.
    explicit kept_object(nb::object of) : mine_(new left{of.release().ptr(), nullptr}) {}
    ~kept_object();
    kept_object(const kept_object&) = delete;
    kept_object& operator=(const kept_object&) = delete;

    nb::handle get() const noexcept { return mine_->object; }

    /// Lets those go whose references have ended. With the interpreter's lock held.
    static void drop_left() noexcept;

private:
    struct left {
        PyObject* object;
        left* next;
    };

    static std::atomic<left*> all_left_;

    left* mine_;
};

}  // namespace unibuf::python
