// support/state_story.hpp: plays the one table of how states move, state_story.inc, on C++ and C.
#pragma once

#include "support/face.hpp"

namespace unibuf::test {

// Each plays a part of it on a buffer of 100 bytes or more that nobody has accessed, and fails the test where a state
// is another.

/// `device`, which is not the host, is the default device.
void follow_states(face& of, space device);

/// Likewise; stores through a pointer, where those are found.
void follow_stores(face& of, space device);

/// The default device is the host.
void follow_states_at_the_host(face& of);

}  // namespace unibuf::test
