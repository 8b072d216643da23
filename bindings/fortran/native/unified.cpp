// unified.cpp: what a type(unified_buffer) stands for.
#include "unified.hpp"

#include <cstdint>
#include <string>
#include <unibuf/detail/sizes.hpp>
#include <unibuf/error.hpp>
#include <utility>
#include <vector>

#include "batches.hpp"
#include "opengl_calls.hpp"

namespace unibuf::fortran {

namespace {

std::size_t counted(std::int64_t value, const char* what) {
    if (value >= 0) return static_cast<std::size_t>(value);
    throw error(error_code::out_of_range,
                std::string(what) + " of " + std::to_string(value) + " was given: 0 is the least");
}

}  // namespace

extent extent_of(const std::int64_t* offset, const std::int64_t* bytes) {
    return {.offset = offset ? counted(*offset, "an offset") : 0, .bytes = bytes ? counted(*bytes, "a size") : rest};
}

unified::unified(buffer bytes, space where)
    : bytes_(std::move(bytes)),
      gpu_(gpu_at(where)),
      holds_(std::make_shared<gpu_holds>(bytes_.view(0, bytes_.size_bytes()), gpu_)) {
    static_cast<void>(bytes_.copy_view(host));
    bytes_.prefetch(gpu_.where, {.on = gpu_.on});
}

std::unique_ptr<unified> unified::view(extent part) {
    return std::unique_ptr<unified>(
        new unified(bytes_.view(part.offset, part.bytes), begin_ + part.offset, gpu_, holds_));
}

std::unique_ptr<unified> unified::view_section(const CFI_cdesc_t& shape, const CFI_cdesc_t& lower,
                                               const CFI_cdesc_t& upper, std::size_t element) {
    const auto rank = static_cast<std::size_t>(shape.dim[0].extent);
    if (lower.dim[0].extent != shape.dim[0].extent || upper.dim[0].extent != shape.dim[0].extent) {
        throw error(error_code::invalid_argument, "a section of an array of " + std::to_string(rank) +
                                                      " axes has as many lower and upper bounds; " +
                                                      std::to_string(lower.dim[0].extent) + " and " +
                                                      std::to_string(upper.dim[0].extent) + " were given");
    }
    section_layout lies{.element = element, .rank = static_cast<int>(rank)};
    std::vector<std::int64_t> extents(rank);  // in the order of C
    std::vector<slice> along(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::int64_t extent = integer_at(shape, axis, "a shape is an array of integers");
        const std::int64_t begin = integer_at(lower, axis, "lower bounds are an array of integers");
        const std::int64_t end = integer_at(upper, axis, "upper bounds are an array of integers");
        if (begin < 1 || end < begin || end > extent) {
            throw error(error_code::out_of_range, "elements " + std::to_string(begin) + " to " + std::to_string(end) +
                                                      " along axis " + std::to_string(axis + 1) +
                                                      " were asked for: there are 1 to " + std::to_string(extent));
        }
        extents[rank - 1 - axis] = extent;
        along[rank - 1 - axis] = {static_cast<std::size_t>(begin - 1), static_cast<std::size_t>(end), 1};
    }
    buffer part = bytes_.view(unibuf::shape::of(extents), element, along);  // so the array lies within the buffer
    std::size_t pitch = element;
    std::size_t first = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const slice& cut = along[rank - 1 - axis];
        lies.extents[axis] = static_cast<std::int64_t>(cut.stop - cut.start);
        lies.strides[axis] = static_cast<std::int64_t>(pitch);
        first += cut.start * pitch;
        pitch *= static_cast<std::size_t>(extents[rank - 1 - axis]);
    }
    auto made = std::unique_ptr<unified>(new unified(std::move(part), begin_ + first, gpu_, holds_));
    if (made->bytes_.is_rectangle()) made->layout_ = lies;
    return made;
}

extent unified::placed(extent part) const noexcept {
    if (layout_) return {.offset = begin_, .bytes = layout_->reach()};
    return {.offset = begin_ + part.offset, .bytes = part.bytes == rest ? size() - part.offset : part.bytes};
}

