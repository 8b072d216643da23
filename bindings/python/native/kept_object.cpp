// kept_object.cpp: a reference to a Python object that ends on any thread, whatever locks are held there.
#include "kept_object.hpp"

#include <utility>

namespace unibuf::python {

constinit std::atomic<kept_object::left*> kept_object::all_left_ = nullptr;

kept_object::~kept_object() {
    if (!nb::is_alive()) return;
    mine_->next = all_left_.load(std::memory_order_relaxed);
    while (!all_left_.compare_exchange_weak(mine_->next, mine_, std::memory_order_release, std::memory_order_relaxed)) {
    }
    // Py_AddPendingCall takes no lock but one of its own. Where its queue is full, the next call of this module drops
    // what is left.
    const auto drop = [](void*) noexcept {
        drop_left();
        return 0;
    };
    Py_AddPendingCall(drop, nullptr);
}

void kept_object::drop_left() noexcept {
    if (!all_left_.load(std::memory_order_relaxed)) return;
    left* each = all_left_.exchange(nullptr, std::memory_order_acquire);
    while (each) {
        Py_DECREF(each->object);
        delete std::exchange(each, each->next);
    }
}

}  // namespace unibuf::python
