// options.hpp: what Python says of accesses and buffers, as the library takes it.
#pragma once

#include <nanobind/nanobind.h>

#include <unibuf/options.hpp>

namespace unibuf::python {

namespace nb = nanobind;

/// Throws error(invalid_argument), naming what is allowed, for words that are none of it.
buffer_options options_of(bool pinned, const char* access, nb::handle hint, nb::handle device, const char* tracking,
                          bool uninitialized);

/// The same as the keyword arguments that they were.
nb::dict options_as_dict(const buffer_options& options);

/// A space by its name; None is the default device. Looking one up may load a driver: the interpreter's lock is let go.
space space_of(nb::handle name);

/// Seconds, or None for ever. Throws error(invalid_argument) where they are negative or no number.
std::chrono::nanoseconds timeout_of(nb::handle seconds);

/// A `Value` of Python. Throws TypeError, naming what was given, where it is none.
template <class Value>
Value plain_value(nb::handle of, const char* what) {
    Value result{};
    if (nb::try_cast(of, result)) return result;
    throw nb::type_error(nb::str("{}; {!r} was given").format(what, of).c_str());
}

/// Elements as bytes: `count` of them, or None for the rest, from `offset` on.
access_options range_of(nb::ssize_t offset, nb::handle count, std::size_t element_bytes);

/// A stream or queue of another library, or None for no queue.
queue queue_of(nb::handle stream);

}  // namespace unibuf::python