std::byte* unified::host_pointer() {
    holds_->before_access();
    if (holds_->any()) holds_->turn_of_pointers();
    return pointer_to(bytes_);
}

void unified::release_host_pointers() {
    if (holds_->keeps_pointers()) return;
    bytes_.release_host();
}

std::byte* unified::read_by_pointer(extent part) {
    buffer of_part = bytes_.view(part.offset, part.bytes);
    std::byte* const data = pointer_to(of_part);
    holds_->was_read(placed(part));
    return data;
}

extent unified::elements(std::int64_t offset, const section& of) const {
    const std::size_t begin = counted(offset, "an offset");
    const auto first = detail::product(begin, of.element_bytes());
    if (!first || !detail::lies_within(*first, of.bytes(), size())) {
        throw error(error_code::out_of_range, std::to_string(of.bytes() / of.element_bytes()) + " elements of " +
                                                  std::to_string(of.element_bytes()) + " bytes from element " +
                                                  std::to_string(offset) + " on were asked for, of a buffer of " +
                                                  std::to_string(size()) + " bytes");
    }
    return {.offset = *first, .bytes = of.bytes()};
}

void unified::write(const section& from, std::int64_t offset) {
    const extent part = elements(offset, from);
    holds_->before_access();
    if (const std::byte* const data = from.contiguous()) return bytes_.copy_from({data, part.bytes}, part.offset);
    if (layout_) {
        std::vector<std::byte> together(part.bytes);
        from.gather(together.data());
        return bytes_.copy_from(together, part.offset);
    }
    const auto lease = bytes_.acquire(host, access::write, {.offset = part.offset, .count = part.bytes});
    from.gather(lease.data());
}

void unified::read(const section& to, std::int64_t offset) {
    const extent part = elements(offset, to);
    holds_->before_access();
    if (layout_) {
        std::vector<std::byte> together(part.bytes);
        bytes_.copy_to(together, part.offset);
        return to.scatter(together.data());
    }
    const bool may_read = gpu_.where == host || bytes_.options().access != host_access::write_only;
    if (may_read && holds_->any() && holds_->pointers_out()) return to.scatter(read_by_pointer(part));
    const auto lease = bytes_.acquire(host, access::read, {.offset = part.offset, .count = part.bytes});
    to.scatter(lease.data());
}

byte_lease unified::acquire(space where, access what, const access_options& options) {
    holds_->before_access();
    return bytes_.acquire(where, what, options);
}

void unified::begin_io(access what) {
    holds_->before_access();
    copy_view begun = bytes_.io_view(what);
    const std::lock_guard lock(mutex_);
    io_.push_back(std::move(begun));
}

void unified::end_io() noexcept {
    std::vector<copy_view> ended;
    const std::lock_guard lock(mutex_);
    ended.swap(io_);
}

void unified::fill(const section& pattern) {
    if (pattern.bytes() == 0 && size() != 0) {
        throw error(error_code::invalid_argument, "a pattern without elements was given to fill a buffer with");
    }
    std::vector<std::byte> repeated(pattern.bytes());
    pattern.gather(repeated.data());
    holds_->before_access();
    bytes_.fill(repeated);
    if (!holds_->pointers_out()) return;
    if (holds_->any()) holds_->turn_of_pointers();
    pointer_to(bytes_);  // pointers show what was filled, and may go on from there
}

void unified::sync_to_gpu(extent part) {
    if (holds_->any()) {
        static_cast<void>(bytes_.view(part.offset, part.bytes));  // throws where the part is out of range
        // The host's bytes stand all over the buffer, not just in the part: writes through pointers are found by pages,
        // which may reach beyond the part, where a shader could write.
        return holds_->begin_with_host();
    }
    // No queue is named while a batch is open, as the batch collects only what names none.
    const queue on = batch_is_open() ? queue{} : gpu_.on;
    bytes_.prefetch(gpu_.where, {.offset = part.offset, .count = part.bytes, .on = on});
}

void unified::sync_from_gpu(extent part) {
    if (holds_->any()) return holds_->bring(placed(part));
    // A view is for the program as well where the host only writes: it waits for the device, and has nothing to bring.
    static_cast<void>(bytes_.view(part.offset, part.bytes).copy_view(host));
}

