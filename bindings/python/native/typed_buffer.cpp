// typed_buffer.cpp: what a Python UnifiedBuffer is inside: its arrays, and what it does at once.
#include "typed_buffer.hpp"

#include <atomic>
#include <chrono>

#include "imported.hpp"
#include "options.hpp"

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

typed_buffer::typed_buffer(unibuf::buffer bytes, element_type element, nb::object shape,
                           std::optional<rectangle_of_array> rectangle)
    : bytes_(std::move(bytes)), element_(std::move(element)), shape_(std::move(shape)) {
    if (rectangle) with_rarer().rectangle = std::move(rectangle);
}

std::size_t typed_buffer::elements() const {
    std::size_t result = 1;
    for (const nb::handle extent : shape_) result *= nb::cast<std::size_t>(extent);
    return result;
}

access_options typed_buffer::part(nb::handle offset, nb::handle count) const {
    const access_options result = range_of(offset, count, element_.bytes);
    if (!is_rectangle() || (result.offset == 0 && result.count == rest)) return result;
    throw error(error_code::unsupported,
                "a part of a rectangle was asked for: it is taken as a whole, without offset and count, or a smaller "
                "one is made by `view`");
}

/// Drops the handles without the interpreter's lock: the last handle may wait for queued work.
typed_buffer::~typed_buffer() {
    drop_arrays();
    std::optional<unibuf::buffer> array;
    if (is_rectangle()) array.emplace(std::move(rarer_->rectangle->array));
    if (bytes_.id() == 0 || !nb::is_alive()) return;
    const without_interpreter unlocked;
    array.reset();
    const unibuf::buffer last = std::move(bytes_);
}

void typed_buffer::refuse() {
    throw error(error_code::invalid_argument, "the buffer was released to its pool: acquire another one");
}

nb::object typed_buffer::array(nb::handle held, space where, nb::handle shape, nb::handle strides,
                               nb::handle stream) const {
    if (nb::inst_ptr<memory>(held)->data() || where == unibuf::host) {
        return array_over(held, shape, element_.dtype, strides);
    }
    static constinit imported wrap("unibuf._device_arrays", "wrap");
    return in_python([&] { return wrap(held, shape, element_.dtype, stream, strides); });
}

nb::object typed_buffer::io_view(unibuf::access what) {
    memory held(access([what](unibuf::buffer& of) { return of.hold_for_io(what, 0, rest); }));
    return array(nb::cast(std::move(held)), unibuf::host, shape_, strides(), nb::none());
}

/// Returns an array over the view. It is kept for the next access, unless the buffer is bound: then each caller gets an
/// array of its own, as the bytes go back to the hold only when the last array has gone.
template <class Take>
nb::object typed_buffer::show(shown_array& in, const Take& take, bool read_only) {
    if (looks_later_) look();
    const std::uint32_t before = generation_;
    const nb::object along = strides();
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
            nb::object another = array(root, held.native().where, shape_, along, nb::none());
            if (before == generation_) in.show_another(another, root);
            return another;
        }
    }
    const native_memory native = held.native();
    nb::object root = nb::cast(std::move(held));
    nb::object made = array(root, native.where, shape_, along, nb::none());
    if (kept && before == generation_) in.show(made, std::move(root), native);
    if (bound) in.drop();
    return made;
}

nb::object typed_buffer::host_by_access() {
    if (!detail::host_may_write(options().access)) {
        return show(with_rarer().host, [](unibuf::buffer& of) { return of.copy_view(unibuf::host); }, true);
    }
    return show(with_rarer().host, [](unibuf::buffer& of) { return of.host_view(); });
}

nb::object typed_buffer::device_by_access() {
    const space where = device_of_calls();
    if (device_is_host()) {
        nb::object result = nb::steal(host());
        access([where](unibuf::buffer& of) { of.copy_view(where); });  // others may have freed the copy since
        return result;
    }
    const bool constant = options().access == host_access::constant;
    return show(with_rarer().device, [where](unibuf::buffer& of) { return of.copy_view(where); }, constant);
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
    buffer_options left = options();
    if (left.access == host_access::constant) left.access = host_access::read_write;  // its memory has been given back
    unibuf::buffer gone(size_bytes(), left);
    std::swap(bytes_, gone);
    std::optional<rectangle_of_array> of_array;
    if (rarer_) std::swap(rarer_->rectangle, of_array);
    drop_arrays();
    const without_interpreter unlocked;
    const unibuf::buffer last = std::move(gone);
    if (of_array) const unibuf::buffer array = std::move(of_array->array);
}

buffer_state typed_buffer::state() {
    return access([](const unibuf::buffer& of) { return of.state(); });
}

void typed_buffer::mark(space where, access_options options) {
    if (looks_later_) look();
    const bool all = !is_rectangle() && options.offset == 0 && options.count == rest;
    if (all && !options.on && bytes().is_newest_at(where)) return;
    access([&](unibuf::buffer& of) { of.mark_dirty(where, options); });
}

unibuf::buffer typed_buffer::take() {
    looks_later_ = false;
    unibuf::buffer result = std::move(bytes());
    drop_arrays();
    return result;
}

void typed_buffer::drop_arrays() noexcept {
    ++generation_;
    if (!rarer_) return;
    rarer_->host.drop();
    rarer_->device.drop();
    for (shown_array& each : rarer_->of_blocks) each.drop();
}

}  // namespace unibuf::python
