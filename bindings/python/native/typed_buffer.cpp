// typed_buffer.cpp
#include "typed_buffer.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "imported.hpp"

namespace unibuf::python {

namespace {

/// Those that show an array, in a ring; the one that was looked at longest ago comes first. The interpreter's lock
/// guards it.
typed_buffer* oldest = nullptr;
std::size_t shown = 0;  // of these

/// Whether a device has bytes that the host lacks.
bool has_newest_at_device(buffer_state state) noexcept {
    return state == buffer_state::device_dirty || state == buffer_state::device_only || state == buffer_state::mixed;
}

/// By buffer::id; the interpreter's lock guards it.
std::map<std::uint64_t, std::weak_ptr<shared_memory>>& all_shared() {
    static auto& all = *new std::map<std::uint64_t, std::weak_ptr<shared_memory>>;
    return all;
}

void remember_shared(std::uint64_t id, const std::shared_ptr<shared_memory>& memory) {
    std::erase_if(all_shared(), [](const auto& each) { return each.second.expired(); });
    all_shared()[id] = memory;
}

}  // namespace

std::shared_ptr<shared_memory> shared_memory_of(const unibuf::buffer& of) {
    const auto found = all_shared().find(of.id());
    return found == all_shared().end() ? nullptr : found->second.lock();
}

space default_space_now() {
    if (detail::default_space.load(std::memory_order_relaxed) == detail::no_space) {
        const nb::gil_scoped_release unlocked;  // drivers are looked for
        default_device();
    }
    return space::from_id(detail::default_space.load(std::memory_order_relaxed));
}

typed_buffer::typed_buffer(unibuf::buffer bytes, element_type element, nb::object shape, const buffer_options& options)
    : bytes_(std::move(bytes)), element_(std::move(element)), shape_(std::move(shape)), options_(options) {
    if (!all_shared().empty()) shared_ = shared_memory_of(*bytes_);
}

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
    const std::shared_ptr<shared_memory> memory = std::move(shared_);  // stays that of others
    drop_arrays();
    const nb::gil_scoped_release unlocked;
    const unibuf::buffer last = std::move(gone);
}

shared_memory& typed_buffer::share(std::string_view description) {
    if (shared_) return *shared_;
    drop_idle_arrays();
    check_alone();
    auto made = shared_memory::create(size_bytes(), description);
    access([&](unibuf::buffer& of) { of.copy_to(made->bytes()); });
    if (shared_) return *shared_;  // another thread was first
    check_alone();
    attach(std::move(made));
    return *shared_;
}

void typed_buffer::check_alone() {
    if (!host_.get() && bytes().is_only_handle()) return;
    throw error(error_code::access_conflict,
                "the buffer was to be shared, which gives it other memory, but arrays or views of it are held, which "
                "would stay behind: share it first");
}

void typed_buffer::attach(std::shared_ptr<shared_memory> memory) {
    options_.tracking = write_tracking::off;  // nobody sees what other processes write
    unibuf::buffer over = unibuf::buffer::over(memory->bytes(), memory, options_);
    over.release_host();
    get_registry().add(memory->registered_name(), over);
    drop_arrays();
    std::swap(bytes(), over);
    shared_ = std::move(memory);
    remember_shared(bytes().id(), shared_);
    const nb::gil_scoped_release unlocked;
    const unibuf::buffer gone = std::move(over);
}

/// Other processes may have written the host's copy at any time since the last look, or have said that it stands.
void typed_buffer::follow_others(const shared_memory& memory, unibuf::buffer& of, space where) {
    memory.check_not_newer_elsewhere();
    const bool newest_here = has_newest_at_device(of.state());
    const bool overruled = newest_here && !memory.is_newest_here();
    if (overruled || (!newest_here && where != unibuf::host && memory.has_others())) of.mark_host_dirty();
}

void typed_buffer::tell_others(shared_memory& memory, const unibuf::buffer& of) {
    if (has_newest_at_device(of.state())) {
        memory.claim();
    } else {
        memory.settle();
    }
}

buffer_state typed_buffer::state() {
    if (shared_ && shared_->is_newer_elsewhere()) return buffer_state::device_dirty;
    unibuf::buffer of = handle();
    const nb::gil_scoped_release unlocked;
    const buffer_state result = of.state();
    const bool overruled = shared_ && has_newest_at_device(result) && !shared_->is_newest_here();
    return overruled ? buffer_state::host_dirty : result;
}

void typed_buffer::mark(space where, access_options options) {
    const bool all = options.offset == 0 && options.count == rest;
    if (!shared_ && all && !options.on && bytes().is_newest_at(where)) return;
    if (!shared_ || !all || where != unibuf::host) {
        access([&](unibuf::buffer& of) { of.mark_dirty(where, options); });
        return;
    }
    // Over whatever other processes have newer.
    unibuf::buffer of = handle();
    const std::shared_ptr<shared_memory> memory = shared_;
    const nb::gil_scoped_release unlocked;
    of.mark_dirty(where, options);
    memory->settle_for_all();
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
