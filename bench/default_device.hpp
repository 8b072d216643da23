// bench/default_device.hpp: the default device, set for a scope.
#pragma once

#include <unibuf/space.hpp>

namespace bench {

class default_device {
public:
    explicit default_device(unibuf::space meant) { unibuf::set_default_device(meant); }
    ~default_device() { unibuf::set_default_device(before_); }
    default_device(const default_device&) = delete;
    default_device& operator=(const default_device&) = delete;

private:
    unibuf::space before_ = unibuf::default_device();
};

}  // namespace bench
