// numpy_handler.hpp: NumPy arrays in memory of a pool.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <unibuf/memory_pool.hpp>

namespace unibuf::python {

namespace nb = nanobind;

/// Returns a handler of memory as NEP 49 has them, in the capsule that NumPy takes. Each array keeps the handler that
/// made its memory, and so the pool.
nb::object numpy_handler_of(std::shared_ptr<memory_pool> pool);

/// Makes `handler` the one that arrays of the current context are made with, and returns the one before.
nb::object set_numpy_handler(nb::handle handler);

}  // namespace unibuf::python
