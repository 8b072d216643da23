// support/faults.cpp
#include "support/faults.hpp"

#include <string>

namespace unibuf::test {

faults& faults::all() {
    static faults only;
    return only;
}

void faults::arm(unsigned call, error_code code, bool half) {
    const std::scoped_lock lock(mutex_);
    left_ = call;
    code_ = code;
    half_ = half;
}

void faults::disarm() {
    const std::scoped_lock lock(mutex_);
    left_ = 0;
}

bool faults::strikes(std::string_view call) {
    const std::scoped_lock lock(mutex_);
    if (left_ == 0 || --left_ != 0) return false;
    ++fired_;
    struck_ = call;
    return true;
}

void faults::fail() const {
    throw error(code_, "a fake device failed, as it was told to, at: " + std::string(struck_));
}

}  // namespace unibuf::test
