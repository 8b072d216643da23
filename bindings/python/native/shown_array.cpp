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
    return now.any() && now.native.where == native.where && now.native.handle == native.handle;
}

bool shown_array::is_at(space where) const noexcept {
    if (!shown_) return false;
    const nb::ft_lock_guard alone(shown_->one_at_a_time);
    return shown_->now.any() && shown_->now.native.where == where;
}

void shown_array::show(nb::object array, nb::object root, const native_memory& native) {
    arrays_of_one made;
    made.arrays[0].array = array;
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
    std::array<array_pair, 2>& arrays = now.arrays;
    if (now.lists_events) {
        std::swap(arrays[0], arrays[1]);
        std::swap(arrays[0].array, array);
        now.threads = {this_thread(), now.threads[0]};
        return;
    }
    // One that nobody has is there only because somebody has changed its header.
    const bool first = references_to(arrays[0].array) == 1;
    std::swap(arrays[first ? 0 : 1].array, array);
}

void shown_array::keep_root(const array_pair& of_block, nb::handle root, const native_memory& native) {
    arrays_of_one made;
    made.of_one = references_to(root) - 1;  // the block has one
    made.count = counted(true);
    made.root = nb::borrow(root);
    made.native = native;
    made.is_numpy = is_array(of_block.array);
    if (made.is_numpy) made.header = array_header(of_block.array);
    if (!shown_) shown_ = std::make_shared<shown>();
    shown_->change(std::move(made));
}

array_pair shown_array::take(nb::handle shape) {
    array_pair result;
    if (!shown_) return result;
    const nb::ft_lock_guard alone(shown_->one_at_a_time);
    for (array_pair& each : shown_->now.arrays) {
        if (!shown_->now.is_free(each)) continue;
        std::swap(each, result);
        break;
    }
    // An array of another library can be given another shape in place, and has no header that tells.
    const bool is_other = result.array.is_valid() && !shown_->now.is_numpy && !result.array.attr("shape").equal(shape);
    return is_other ? array_pair() : result;
}

void shown_array::give_back(array_pair of_block) {
    const nb::ft_lock_guard alone(shown_->one_at_a_time);
    std::array<array_pair, 2>& arrays = shown_->now.arrays;
    // One that somebody has is the one that is used up longest.
    array_pair& place = !arrays[0].array.is_valid() ? arrays[0] : !arrays[1].array.is_valid() ? arrays[1] : arrays[0];
    std::swap(place, of_block);
}

/// Returns whether nobody else has the array, and it is as it was when it was made.
bool shown_array::arrays_of_one::is_free(const array_pair& which) const noexcept {
    if (!which.array.is_valid() || references_to(which.array) != 1) return false;
    if (which.inner.is_valid() && references_to(which.inner) != 2) return false;
    if (!is_numpy) return true;
    const bool any_weak = array_header::has_weak_references(which.array) ||
                          (which.inner.is_valid() && array_header::has_weak_references(which.inner));
    return !any_weak && header.is_of(which.array.ptr());
}

PyObject* shown_array::arrays_of_one::usable() const noexcept {
    if (lists_events) {
        const auto mine = std::ranges::find(threads, this_thread());
        return mine == threads.end() ? nullptr : arrays[static_cast<std::size_t>(mine - threads.begin())].array.ptr();
    }
    if (!is_numpy) return arrays[0].array.ptr();
    for (const auto& [each, _] : arrays) {
        if (each.is_valid() && references_to(each) == 1 && header.is_of(each.ptr())) return each.ptr();
    }
    return nullptr;
}

bool shown_array::arrays_of_one::is_idle() const noexcept {
    if (!any()) return false;
    Py_ssize_t known = 1;
    for (const auto& [array, inner] : arrays) {
        if (!array.is_valid()) continue;
        if (references_to(array) != 1 || (inner.is_valid() && references_to(inner) != 2)) return false;
        known += of_one;
    }
    return !root.is_valid() || references_to(root) == known;
}

void shown_array::arrays_of_one::end() noexcept {
    if (!is_numpy || !root.is_valid()) return;
    const auto any_weak = [](const nb::object& of) { return of.is_valid() && array_header::has_weak_references(of); };
    for (const auto& [array, inner] : arrays) {
        if (any_weak(array) || any_weak(inner)) return;
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
