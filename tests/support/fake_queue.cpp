// support/fake_queue.cpp
#include "support/fake_queue.hpp"

#include <algorithm>
#include <utility>

#include "support/faults.hpp"

namespace unibuf::test {

struct fake_queue::entry final : fence::work {
    entry(fake_queue& queue, task queued) : on(queue), does(std::move(queued)) {}

    bool wait(std::chrono::nanoseconds timeout) override {
        const std::scoped_lock lock(on.mutex_);
        if (failure) std::rethrow_exception(failure);
        if (done) return true;
        if (timeout <= std::chrono::nanoseconds::zero()) return false;
        const bool fails = faults::all().strikes("a wait for a fence");
        on.run_before(*this);
        if (fails) {
            if (faults::all().half()) does.run(does.bytes / 2);
            does.failed();
        } else {
            does.run(does.bytes);
        }
        done = true;
        std::erase_if(on.waiting_, [&](const auto& each) { return each.get() == this; });
        if (!fails) return true;
        try {
            faults::all().fail();
        } catch (...) {
            failure = std::current_exception();
        }
        std::rethrow_exception(failure);
    }

    fake_queue& on;
    task does;
    bool done = false;
    std::exception_ptr failure;
};

fence fake_queue::add(task queued) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::make_shared<entry>(*this, std::move(queued)));
    return fence(waiting_.back());
}

fence fake_queue::mark() {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return {};
    return add({.run = [](std::size_t) {}});
}

bool fake_queue::holds(const fence& before) const noexcept {
    const auto* const work = dynamic_cast<const entry*>(before.native());
    return work && &work->on == this;
}

void fake_queue::run_before(const entry& last) {
    while (!waiting_.empty() && waiting_.front().get() != &last) {
        const std::shared_ptr<entry> next = waiting_.front();
        waiting_.pop_front();
        next->does.run(next->does.bytes);
        next->done = true;
    }
}

void fake_queue::run_all() {
    const std::scoped_lock lock(mutex_);
    while (!waiting_.empty()) {
        const std::shared_ptr<entry> next = waiting_.front();
        waiting_.pop_front();
        next->does.run(next->does.bytes);
        next->done = true;
    }
}

bool fake_queue::uses(const fake_memory& memory) const {
    const std::scoped_lock lock(mutex_);
    return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& each) { return each->does.of == &memory; });
}

}  // namespace unibuf::test
