// peers/by_unibuf.hpp: unibuf's side of each work.
#pragma once

#include <unibuf/options.hpp>
#include <unibuf/space.hpp>

#include <memory>
#include <string>

#include "works.hpp"

namespace peers {

/// Makes it for a device. `placement` is "mirrored" or "default".
std::unique_ptr<contender> by_unibuf(unibuf::space where, const std::string& placement);

}  // namespace peers
