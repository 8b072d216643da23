// unibuf/detail/view_tag.hpp: the numbers by which a buffer knows a view.
#pragma once

#include <cstdint>

namespace unibuf::detail {

struct view_tag {
    std::uint64_t shown = 0;   // count of views when this one was given out; 0 for a view of a copy as it is
    std::uint64_t upload = 0;  // number of the upload that a graph does while the view lasts; 0 where it does none
    std::uint64_t box = 0;     // number of the box that the view is of; 0 where it is a range
    std::uint64_t holder = 0;  // number of the holder that can be asked to let go; 0 where none has been named
};

}  // namespace unibuf::detail
