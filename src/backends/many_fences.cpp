// backends/many_fences.cpp
#include "backends/many_fences.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

class work_of_all final : public fence::work {
public:
    void take(std::vector<fence> all) noexcept { all_ = std::move(all); }

    bool wait(std::chrono::nanoseconds timeout) override {
        using clock = std::chrono::steady_clock;
        const clock::time_point begin = clock::now();
        const auto left = [&]() -> std::chrono::nanoseconds {
            if (timeout == forever) return forever;
            return std::max<std::chrono::nanoseconds>(timeout - (clock::now() - begin), {});
        };
        std::exception_ptr failure;  // is told when no piece goes on any more
        for (const fence& each : all_) {
            try {
                if (!each.wait(left())) return false;
            } catch (const error&) {
                if (!failure) failure = std::current_exception();
            }
        }
        if (failure) std::rethrow_exception(failure);
        return true;
    }

private:
    std::vector<fence> all_;
};

}  // namespace

fence many_fences::all() && {
    if (started_.size() < 2) return started_.empty() ? fence() : std::move(started_.front());
    try {
        auto of_all = std::make_shared<work_of_all>();
        of_all->take(std::move(started_));
        return fence(std::move(of_all));
    } catch (...) {
        wait();
        throw;
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
