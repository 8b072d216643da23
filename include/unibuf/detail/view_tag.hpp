// unibuf/detail/view_tag.hpp: the numbers by which a buffer knows a view.
#pragma once

#include <cstdint>

namespace unibuf::detail {

struct view_tag {
    std::uint64_t shown = 0;   // address of what the buffer keeps of the view
    std::uint64_t upload = 0;  // number of the upload that a graph does while the view lasts; 0 where it does none
    std::uint64_t box = 0;     // of no use any more; programs that were built before have room for it
    std::uint64_t holder = 0;  // number of the holder that can be asked to let go; 0 where none has been named
};

}  // namespace unibuf::detail
