// support/faults.hpp: failures of the fake devices, made to happen at call n.
#pragma once

#include <mutex>
#include <string_view>

#include "unibuf/error.hpp"

namespace unibuf::test {

/// Counts the calls that can fail, of all fake devices together. The call that is armed throws.
class faults {
public:
    static faults& all();

    /// Lets the call number `call` from now on (1: the next) throw `code`. With `half`, a transfer copies half of its
    /// bytes first.
    void arm(unsigned call, error_code code, bool half = false);
    /// Lets the call number `call` from now on throw std::bad_alloc.
    void arm_out_of_host_memory(unsigned call);
    void disarm();

    /// Counts a call, and returns whether it is the one to fail. A fake device asks this before each call.
    bool strikes(std::string_view call);

    [[noreturn]] void fail() const;

    error_code code() const { return code_; }
    bool half() const { return half_; }
    std::string_view call() const { return struck_; }  // name of the call that failed last
    unsigned fired() const { return fired_; }          // number of calls that have failed since the process began

private:
    mutable std::mutex mutex_;
    unsigned left_ = 0;  // calls until one fails; 0 where none is armed
    unsigned fired_ = 0;
    error_code code_ = error_code::transfer_failed;
    bool half_ = false;
    bool host_memory_ = false;
    std::string_view struck_;
};

}  // namespace unibuf::test
