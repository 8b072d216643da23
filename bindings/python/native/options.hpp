// options.hpp: what Python says of accesses and buffers, as the library takes it.
#pragma once

#include <nanobind/nanobind.h>

#include <unibuf/options.hpp>

namespace unibuf::python {

namespace nb = nanobind;

/// Returns the options of a buffer. Throws error(invalid_argument) for words that are not allowed, naming those that
/// are.
buffer_options options_of(bool pinned, const char* access, nb::handle hint, nb::handle device, const char* tracking,
                          bool uninitialized);

/// Returns options as the keyword arguments that they were made from.
nb::dict options_as_dict(const buffer_options& options);

/// Returns a space by its name; None is the default device. Lets go of the interpreter's lock, as a driver may be
/// loaded.
space space_of(nb::handle name);

/// Returns a timeout in seconds as nanoseconds; None is without end. Throws error(invalid_argument) where it is
/// negative or no number.
std::chrono::nanoseconds timeout_of(nb::handle seconds);

/// Returns a Python object as a `Value`. Throws TypeError, naming what was given, where it is none.
template <class Value>
Value plain_value(nb::handle of, const char* what) {
    Value result{};
    if (nb::try_cast(of, result)) return result;
    throw nb::type_error(nb::str("{}; {!r} was given").format(what, of).c_str());
}

/// Returns the bytes of `count` elements, or with None of the rest, from the element `offset` on.
access_options range_of(nb::ssize_t offset, nb::handle count, std::size_t element_bytes);

/// Returns the queue that a stream or queue of another library is; None is no queue.
queue queue_of(nb::handle stream);

}  // namespace unibuf::python
