// shown_array.cpp
#include "shown_array.hpp"

#include <utility>

#include "stays_at_exit.hpp"

namespace unibuf::python {

holder shown_array::as_holder() {
    if (!shown_) shown_ = std::make_shared<shown>();
    return {let_go, shown_};
}

void shown_array::show(nb::object array, nb::object root, const native_memory& native) {
    if (root.is(array)) root.reset();  // no library has arrays for the space
    std::swap(shown_->array, array);   // the old objects go last: what they call then may come back here
    std::swap(shown_->root, root);
    shown_->native = native;
    shown_->alone = shown_->root.is_valid() ? Py_REFCNT(shown_->root.ptr()) : 0;
}

bool shown_array::shown::is_idle() const noexcept {
    return array.is_valid() && Py_REFCNT(array.ptr()) == 1 && (!root.is_valid() || Py_REFCNT(root.ptr()) == alone);
}

void shown_array::shown::drop() noexcept { const nb::object last = std::move(root), first = std::move(array); }

void shown_array::let_go(void* context) noexcept {
    if (!nb::is_alive()) return;
    const taken_lock locked;
    auto& asked = *static_cast<shown*>(context);
    if (asked.is_idle()) asked.drop();
}

}  // namespace unibuf::python
