// buffer/named_queue.cpp: a queue that an access names, told apart from those that get its handle later.
#include "buffer/named_queue.hpp"

#include "backends/spaces.hpp"

namespace unibuf::detail {

named_queue checked_queue(space where, queue on) {
    if (!on || where == host) return {.handle = on};
    backends::check_usable(where);
    return {.handle = on, .number = backends::device_of(where).identify(on)};
}

}  // namespace unibuf::detail
