// backends/fence.cpp: the completion of queued work, as programs have it.
#include "unibuf/fence.hpp"

#include <string>

#include "unibuf/error.hpp"

namespace unibuf {

fence::work::~work() = default;

void fence::refuse(std::chrono::nanoseconds timeout) {
    throw error(error_code::invalid_argument,
                "a timeout of " + std::to_string(timeout.count()) + " ns was asked for, to wait for a fence");
}

}  // namespace unibuf
