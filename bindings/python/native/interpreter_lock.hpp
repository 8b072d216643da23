// interpreter_lock.hpp: taking the interpreter's lock and letting go of it, also while the interpreter ends.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

namespace unibuf::python {

namespace nb = nanobind;

/// Stands around a call of Python that may wait for the interpreter's lock. Before Python 3.14 a daemon thread that
/// does so while the interpreter ends is unwound by pthread_exit. That would run destructors which need the lock, and
/// end the process at the first function that is noexcept. So the thread stays here, as later Pythons have it, until
/// the process has ended.
class stays_at_exit {
public:
    stays_at_exit() = default;
    ~stays_at_exit() {
        // What pthread_exit throws counts as no exception.
        if (!returned_ && std::uncaught_exceptions() == before_) stay();
    }
    stays_at_exit(const stays_at_exit&) = delete;
    stays_at_exit& operator=(const stays_at_exit&) = delete;

    void has_returned() noexcept { returned_ = true; }

private:
    [[noreturn]] static void stay() noexcept;

    int before_ = std::uncaught_exceptions();
    bool returned_ = false;
};

/// Calls `call`, which may run anything that is written in Python, and returns what it returns.
template <class Call>
auto in_python(const Call& call) {
    stays_at_exit guard;
    auto result = call();
    guard.has_returned();
    return result;
}

/// Returns whether the calling thread has the interpreter's lock. Any thread may ask, also when the interpreter has
/// ended.
bool has_lock() noexcept;

#ifdef Py_GIL_DISABLED
/// Keeps the objects that this thread has locked from what it runs in between. A thread that comes back to Python takes
/// the innermost of its locks again, which is this one then: a function of a standing hold, for one, may wait for a
/// thread that needs the buffer.
class no_objects {
public:
    no_objects() { PyCriticalSection_BeginMutex(&section_, &nobodys_); }
    ~no_objects() { PyCriticalSection_End(&section_); }
    no_objects(const no_objects&) = delete;
    no_objects& operator=(const no_objects&) = delete;

private:
    PyMutex nobodys_{};
    PyCriticalSection section_;
};
#else
class no_objects {};
#endif

/// Lets go of the interpreter's lock as long as it lives, and of the objects that this thread has locked.
class released_lock {
public:
    released_lock() : state_(PyEval_SaveThread()) {}
    ~released_lock() { take_again(state_); }
    released_lock(const released_lock&) = delete;
    released_lock& operator=(const released_lock&) = delete;

private:
    static void take_again(PyThreadState* state);

    [[no_unique_address]] no_objects none_;
    PyThreadState* state_;
};

/// Has the interpreter's lock as long as it lives, on any thread.
class taken_lock {
public:
    taken_lock() : state_(take()) {}
    ~taken_lock() { PyGILState_Release(state_); }
    taken_lock(const taken_lock&) = delete;
    taken_lock& operator=(const taken_lock&) = delete;

private:
    static PyGILState_STATE take();

    PyGILState_STATE state_;
};

}  // namespace unibuf::python
