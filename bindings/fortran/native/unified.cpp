// unified.cpp
#include "unified.hpp"

#include <chrono>
#include <cstdint>
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

leased::leased(detail::lease_bytes bytes, extent part, std::shared_ptr<turns> with)
    : bytes_(std::move(bytes)), part_(part), turns_(std::move(with)), elsewhere_(bytes_.where() != turns_->where()) {
    if (elsewhere_) turns_->lease_begins(part_);
}

bool leased::leave() noexcept {
    if (!elsewhere_) return false;
    elsewhere_ = false;
    turns_->lease_ends(part_);
    return true;
}

void leased::end() {
    bytes_.end();
    turns_->forget_reads(part_);
    if (leave()) turns_->turn_of_gpu(part_);
}

unified::unified(buffer bytes, space where)
    : bytes_(std::move(bytes)),
      gpu_(gpu_at(where)),
      turns_(std::make_shared<turns>(bytes_.view(0, bytes_.size_bytes()), gpu_)) {
    static_cast<void>(bytes_.copy_view(host));
    bytes_.prefetch(gpu_.where, {.on = gpu_.on});
}

unified::~unified() {
    try {
        turn_of_gpu({});  // the last handle waits for what is queued
    } catch (const std::exception&) {
        // The device is gone, and with it what it did.
    }
    forget_copy();
}

std::unique_ptr<unified> unified::view(extent part) {
    return std::unique_ptr<unified>(
        new unified(bytes_.view(part.offset, part.bytes), begin_ + part.offset, gpu_, turns_));
}

extent unified::in_whole(extent part) {
    static_cast<void>(bytes_.view(part.offset, part.bytes));
    return placed(part);
}

extent unified::placed(extent part) const noexcept {
    return {.offset = begin_ + part.offset, .bytes = part.bytes == rest ? size() - part.offset : part.bytes};
}

void unified::turn_of_gpu(extent part) {
    if (turns_->at_gpu()) turns_->turn_of_gpu(placed(part));
}

std::byte* unified::host_pointer() {
    turn_of_gpu({});
    turns_->pointer_given();
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
    turns_->was_written(placed(part));
}

void unified::read(const section& to, std::int64_t offset) {
    const extent part = elements(offset, to);
    turn_of_gpu(part);
    auto lease = bytes_.acquire(host, access::read, {.offset = part.offset, .count = part.bytes});
    to.scatter(lease.data());
    lease.end();
    turns_->was_read(placed(part));
}

std::unique_ptr<leased> unified::acquire(space where, access what, const access_options& options) {
    const extent part = in_whole({.offset = options.offset, .bytes = options.count});
    access_options remaining = options;
    if (where != gpu_.where && turns_->at_gpu()) {
        const auto begin = std::chrono::steady_clock::now();
        turns_->turn_of_gpu(part, options.timeout);
        if (options.timeout != forever) remaining.timeout -= std::chrono::steady_clock::now() - begin;
    }
    return std::make_unique<leased>(bytes_.acquire(where, what, remaining), part, turns_);
}

void unified::fill(const section& pattern) {
    std::vector<std::byte> repeated(pattern.bytes());
    pattern.gather(repeated.data());
    turn_of_gpu({});
    bytes_.fill(repeated);
    turns_->was_written(placed({}));
}

void unified::sync_to_gpu(extent part) {
    if (turns_->at_gpu()) {
        in_whole(part);
        // What was written through pointers is found by pages, which may reach beyond the part: a shader could write
        // there.
        return turns_->begin_with_pointers();
    }
    // A batch collects what names no queue.
    const queue on = batch_is_open() ? queue{} : gpu_.on;
    bytes_.prefetch(gpu_.where, {.offset = part.offset, .count = part.bytes, .on = on});
}

void unified::sync_from_gpu(extent part) {
    if (turns_->at_gpu()) turns_->turn_of_gpu(in_whole(part));
    bytes_.sync_to_host(part.offset, part.bytes);
    turns_->turn_of_pointers();
}

void unified::mark_host_dirty(extent part) { bytes_.mark_host_dirty(part.offset, part.bytes); }

void unified::mark_device_dirty(extent part) {
    turns_->forget_reads(in_whole(part));
    bytes_.mark_dirty(gpu_.where, {.offset = part.offset, .count = part.bytes, .on = gpu_.on});
}

native_memory unified::show() {
    if (!shown_copy_) {
        shown_copy_.emplace(bytes_.copy_view(gpu_.where));
        turns_->show();
    }
    return shown_copy_->native();
}

native_memory unified::show_to_gpu() {
    const std::lock_guard lock(mutex_);
    return show();
}

void unified::bind_to_shader(int binding) {
    if (!gpu_.has_shaders()) {
        throw error(error_code::unsupported, "a shader was to use a buffer that is for " + gpu_.where.name() +
                                                 ": shaders are OpenGL's; get_gpu_handle gives what other APIs need");
    }
    if (binding < 0) throw error(error_code::out_of_range, "a binding of " + std::to_string(binding) + " was given");
    std::unique_lock lock(mutex_);
    const bool first = !shown_copy_;
    try {
        bind_storage(show(), static_cast<unsigned>(binding));
        lock.unlock();
        sync_to_gpu({});
    } catch (...) {
        if (lock) lock.unlock();
        if (first) forget_copy();
        throw;
    }
}

void unified::take_back_from_gpu() {
    turn_of_gpu({});
    forget_copy();
}

void unified::forget_copy() noexcept {
    const std::lock_guard lock(mutex_);
    if (!shown_copy_) return;
    shown_copy_.reset();
    turns_->take_back();
}

void unified::release_to(memory_pool& pool) {
    turn_of_gpu({});
    pool.release(std::move(bytes_));
}

slots<unified>& buffers() noexcept {
    static constinit slots<unified> all("a buffer");
    return all;
}

}  // namespace unibuf::fortran
