// backends/many_fences.cpp: work that is started piece by piece, as one.
#include "backends/many_fences.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "backends/fence_of.hpp"
#include "containers/room.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

class work_of_all final : public fence::work {
public:
    explicit work_of_all(std::vector<fence> all) noexcept : all_(std::move(all)) {}

    bool wait(std::chrono::nanoseconds timeout) override {
        using clock = std::chrono::steady_clock;
        const clock::time_point begin = clock::now();
        const auto left = [&]() -> std::chrono::nanoseconds {
            if (timeout == forever) return timeout;
            return std::max<std::chrono::nanoseconds>(timeout - (clock::now() - begin), {});
        };
        std::exception_ptr failure;  // is told when no piece goes on any more
        for (const fence& each : all_) {
            try {
                if (!each.wait(left())) return false;
            } catch (const std::exception&) {
                if (!failure) failure = std::current_exception();
            }
        }
        if (failure) std::rethrow_exception(failure);
        return true;
    }

private:
    const std::vector<fence> all_;
};

}  // namespace

fence many_fences::all() && {
    if (started_.size() < 2) return started_.empty() ? fence() : std::move(started_.front());
    return fence_of<work_of_all>(std::move(started_));
}

bool many_fences::make_room() noexcept {
    try {
        unibuf::make_room(started_);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void many_fences::wait() const noexcept {
    for (const fence& each : started_) {
        try {
            each.wait();
        } catch (const std::exception&) {  // another failure is told
        }
    }
}

}  // namespace unibuf::backends
