// unibuf/detail/view_tag.hpp: what a buffer knows a view by.
#pragma once

#include <cstdint>

namespace unibuf::detail {

struct view_tag {
    std::uint64_t shown = 0;   // counts up with each view that is given out current; 0 for a view of a copy as it is
    std::uint64_t holder = 0;  // number of the holder that can be asked to let go; 0 where nobody has been named
};

}  // namespace unibuf::detail
