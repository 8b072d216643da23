// support/faults.cpp
#include "support/faults.hpp"

#include <new>

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
    host_memory_ = false;
}

void faults::arm_out_of_host_memory(unsigned call) {
    arm(call, error_code::out_of_memory);
    const std::scoped_lock lock(mutex_);
    host_memory_ = true;
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
    if (host_memory_) throw std::bad_alloc();
    throw error(code_, "a fake device failed, as it was told to, at: " + std::string(struck_));
}

}  // namespace unibuf::test
