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

/// The functions of one standing hold. The library may keep them longer than the hold, and lets go of them under locks
/// of its own, where nobody may wait for the interpreter's lock. So forget() empties them when the hold ends, and calls
/// do nothing from then on.
class callbacks : public std::enable_shared_from_this<callbacks> {
public:
    callbacks(nb::object pause, nb::object resume) : pause_(std::move(pause)), resume_(std::move(resume)) {}

    /// Gives the functions to the library. Where they raise, they throw `raised`.
    void put_in(standing_options& options);

    // These need the interpreter's lock.
    void forget();
    int traverse(visitproc visit, void* arg) const;

private:
    void call(nb::object callbacks::* function);

    nb::ft_mutex one_at_a_time_;
    nb::object pause_;
    nb::object resume_;
    bool ended_ = false;
};

/// The error that the library gets where a function of a hold has raised. Where it comes out of the library, the
/// function's exception is raised again.
class raised : public error {
public:
    raised(nb::object failure, const std::string& text)
        : error(error_code::transfer_failed, text), failure_(std::make_shared<kept_object>(std::move(failure))) {}

    /// Sets the Python error that the function had raised.
    void raise_again() const;

private:
    std::shared_ptr<kept_object> failure_;
};

}  // namespace unibuf::python
