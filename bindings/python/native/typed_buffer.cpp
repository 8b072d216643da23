// typed_buffer.cpp
#include "typed_buffer.hpp"

#include <atomic>
#include <chrono>

#include "imported.hpp"

namespace unibuf::python {

typed_buffer& buffer_of(nb::handle object, const char* allowed) {
    if (nb::isinstance<typed_buffer>(object) && nb::inst_ready(object)) return *nb::inst_ptr<typed_buffer>(object);
    throw nb::type_error(nb::str("{}; {} was given").format(allowed, object.type().attr("__name__")).c_str());
}

space device_of_calls() {
    static constinit std::atomic<bool> known = false;
    if (!known.load(std::memory_order_relaxed)) {
        const without_interpreter unlocked;
        current_device();
    }
    known.store(true, std::memory_order_relaxed);
    return current_device();
}

typed_buffer::typed_buffer(unibuf::buffer bytes, element_type element, nb::object shape, const buffer_options& options)
    : bytes_(std::move(bytes)), element_(std::move(element)), shape_(std::move(shape)), options_(options) {}

/// Drops the handle without the interpreter's lock: the last handle may wait for queued work.
typed_buffer::~typed_buffer() {
    drop_arrays();
    if (!bytes_ || !nb::is_alive()) return;
    const without_interpreter unlocked;
    bytes_.reset();
}

void typed_buffer::refuse() {
    throw error(error_code::invalid_argument, "the buffer was released to its pool: acquire another one");
}

nb::object typed_buffer::array(nb::handle held, space where, nb::handle shape, nb::handle stream) const {
    if (nb::inst_ptr<memory>(held)->data() || where == unibuf::host) return array_over(held, shape, element_.dtype);
    static constinit imported wrap("unibuf._device_arrays", "wrap");
    return in_python([&] { return wrap(held, shape, element_.dtype, stream); });
}

/// Returns an array over the view. It is kept for the next access, unless the buffer is bound: then each caller gets an
/// array of its own, as the bytes go back to the hold only when the last array has gone.
template <class Take>
nb::object typed_buffer::show(shown_array& in, const Take& take, bool read_only) {
    const std::uint32_t before = generation_;
    bool bound = false;
    memory held(access([&, who = in.as_holder()](unibuf::buffer& of) {
                    auto view = take(of);
                    bound = of.is_bound();
                    if (!bound) view.held_by(who);
                    return view;
                }),
                read_only);
    const bool kept = !bound && before == generation_;
    if (kept && in.is_over(held.native())) {
        if (PyObject* const shown = in.get()) return nb::steal(shown);
        if (const nb::object root = in.root(); root.is_valid()) {
            nb::object another = array_over(root, shape_, element_.dtype);
            if (before == generation_) in.show_another(another);
            return another;
        }
    }
    const native_memory native = held.native();
    nb::object root = nb::cast(std::move(held));
    nb::object made = array(root, native.where, shape_, nb::none());
    if (kept && before == generation_) in.show(made, std::move(root), native);
    if (bound) in.drop();
    return made;
}

nb::object typed_buffer::host_by_access() {
    if (options_.access == host_access::read_only) {
        return show(host_, [](unibuf::buffer& of) { return of.copy_view(unibuf::host); }, true);
    }
    return show(host_, [](unibuf::buffer& of) { return of.host_view(); });
}

nb::object typed_buffer::device_by_access() {
    const space where = device_of_calls();
    if (device_is_host()) {
        nb::object result = nb::steal(host());
        access([where](unibuf::buffer& of) { of.copy_view(where); });  // others may have freed the copy since
        return result;
    }
    return show(device_, [where](unibuf::buffer& of) { return of.copy_view(where); });
}

void typed_buffer::look() {
    looks_later_ = false;
    access([](unibuf::buffer& of) {
        try {
            of.read(host_as_device, {.timeout = std::chrono::nanoseconds::zero()});
        } catch (const error&) {  // somebody uses the bytes now, and the state tells of him
        }
    });
}

namespace {

/// Waits until blocks of other threads have ended that write the buffer.
void wait_for_writers(unibuf::buffer& of) {
    const buffer_state state = of.state();
    if (state == buffer_state::uninitialized) return;
    // Mostly this is where they write, so that nothing moves.
    const bool at_device = state == buffer_state::device_only || state == buffer_state::device_dirty;
    try {
        of.read(at_device ? current_device() : unibuf::host);
    } catch (const error& failure) {  // what cannot be read may go all the same
        if (failure.code() == error_code::timeout) throw;
    }
}

}  // namespace

void typed_buffer::free() {
    access([](unibuf::buffer& of) {
        of.check_not_excluded(unibuf::access::read);
        wait_for_writers(of);
    });
    looks_later_ = false;
    unibuf::buffer gone(size_bytes(), options_);
    std::swap(*bytes_, gone);
    drop_arrays();
    const without_interpreter unlocked;
    const unibuf::buffer last = std::move(gone);
}

buffer_state typed_buffer::state() {
    return access([](const unibuf::buffer& of) { return of.state(); });
}

void typed_buffer::mark(space where, access_options options) {
    if (looks_later_) look();
    const bool all = options.offset == 0 && options.count == rest;
    if (all && !options.on && bytes().is_newest_at(where)) return;
    access([&](unibuf::buffer& of) { of.mark_dirty(where, options); });
}

unibuf::buffer typed_buffer::take() {
    looks_later_ = false;
    unibuf::buffer result = std::move(bytes());
    bytes_.reset();
    drop_arrays();
    return result;
}

void typed_buffer::drop_arrays() noexcept {
    ++generation_;
    host_.drop();
    device_.drop();
}

}  // namespace unibuf::python
