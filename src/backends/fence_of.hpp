// backends/fence_of.hpp: a fence of work that has been started already.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "unibuf/fence.hpp"

namespace unibuf::backends {

/// Returns a fence whose work is a `Work` made of `parts`. Where there is no memory for one, waits for the work: what a
/// device has begun cannot be taken back, so the caller is not to fail. REQUIRES: the constructor needs no memory.
template <class Work, class... Parts>
fence fence_of(Parts&&... parts) {
    std::shared_ptr<Work> made;
    try {
        made = std::make_shared<Work>(std::forward<Parts>(parts)...);  // allocates before it takes the parts
    } catch (const std::bad_alloc&) {
        Work here(std::forward<Parts>(parts)...);
        here.wait(forever);
        return {};
    }
    return fence(std::move(made));
}

}  // namespace unibuf::backends
