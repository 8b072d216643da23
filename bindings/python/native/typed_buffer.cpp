// typed_buffer.cpp
#include "typed_buffer.hpp"

#include <utility>

#include "imported.hpp"

namespace unibuf::python {

namespace {

/// Those that show an array, in a ring; the one that was looked at longest ago comes first. The interpreter's lock
/// guards it.
typed_buffer* oldest = nullptr;

}  // namespace

space default_space_now() {
    if (detail::default_space.load(std::memory_order_relaxed) == detail::no_space) {
        const nb::gil_scoped_release unlocked;  // drivers are looked for
        default_device();
    }
    return space::from_id(detail::default_space.load(std::memory_order_relaxed));
}

typed_buffer::typed_buffer(unibuf::buffer bytes, element_type element, nb::object shape, const buffer_options& options)
    : bytes_(std::move(bytes)), element_(std::move(element)), shape_(std::move(shape)), options_(options) {}

/// The last handle may wait for queued work.
typed_buffer::~typed_buffer() {
    drop_arrays();
    if (!bytes_ || !nb::is_alive()) return;
    const nb::gil_scoped_release unlocked;
    bytes_.reset();
}

void typed_buffer::refuse() {
    throw error(error_code::invalid_argument, "the buffer was released to its pool: acquire another one");
}

void typed_buffer::link() noexcept {
    if (after_) return;
    if (!oldest) {
        before_ = after_ = oldest = this;
        return;
    }
    after_ = oldest;
    before_ = oldest->before_;
    before_->after_ = after_->before_ = this;
}

void typed_buffer::unlink() noexcept {
    if (!after_) return;
    if (oldest == this) oldest = after_ == this ? nullptr : after_;
    before_->after_ = after_;
    after_->before_ = before_;
    before_ = after_ = nullptr;
}

void typed_buffer::drop_idle_arrays() {
    shown_array host, device;  // gone last: weak references to them may call what drops this
    if (host_.is_idle()) host = std::exchange(host_, {});
    if (device_.is_idle()) device = std::exchange(device_, {});
    if (!host_.get() && !device_.get()) unlink();
}

bool typed_buffer::drop_idle_arrays_of_others(std::size_t looks) {
    const typed_buffer* first = nullptr;
    bool any = false;
    for (std::size_t i = 0; i < looks && oldest && oldest != first; ++i) {
        typed_buffer& each = *oldest;
        if (!first) first = &each;
        oldest = each.after_;  // to the end of the ring
        if (&each == this) continue;
        const bool idle = each.host_.is_idle() || each.device_.is_idle();
        if (first == &each && idle) first = nullptr;
        any |= idle;
        if (idle) each.drop_idle_arrays();
    }
    return any;
}

nb::object typed_buffer::array(nb::handle held, space where, nb::handle shape, nb::handle stream) const {
    if (nb::inst_ptr<memory>(held)->data() || where == unibuf::host) return array_over(held, shape, element_.dtype);
    static const nb::handle wrap = imported("unibuf._device_arrays", "wrap");
    return wrap(held, shape, element_.dtype, stream);
}

nb::object typed_buffer::show(shown_array& in, std::uint32_t generation, memory held) {
    const native_memory native = held.native();
    nb::object root = nb::cast(std::move(held));
    nb::object made = array(root, native.where, shape_, nb::none());
    if (generation != generation_) return made;  // of a buffer that was given away meanwhile
    in.show(made, std::move(root), native);
    link();
    return made;
}

nb::object typed_buffer::host_by_access() {
    if (device_.is_idle()) device_.drop();
    drop_idle_arrays_of_others(2);
    const std::uint32_t before = generation_;
    if (options_.access == host_access::read_only) {
        copy_view held = access([](unibuf::buffer& of) { return of.copy_view(unibuf::host); });
        if (host_.is_over(held.native())) return nb::borrow(host_.get());
        return show(host_, before, memory(std::move(held), true));
    }
    host_view<std::byte> held = access([](unibuf::buffer& of) { return of.host_view(); });
    memory found(std::move(held));
    if (host_.is_over(found.native())) return nb::borrow(host_.get());
    return show(host_, before, std::move(found));
}

nb::object typed_buffer::device_by_access() {
    const space where = default_space_now();
    // What the host may only read, the device writes: through an array of its own.
    if (where.id() == detail::host_in_place_of_device && options_.access != host_access::read_only) {
        nb::object result = nb::steal(host());
        access([where](unibuf::buffer& of) { of.copy_view(where); }, where);  // also where others have freed it since
        return result;
    }
    if (host_.is_idle()) host_.drop();
    drop_idle_arrays_of_others(2);
    const std::uint32_t before = generation_;
    memory found(access([where](unibuf::buffer& of) { return of.copy_view(where); }, where));
    if (device_.is_over(found.native())) return nb::borrow(device_.get());
    return show(device_, before, std::move(found));
}

void typed_buffer::free() {
    unibuf::buffer gone(size_bytes(), options_);
    std::swap(*bytes_, gone);
    drop_arrays();
    const nb::gil_scoped_release unlocked;
    const unibuf::buffer last = std::move(gone);
}

shared_memory& typed_buffer::share(std::string_view description) {
    if (shared_) return *shared_;
    drop_idle_arrays();
    if (host_.get()) {
        throw error(error_code::access_conflict,
                    "the buffer was to be shared, which gives it other memory, but arrays of the host are held");
    }
    auto made = shared_memory::create(size_bytes(), description);
    access([&](unibuf::buffer& of) { of.copy_to(made->bytes()); });
    attach(std::move(made));
    return *shared_;
}

void typed_buffer::attach(std::shared_ptr<shared_memory> memory) {
    options_.tracking = write_tracking::off;  // nobody sees what other processes write
    unibuf::buffer over = unibuf::buffer::over(memory->bytes(), memory, options_);
    over.release_host();
    device_.drop();
    host_.drop();
    unlink();
    ++generation_;
    std::swap(bytes(), over);
    shared_ = std::move(memory);
    const nb::gil_scoped_release unlocked;
    const unibuf::buffer gone = std::move(over);
}

/// Other processes may have written the host's copy at any time since the last look.
void typed_buffer::look_at_others(space where) {
    shared_->check_not_newer_elsewhere();
    if (where == unibuf::host || !shared_->has_others()) return;
    const buffer_state now = bytes().state();
    if (now == buffer_state::synchronized || now == buffer_state::host_only) bytes().mark_host_dirty();
}

void typed_buffer::tell_others() {
    const buffer_state now = bytes().state();
    if (now == buffer_state::device_dirty || now == buffer_state::device_only || now == buffer_state::mixed) {
        shared_->claim();
    } else {
        shared_->settle();
    }
}

buffer_state typed_buffer::state() const {
    return shared_ && shared_->is_newer_elsewhere() ? buffer_state::device_dirty : bytes().state();
}

/// Only where that would wait for others is the interpreter's lock let go.
void typed_buffer::mark(space where, access_options options) {
    if (!shared_ && options.count == rest && options.offset == 0 && !options.on && bytes().is_newest_at(where)) return;
    if (shared_ && where == unibuf::host) shared_->settle_for_all();
    options.timeout = std::chrono::nanoseconds::zero();
    try {
        if (!shared_) return bytes().mark_dirty(where, options);
    } catch (const error& failure) {
        if (failure.code() != error_code::timeout) throw;
    }
    options.timeout = forever;
    access([&](unibuf::buffer& of) { of.mark_dirty(where, options); });
}

unibuf::buffer typed_buffer::take() {
    if (shared_) {
        throw error(error_code::invalid_argument, "a buffer that processes share was to be released to a pool");
    }
    unibuf::buffer result = std::move(bytes());
    bytes_.reset();
    drop_arrays();
    return result;
}

void typed_buffer::drop_arrays() noexcept {
    ++generation_;
    unlink();
    const shown_array host = std::exchange(host_, {}), device = std::exchange(device_, {});
}

}  // namespace unibuf::python
