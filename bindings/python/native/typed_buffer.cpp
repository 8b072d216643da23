// typed_buffer.cpp
#include "typed_buffer.hpp"

#include <algorithm>
#include <utility>

#include "imported.hpp"

namespace unibuf::python {

namespace {

/// Those that show an array, in a ring; the one that was looked at longest ago comes first. The interpreter's lock
/// guards it.
typed_buffer* oldest = nullptr;
std::size_t shown = 0;  // of these

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
    ++shown;
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
    --shown;
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
    bool any = false;
    for (looks = std::min(looks, shown); looks != 0 && oldest; --looks) {
        typed_buffer& each = *oldest;
        oldest = each.after_;  // to the end of the ring
        if (&each == this || (!each.host_.is_idle() && !each.device_.is_idle())) continue;
        any = true;
        each.drop_idle_arrays();
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
        access([where](unibuf::buffer& of) { of.copy_view(where); });  // also where others have freed it since
        return result;
    }
    if (host_.is_idle()) host_.drop();
    drop_idle_arrays_of_others(2);
    const std::uint32_t before = generation_;
    memory found(access([where](unibuf::buffer& of) { return of.copy_view(where); }));
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

std::string typed_buffer::share(std::string_view description) {
    drop_idle_arrays();
    if (!bytes().is_shared() && (host_.get() || !bytes().is_only_handle())) {
        throw error(error_code::access_conflict,
                    "the buffer was to be shared, which gives it other memory, but arrays or views of it are held: "
                    "share it first");
    }
    return access([&](unibuf::buffer& of) { return of.share(description); });
}

buffer_state typed_buffer::state() {
    unibuf::buffer of = handle();
    const nb::gil_scoped_release unlocked;
    return of.state();
}

void typed_buffer::mark(space where, access_options options) {
    const bool all = options.offset == 0 && options.count == rest;
    if (all && !options.on && bytes().is_newest_at(where)) return;
    access([&](unibuf::buffer& of) { of.mark_dirty(where, options); });
}

unibuf::buffer typed_buffer::take() {
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
