// callbacks.hpp: Python functions that the library calls to make a device quiet.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <unibuf/unibuf.hpp>
#include <utility>

#include "kept_object.hpp"

namespace unibuf::python {

namespace nb = nanobind;

/// The functions of one standing hold. The library may have them longer than the hold, and lets go of them with locks
/// of its own, where nobody may wait for the interpreter's: so they are emptied when the hold ends, and then are
/// nothing.
class callbacks : public std::enable_shared_from_this<callbacks> {
public:
    callbacks(nb::object pause, nb::object resume) : pause_(std::move(pause)), resume_(std::move(resume)) {}

    /// Gives them to the library. Where they raise, they throw `raised`.
    void put_in(standing_options& options);

    /// With the interpreter's lock held, as all that follows.
    void forget();
    int traverse(visitproc visit, void* arg) const;

private:
    void call(nb::object callbacks::* function);

    nb::object pause_;
    nb::object resume_;
    bool ended_ = false;
};

/// What the library is told of a function that has raised. Where it comes out of the library, it is that exception.
class raised : public error {
public:
    raised(nb::object failure, const std::string& text)
        : error(error_code::transfer_failed, text), failure_(std::make_shared<kept_object>(std::move(failure))) {}

    /// Sets the Python error.
    void raise_again() const;

private:
    std::shared_ptr<kept_object> failure_;
};

}  // namespace unibuf::python