void unified::mark_host_dirty(extent part) {
    bytes_.mark_host_dirty(part.offset, part.bytes);
    holds_->forget_reads(placed(part));
}

void unified::mark_device_dirty(extent part) {
    bytes_.mark_dirty(gpu_.where, {.offset = part.offset, .count = part.bytes, .on = gpu_.on});
}

access unified::use_of_shader() const noexcept {
    const host_access hosts = bytes_.options().access;
    const bool only_reads = hosts == host_access::write_only || hosts == host_access::constant;
    return only_reads ? access::read : access::read_write;
}

void unified::show() {
    if (gpu_.where == host) {
        if (!shown_at_host_) shown_at_host_.emplace(bytes_.copy_view(host));
    } else if (!shown_) {
        shown_ = holds_->add(part(), use_of_shader());
        storage_ = std::make_shared<bound_storage>(shown_->native(), part(), use_of_shader(), holds_);
    }
}

native_memory unified::show_to_gpu() {
    const std::lock_guard lock(mutex_);
    const bool first = !shown_;
    holds_->handle_given();
    show();
    if (first && holds_->pointers_out()) {  // pointers that were given out before keep their bytes until sync_to_gpu
        static_cast<void>(pointer_to(bytes_));
        holds_->turn_of_pointers();
    }
    return storage_ ? storage_->copy : shown_at_host_->native();
}

void unified::bind_to_shader(int binding) {
    if (binding < 0)
        throw error(error_code::out_of_range,
                    "a binding of " + std::to_string(binding) + " was given: they count from 0");
    if (gpu_.where == host) {  // in the place of a GPU, after use_copy_fallback(): no shader is ever made for it
        const std::lock_guard lock(mutex_);
        return show();
    }
    if (!gpu_.has_shaders()) {
        throw error(error_code::unsupported, "a shader was to use a buffer that is for " + gpu_.where.name() +
                                                 ": shaders are OpenGL's; get_gpu_handle gives what other APIs need");
    }
    const auto index = static_cast<unsigned>(binding);
    bool first = false;
    std::shared_ptr<bound_storage> storage;
    {
        const std::lock_guard lock(mutex_);
        std::optional<copy_view> in_place;  // a binding that is refused begins no hold
        if (!shown_) in_place.emplace(bytes_.copy_view(gpu_.where));
        bind_storage(in_place ? in_place->native() : storage_->copy, index);
        first = !shown_;
        show();
        storage = storage_;
    }
    try {
        sync_to_gpu({});
        note_binding(gpu_.where, index, storage);
    } catch (...) {
        if (first) end_hold();
        throw;
    }
}

unified::~unified() {
    try {
        take_back_from_gpu();
    } catch (const std::exception&) {
        end_hold();  // what could not be given to the device stays newest where it is
    }
}

bool unified::take_back_from_gpu() {
    holds_->before_access();  // a shader may have run since the pointers' turn began
    return end_hold();
}

void unified::release_gpu_handle() {
    take_back_from_gpu();
    holds_->handle_given_back();
}

bool unified::end_hold() noexcept {
    const std::lock_guard lock(mutex_);
    shown_at_host_.reset();
    if (!shown_) return false;
    holds_->remove(shown_);
    shown_.reset();
    storage_.reset();
    return true;
}

void unified::release_to(memory_pool& pool) {
    const std::shared_ptr<bound_storage> bound = storage_;
    const bool was_shown = take_back_from_gpu();  // no pool takes what a device may use
    try {
        pool.release(std::move(bytes_));
    } catch (...) {
        if (was_shown) show_again(bound);
        throw;
    }
}

void unified::show_again(const std::shared_ptr<bound_storage>& bound) {
    const std::lock_guard lock(mutex_);
    show();
    if (!storage_) return;
    bound->copy = storage_->copy;
    storage_ = bound;
}

slots<unified>& buffers() noexcept {
    static constinit slots<unified> all("a buffer");
    return all;
}

}  // namespace unibuf::fortran
