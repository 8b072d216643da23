// batches.hpp: syncs of a thread that move together.
#pragma once

namespace unibuf::fortran {

/// Returns whether begin_batch() was called on this thread, and end_batch() not yet.
bool batch_is_open() noexcept;

}  // namespace unibuf::fortran
