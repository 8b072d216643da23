// unibuf/detail/view_tag.hpp: the numbers by which a buffer knows a copy_view.
#pragma once

#include <cstdint>

namespace unibuf::detail {

struct view_tag {
    std::uint64_t held = 0;    // address of what the buffer keeps of the view
    std::uint64_t holder = 0;  // number of the holder that can be asked to let go; 0 where none has been named
};

}  // namespace unibuf::detail
