// references.hpp: how many references to an object there are.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace unibuf::python {

namespace nb = nanobind;

/// Returns how many references to `of` there are. The caller has one, so that it does not go meanwhile.
///
/// Where Python has no lock of the interpreter, Py_REFCNT adds two counts that others may change in between: those of
/// the thread that made the object, and those of all others. It also counts a reference that another thread has dropped
/// until the thread that made the object runs again, which may be never.
inline Py_ssize_t references_to(nb::handle of) noexcept {
#ifdef Py_GIL_DISABLED
    PyObject* const object = of.ptr();
    const auto own = [&] { return __atomic_load_n(&object->ob_ref_local, __ATOMIC_ACQUIRE); };
    const auto others = [&] { return __atomic_load_n(&object->ob_ref_shared, __ATOMIC_ACQUIRE); };
    for (;;) {
        const std::uint32_t local = own();
        const Py_ssize_t shared = others();
        if (own() != local || others() != shared) continue;
        const bool dropped = (shared & _Py_REF_SHARED_FLAG_MASK) == _Py_REF_QUEUED;
        return static_cast<Py_ssize_t>(local) + (shared >> _Py_REF_SHARED_SHIFT) - (dropped ? 1 : 0);
    }
#else
    return Py_REFCNT(of.ptr());
#endif
}

}  // namespace unibuf::python
