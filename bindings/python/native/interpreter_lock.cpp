// interpreter_lock.cpp: taking the interpreter's lock and letting go of it, also while the interpreter ends.
#include "interpreter_lock.hpp"

#include <unistd.h>

namespace unibuf::python {

void stays_at_exit::stay() noexcept {
    for (;;) pause();
}

void released_lock::take_again(PyThreadState* state) {
    stays_at_exit guard;
    PyEval_RestoreThread(state);
    guard.has_returned();
}

bool has_lock() noexcept {
    if (!nb::is_alive()) return false;
#ifdef Py_LIMITED_API
    return PyThreadState_GetDict();  // of the stable calls the only one that may be made without the lock
#else
#if PY_VERSION_HEX >= 0x030D0000
    PyThreadState* const holder = PyThreadState_GetUnchecked();
#else
    // Before Python 3.12 this is that of whichever thread has the lock.
    PyThreadState* const holder = _PyThreadState_UncheckedGet();
#endif
    return holder && holder == PyGILState_GetThisThreadState();
#endif
}

PyGILState_STATE taken_lock::take() {
    return in_python([] { return PyGILState_Ensure(); });
}

}  // namespace unibuf::python
