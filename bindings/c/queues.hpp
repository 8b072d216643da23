// queues.hpp: the queues that a program has named, so that a pointer to something else is told from one.
#pragma once

#include <unibuf/options.hpp>

#include "unibuf/unibuf.h"

namespace unibuf::c {

/// Notes the queue, and returns it as C has it.
unibuf_queue noted(queue made) noexcept;

/// Returns the queue, or none for NULL. Throws error(invalid_argument) where no function has returned it.
queue queue_of(unibuf_queue given);

}  // namespace unibuf::c
