// shown_array.cpp: the arrays that a buffer gives out again and again, as long as its copy stays where it is.
#include "shown_array.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "element_type.hpp"
#include "interpreter_lock.hpp"
#include "memory.hpp"
#include "references.hpp"

namespace unibuf::python {

using unibuf::detail::this_thread;

holder shown_array::as_holder() {
    if (!shown_) shown_ = std::make_shared<shown>();
    return {let_go, shown_};
}

nb::object shown_array::root() const noexcept {
    if (!shown_) return {};
    const nb::ft_lock_guard alone(shown_->one_at_a_time);
    return shown_->now.root;
}

bool shown_array::is_over(const native_memory& native) const noexcept {
    if (!shown_) return false;
    const nb::ft_lock_guard alone(shown_->one_at_a_time);
    const arrays_of_one& now = shown_->now;
    return now.arrays[0].is_valid() && now.native.where == native.where && now.native.handle == native.handle;
}

bool shown_array::is_at(space where) const noexcept {
    if (!shown_) return false;
    const nb::ft_lock_guard alone(shown_->one_at_a_time);
    return shown_->now.arrays[0].is_valid() && shown_->now.native.where == where;
}

void shown_array::show(nb::object array, nb::object root, const native_memory& native) {
    arrays_of_one made;
    made.arrays[0] = array;
    made.root = std::move(root);
    made.native = native;
    if (made.root.is(array)) made.root.reset();  // no library has arrays for the space
    if (made.root.is_valid()) made.of_one = references_to(made.root) - 1;
    made.is_numpy = is_array(array);
    if (made.is_numpy) made.header = array_header(array);
    // PyOpenCL (2026.1) gives the driver the events of this list as they are, and lets other threads run meanwhile. One
    // that reads the same array drops the oldest of them, and the driver waits for an event that is gone: PoCL 3.1 ends
    // the process.
    made.lists_events = !made.is_numpy && nb::hasattr(array, "events");
    made.threads[0] = this_thread();
    shown_->change(std::move(made));
}

void shown_array::show_another(nb::object array, nb::handle root) {
    const nb::ft_lock_guard alone(shown_->one_at_a_time);
    arrays_of_one& now = shown_->now;
    if (!now.root.is(root)) return;
    std::array<nb::object, 2>& arrays = now.arrays;
    if (now.lists_events) {
        std::swap(arrays[0], arrays[1]);
        std::swap(arrays[0], array);
        now.threads = {this_thread(), now.threads[0]};
        return;
    }
    // One that nobody has is there only because somebody has changed its header.
    const bool first = references_to(arrays[0]) == 1;
    std::swap(arrays[first ? 0 : 1], array);
}

PyObject* shown_array::arrays_of_one::usable() const noexcept {
    if (lists_events) {
        const auto mine = std::ranges::find(threads, this_thread());
        return mine == threads.end() ? nullptr : arrays[static_cast<std::size_t>(mine - threads.begin())].ptr();
    }
    if (!is_numpy) return arrays[0].ptr();
    for (const nb::object& each : arrays) {
        if (each.is_valid() && references_to(each) == 1 && header.is_of(each.ptr())) return each.ptr();
    }
    return nullptr;
}

bool shown_array::arrays_of_one::is_idle() const noexcept {
    if (!arrays[0].is_valid()) return false;
    Py_ssize_t known = 1;
    for (const nb::object& each : arrays) {
        if (!each.is_valid()) continue;
        if (references_to(each) != 1) return false;
        known += of_one;
    }
    return !root.is_valid() || references_to(root) == known;
}

void shown_array::arrays_of_one::end() noexcept {
    if (!is_numpy || !root.is_valid()) return;
    for (const nb::object& each : arrays) {
        if (each.is_valid() && array_header::has_weak_references(each)) return;
    }
    nb::inst_ptr<memory>(root)->end();
}

void shown_array::let_go(void* context) noexcept {
    if (!nb::is_alive()) return;
    const taken_lock locked;
    auto& asked = *static_cast<shown*>(context);
    arrays_of_one idle;
    {
        const nb::ft_lock_guard alone(asked.one_at_a_time);
        if (asked.now.is_idle()) std::swap(asked.now, idle);
    }
    idle.end();
}

}  // namespace unibuf::python
