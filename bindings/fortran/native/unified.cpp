// unified.cpp
#include "unified.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <unibuf/error.hpp>
#include <utility>
#include <vector>

#include "batches.hpp"
#include "opengl_calls.hpp"

namespace unibuf::fortran {

namespace {

std::size_t counted(std::int64_t value, const char* what) {
    if (value >= 0) return static_cast<std::size_t>(value);
    throw error(error_code::out_of_range, std::string(what) + " of " + std::to_string(value) + " was given");
}

}  // namespace

extent extent_of(const std::int64_t* offset, const std::int64_t* bytes) {
    return {.offset = offset ? counted(*offset, "an offset") : 0, .bytes = bytes ? counted(*bytes, "a size") : rest};
}

unified::unified(buffer bytes, space where)
    : bytes_(std::move(bytes)),
      gpu_(gpu_at(where)),
      common_(std::make_shared<common>(bytes_.view(0, bytes_.size_bytes()))) {
    bytes_.host();
    bytes_.release_host();
    bytes_.prefetch(gpu_.where, {.on = gpu_.on});
}

unified::~unified() {
    try {
        // The last handle waits for what is queued. Its own part may have gone to a pool.
        turn_of_gpu(common_->whole, {});
    } catch (const std::exception&) {
        // The device is gone, and with it what it did.
    }
    take_back_from_gpu();
}

std::unique_ptr<unified> unified::view(extent part) {
    return std::unique_ptr<unified>(new unified(bytes_.view(part.offset, part.bytes), gpu_, common_));
}

void unified::turn_of_gpu(buffer& of, extent part) {
    if (!at_gpu()) return;
    const access what = of.options().access == host_access::write_only ? access::read : access::read_write;
    of.acquire(gpu_.where, what, {.offset = part.offset, .count = part.bytes, .on = gpu_.on}).end();
}

std::byte* unified::host_pointer() {
    turn_of_gpu({});
    return bytes_.host();
}

extent unified::elements(std::int64_t offset, const section& of) const {
    const std::size_t begin = counted(offset, "an offset");
    std::size_t first = 0;
    std::size_t end = 0;
    if (__builtin_mul_overflow(begin, of.element_bytes(), &first) || __builtin_add_overflow(first, of.bytes(), &end) ||
        end > size()) {
        throw error(error_code::out_of_range, std::to_string(of.bytes() / of.element_bytes()) + " elements of " +
                                                  std::to_string(of.element_bytes()) + " bytes from element " +
                                                  std::to_string(offset) + " on were asked for, of a buffer of " +
                                                  std::to_string(size()) + " bytes");
    }
    return {.offset = first, .bytes = of.bytes()};
}

void unified::write(const section& from, std::int64_t offset) {
    const extent part = elements(offset, from);
    turn_of_gpu(part);
    auto lease = bytes_.acquire(host, access::write, {.offset = part.offset, .count = part.bytes});
    from.gather(lease.data());
    lease.end();
    turn_of_gpu(part);
}

void unified::read(const section& to, std::int64_t offset) {
    const extent part = elements(offset, to);
    turn_of_gpu(part);
    const auto lease = bytes_.acquire(host, access::read, {.offset = part.offset, .count = part.bytes});
    to.scatter(lease.data());
}

detail::lease_bytes unified::acquire(space where, access what, const access_options& options) {
    if (where == host) turn_of_gpu({.offset = options.offset, .bytes = options.count});
    return bytes_.acquire(where, what, options);
}

void unified::fill(const section& pattern) {
    std::vector<std::byte> repeated(pattern.bytes());
    pattern.gather(repeated.data());
    turn_of_gpu({});
    bytes_.fill(repeated);
    turn_of_gpu({});
}

void unified::sync_to_gpu(extent part) {
    // What was written through pointers is found by pages, which may reach beyond the part: a shader could write there.
    if (at_gpu()) return turn_of_gpu(common_->whole, {});
    // A batch collects what names no queue.
    const queue on = batch_is_open() ? queue{} : gpu_.on;
    bytes_.prefetch(gpu_.where, {.offset = part.offset, .count = part.bytes, .on = on});
}

void unified::sync_from_gpu(extent part) {
    turn_of_gpu(part);
    bytes_.sync_to_host(part.offset, part.bytes);
}

void unified::mark_host_dirty(extent part) { bytes_.mark_host_dirty(part.offset, part.bytes); }

void unified::mark_device_dirty(extent part) {
    bytes_.mark_dirty(gpu_.where, {.offset = part.offset, .count = part.bytes, .on = gpu_.on});
}

native_memory unified::show_to_gpu() {
    const std::lock_guard lock(mutex_);
    if (!shown_copy_) {
        shown_copy_.emplace(bytes_.copy_view(gpu_.where));
        common_->shown.fetch_add(1, std::memory_order_release);
    }
    return shown_copy_->native();
}

void unified::bind_to_shader(int binding) {
    if (!gpu_.has_shaders()) {
        throw error(error_code::unsupported, "a shader was to use a buffer that is for " + gpu_.where.name() +
                                                 ": shaders are OpenGL's; get_gpu_handle gives what other APIs need");
    }
    if (binding < 0) throw error(error_code::out_of_range, "a binding of " + std::to_string(binding) + " was given");
    bind_storage(show_to_gpu(), static_cast<unsigned>(binding));
    sync_to_gpu({});
}

void unified::take_back_from_gpu() noexcept {
    const std::lock_guard lock(mutex_);
    if (!shown_copy_) return;
    shown_copy_.reset();
    common_->shown.fetch_sub(1, std::memory_order_release);
}

slots<unified>& buffers() noexcept {
    static constinit slots<unified> all("a buffer");
    return all;
}

}  // namespace unibuf::fortran
