// interpreter_lock.cpp
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

PyGILState_STATE taken_lock::take() {
    return in_python([] { return PyGILState_Ensure(); });
}

}  // namespace unibuf::python
