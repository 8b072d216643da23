// shown_array.cpp
#include "shown_array.hpp"

#include <utility>

#include "element_type.hpp"
#include "interpreter_lock.hpp"

namespace unibuf::python {

holder shown_array::as_holder() {
    if (!shown_) shown_ = std::make_shared<shown>();
    return {let_go, shown_};
}

void shown_array::show(nb::object array, nb::object root, const native_memory& native) {
    shown made;
    made.arrays[0] = array;
    made.root = std::move(root);
    made.native = native;
    if (made.root.is(array)) made.root.reset();  // no library has arrays for the space
    if (made.root.is_valid()) made.of_one = Py_REFCNT(made.root.ptr()) - 1;
    made.is_numpy = is_array(array);
    if (made.is_numpy) made.header = array_header(array);
    std::swap(*shown_, made);  // the old objects go last: what they call then may come back here
}

void shown_array::show_another(nb::object array) {
    // One that nobody has is there only because somebody has changed its header.
    const bool first = Py_REFCNT(shown_->arrays[0].ptr()) == 1;
    std::swap(shown_->arrays[first ? 0 : 1], array);
}

PyObject* shown_array::shown::usable() const noexcept {
    if (!is_numpy) return arrays[0].ptr();
    for (const nb::object& each : arrays) {
        if (each.is_valid() && Py_REFCNT(each.ptr()) == 1 && header.is_of(each.ptr())) return each.ptr();
    }
    return nullptr;
}

bool shown_array::shown::is_idle() const noexcept {
    if (!arrays[0].is_valid()) return false;
    Py_ssize_t known = 1;
    for (const nb::object& each : arrays) {
        if (!each.is_valid()) continue;
        if (Py_REFCNT(each.ptr()) != 1) return false;
        known += of_one;
    }
    return !root.is_valid() || Py_REFCNT(root.ptr()) == known;
}

void shown_array::shown::drop() noexcept {
    const nb::object last = std::move(root);
    const std::array first = std::move(arrays);
}

void shown_array::let_go(void* context) noexcept {
    if (!nb::is_alive()) return;
    const taken_lock locked;
    auto& asked = *static_cast<shown*>(context);
    if (asked.is_idle()) asked.drop();
}

}  // namespace unibuf::python
