// kept_object.hpp: a reference to a Python object that ends on any thread, whatever locks are held there.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

namespace unibuf::python {

namespace nb = nanobind;

/// A reference to a Python object that may end under the library's locks. There, nobody may wait for the interpreter's
/// lock, and nothing that Python calls when an object goes may run. So the object goes a little later: when the call of
/// this module that is under way ends, or when the main thread goes on.
class kept_object {
public:
    /// Takes a reference. Needs the interpreter's lock.
    explicit kept_object(nb::object of) : mine_(new left{of.release().ptr(), nullptr}) {}
    ~kept_object();
    kept_object(const kept_object&) = delete;
    kept_object& operator=(const kept_object&) = delete;

    nb::handle get() const noexcept { return mine_->object; }

    /// Drops the objects whose references have ended. Needs the interpreter's lock.
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
