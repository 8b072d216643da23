// support/state_story.hpp: plays the one table of how states move, state_story.inc, on C++ and C.
#pragma once

#include "support/face.hpp"

namespace unibuf::test {

// These functions play one story of the table on a buffer of 100 bytes or more that nobody has accessed. They fail the
// test where a state is not the one in the table.

/// Plays the story with a device: `device`, which is not the host, is the default device.
void follow_states(face& of, space device);

/// Plays the story of stores through a pointer, which have to be found. `device`, which is not the host, is the default
/// device.
void follow_stores(face& of, space device);

/// Plays the story at the host, which is the default device.
void follow_states_at_the_host(face& of);

}  // namespace unibuf::test
