// options.hpp: what Python says of accesses and buffers, as the library takes it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unibuf/options.hpp>

namespace unibuf::python {

namespace nb = nanobind;

/// The options of a buffer as Python gives them. Those that were not given are null.
struct option_arguments {
    nb::handle pinned, access, hint, device, tracking, uninitialized;
};

/// Returns the options of a buffer. Throws TypeError for what is no option, and error(invalid_argument) for words that
/// are not allowed, naming those that are.
buffer_options options_of(const option_arguments& given);

/// Returns options as the keyword arguments that they were made from.
nb::dict options_as_dict(const buffer_options& options);

/// Returns a str as UTF-8. Raises UnicodeEncodeError for one that has surrogates.
std::string word_of(nb::handle text);

/// Returns a space by its name; None is the default device. Lets go of the interpreter's lock, as a driver may be
/// loaded.
space space_of(nb::handle name);

/// Returns the same where a space has to be named. Throws TypeError for None.
space named_space_of(nb::handle name);

/// Returns the name that a buffer has for others. Throws TypeError where it is no str.
std::string name_of(nb::handle name);

/// Returns a number of bytes, or of something else that `what` tells of. Throws TypeError where it is no int, and
/// error(invalid_argument) where it is negative or has more than 63 bits.
std::size_t size_of(nb::handle number, const char* what);

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

/// Returns a limit in bytes; None is no limit. Throws what size_of throws.
std::uint64_t limit_of(nb::handle bytes);

/// Returns the bytes of `count` elements, or with None of the rest, from the element `offset` on; from the first one
/// where `offset` is null. Throws TypeError where they are no ints, and error(out_of_range) where they are negative.
access_options range_of(nb::handle offset, nb::handle count, std::size_t element_bytes);

/// Returns the queue that a stream or queue of another library is; None is no queue. Throws error(invalid_argument) for
/// one of PyOpenCL that cannot be used at that space.
queue queue_of(nb::handle stream, space where);

}  // namespace unibuf::python
