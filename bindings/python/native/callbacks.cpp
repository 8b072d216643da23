// callbacks.cpp: Python functions that the library calls to make a device quiet.
#include "callbacks.hpp"

#include <string>
#include <utility>

#include "interpreter_lock.hpp"

namespace unibuf::python {

void callbacks::put_in(standing_options& options) {
    if (!pause_.is_none()) options.pause = [self = shared_from_this()] { self->call(&callbacks::pause_); };
    if (!resume_.is_none()) options.resume = [self = shared_from_this()] { self->call(&callbacks::resume_); };
}

namespace {

std::string described(nb::handle failure) {
    const nb::object words = nb::steal(PyObject_Repr(failure.ptr()));
    const char* const text = words.is_valid() ? PyUnicode_AsUTF8AndSize(words.ptr(), nullptr) : nullptr;
    std::string result = std::string("a function of a standing hold raised ") + (text ? text : "an exception");
    PyErr_Clear();
    return result;
}

}  // namespace

void callbacks::call(nb::object callbacks::* function) {
    if (!nb::is_alive()) return;
    const taken_lock locked;
    nb::object mine;  // the hold may end while it runs
    {
        const nb::ft_lock_guard alone(one_at_a_time_);
        if (ended_) return;
        mine = this->*function;
    }
    try {
        in_python([&] { return mine(); });
    } catch (const nb::python_error& thrown) {
        nb::object failure = nb::borrow(thrown.value());
        const std::string text = described(failure);
        throw raised(std::move(failure), text);
    }
}

void callbacks::forget() {
    nb::object pause, resume;
    const nb::ft_lock_guard alone(one_at_a_time_);
    ended_ = true;
    std::swap(pause, pause_);
    std::swap(resume, resume_);
}

int callbacks::traverse(visitproc visit, void* arg) const {
    Py_VISIT(pause_.ptr());
    Py_VISIT(resume_.ptr());
    return 0;
}

void raised::raise_again() const {
    const nb::handle failure = failure_->get();
    PyErr_SetObject(failure.type().ptr(), failure.ptr());
}

}  // namespace unibuf::python
