// verbs/buffer.cpp: the public handle.
#include "unibuf/buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/hold_waits.hpp"
#include "access/letting_go.hpp"
#include "access/standing.hpp"
#include "backends/spaces.hpp"
#include "memory/moves.hpp"
#include "trace/guards.hpp"
#include "unibuf/batch.hpp"
#include "unibuf/detail/sizes.hpp"
#include "unibuf/error.hpp"
#include "verbs/content.hpp"
#include "verbs/leases.hpp"
#include "verbs/past_host.hpp"
#include "verbs/pointers.hpp"
#include "verbs/rectangle.hpp"

namespace unibuf {
namespace {

using detail::core_of;

/// Returns the bytes [offset, offset + count) of a handle of a range as a range of its buffer; `rest` means to the
/// handle's end.
byte_range checked(const detail::core& core, std::size_t begin, std::size_t bytes, std::size_t offset,
                   std::size_t count) {
    if (count == rest ? offset > bytes : !detail::lies_within(offset, count, bytes)) {
        throw error(error_code::out_of_range,
                    count == rest
                        ? fmt::format("{}: all from byte {} was asked for of {} bytes", core.name(), offset, bytes)
                        : fmt::format("{}: {} bytes from byte {} were asked for of {} bytes", core.name(), count,
                                      offset, bytes));
    }
    return {begin + offset, begin + offset + (count == rest ? bytes - offset : count)};
}

detail::wait_limit checked(const detail::core& core, std::chrono::nanoseconds timeout) {
    if (timeout >= std::chrono::nanoseconds::zero()) return detail::wait_limit::of_call(timeout);
    throw error(error_code::invalid_argument,
                fmt::format("{}: a timeout of {} ns was asked for", core.name(), timeout.count()));
}

}  // namespace

buffer::buffer(std::size_t bytes, const buffer_options& options)
    : gate_((detail::check_needs_no_memory(options), new detail::core(bytes, options))), begin_(0), bytes_(bytes) {}

buffer& buffer::operator=(buffer&& other) noexcept {
    buffer taken(std::move(other));  // destroys what was here before
    std::swap(gate_, taken.gate_);
    std::swap(begin_, taken.begin_);
    std::swap(bytes_, taken.bytes_);
    std::swap(rectangle_, taken.rectangle_);
    return *this;
}

buffer::~buffer() {
    if (gate_ != &detail::no_buffer) core_of(gate_).drop_handle();
}

buffer buffer::view(std::size_t offset, std::size_t bytes) {
    const region viewed = part(offset, bytes);
    auto of = rectangle_ ? std::make_unique<detail::rectangle>(*rectangle_) : nullptr;
    core_of(gate_).add_handle();
    buffer result(gate_, viewed.begin(), viewed.size());
    result.rectangle_.reset(of.release());
    return result;
}

buffer buffer::view(const unibuf::shape& extents, std::size_t element_bytes, std::span<const slice> along) {
    detail::core& core = core_of(gate_);
    check_is_range("a rectangle");
    if (bytes_ == 0 || detail::product(extents.elements(), element_bytes) != bytes_) {
        throw error(error_code::invalid_argument,
                    fmt::format("{}: a rectangle of an array of {} elements of {} bytes was asked for, of {} bytes",
                                core.name(), extents.elements(), element_bytes, bytes_));
    }
    auto of =
        std::make_unique<detail::rectangle>(detail::rectangle_of(core.name(), begin_, extents, element_bytes, along));
    core.add_handle();
    buffer result(gate_, of->part.begin(), of->part.size());
    if (!of->part.is_range() || of->has_gaps) result.rectangle_.reset(of.release());
    return result;
}

/// Returns the bytes [offset, offset + count) of the handle; `rest` means to its end. A rectangle is taken as a whole.
region buffer::part(std::size_t offset, std::size_t count) const {
    const byte_range range = checked(core_of(gate_), begin_, bytes_, offset, count);
    if (!rectangle_) return range;
    if (range.size() == bytes_) return rectangle_->part;
    throw error(error_code::unsupported,
                fmt::format("{}: {} bytes from byte {} of a rectangle were asked for: it is taken as a whole, or a "
                            "smaller one is made of the array",
                            core_of(gate_).name(), range.size(), offset));
}

void buffer::check_is_range(const char* wanted) const {
    if (!rectangle_) return;
    throw error(error_code::unsupported, fmt::format("{}: {} of a handle to a rectangle was asked for: take it of the "
                                                     "array",
                                                     core_of(gate_).name(), wanted));
}

void buffer::check_no_gaps(const char* verb) const {
    if (!rectangle_ || !rectangle_->has_gaps) return;
    throw error(
        error_code::unsupported,
        fmt::format("{}: {} was asked for, of a rectangle with steps: elements between would be taken along, so "
                    "take a lease, or a rectangle without steps",
                    core_of(gate_).name(), verb));
}

std::uint64_t buffer::id() const noexcept { return gate_ == &detail::no_buffer ? 0 : core_of(gate_).id(); }

const buffer_options& buffer::options() const noexcept {
    static constexpr buffer_options none;
    return gate_ == &detail::no_buffer ? none : core_of(gate_).options();
}

bool buffer::is_bound() const { return core_of(gate_).is_bound(); }

bool buffer::is_only_handle() const noexcept {
    return gate_ != &detail::no_buffer && !core_of(gate_).has_other_handles();
}

detail::access_request buffer::request_of(space where, access what, const access_options& options) const {
    if (what != access::read && what != access::write && what != access::read_write) {
        throw error(
            error_code::invalid_argument,
            fmt::format("access {} was asked for: there are read, write and read_write", static_cast<int>(what)));
    }
    const bool keeps_others = what == access::write && rectangle_ && rectangle_->has_gaps;
    return {.part = part(options.offset, options.count),
            .where = where,
            .what = keeps_others ? access::read_write : what,
            .why = what == access::read ? cause::read : cause::read_write,
            .on = detail::checked_queue(where, options.on),
            .waits = checked(core_of(gate_), options.timeout)};
}

byte_lease buffer::acquire_by_lock(space where, access what, const access_options& options) const {
    return detail::take_lease(core_of(gate_), request_of(where, what, options));
}

void buffer::check_not_excluded(access what) const {
    detail::check_not_own(core_of(gate_), request_of(unibuf::host, what, {}));
}

lease<const std::byte> buffer::read(space where, const access_options& options) const {
    return {detail::acquired_by{}, [&] { return acquire(where, access::read, options); }};
}

lease<std::byte> buffer::write(space where, const access_options& options) {
    return {detail::acquired_by{}, [&] { return acquire(where, access::write, options); }};
}

lease<std::byte> buffer::read_write(space where, const access_options& options) {
    return {detail::acquired_by{}, [&] { return acquire(where, access::read_write, options); }};
}

std::byte* buffer::host_by_lock() { return detail::host_pointer(core_of(gate_), part(0, rest)); }

const std::byte* buffer::host_to_read_by_lock() const {
    return detail::host_pointer_to_read(core_of(gate_), part(0, rest));
}

void buffer::release_host() { detail::end_host_pointers(core_of(gate_), part(0, rest)); }

copy_view buffer::hold_host(std::size_t offset, std::size_t bytes) {
    return detail::begin_host_view(core_of(gate_), part(offset, bytes));
}

copy_view buffer::hold_for_io(access what, std::size_t offset, std::size_t bytes) {
    const detail::access_request wanted = request_of(unibuf::host, what, {.offset = offset, .count = bytes});
    return detail::begin_io_view(core_of(gate_), wanted.part, wanted.what);
}

native_memory buffer::device_by_lock() {
    native_memory result = detail::device_handle(core_of(gate_), part(0, rest));
    result.where = detail::as_named(result.where);
    return result;
}

unibuf::copy_view buffer::copy_view(space where, std::size_t offset, std::size_t bytes) {
    return detail::begin_copy_view(core_of(gate_), where, part(offset, bytes));
}

unibuf::copy_view buffer::hold_copy(space where, std::size_t offset, std::size_t bytes) {
    return detail::hold_copy(core_of(gate_), where, part(offset, bytes));
}

copy_view buffer::capture_upload(space where, const access_options& options) {
    detail::access_request request = request_of(where, access::read, options);
    request.why = cause::device_handle;
    request.verb = "to capture an upload of";
    return detail::capture_upload(core_of(gate_), request);
}

standing_hold buffer::bind(space where, access what, const standing_options& options) {
    const access_options as_access{
        .offset = options.offset, .count = options.count, .timeout = options.timeout, .on = options.on};
    detail::access_request bound = request_of(where, what, as_access);
    bound.why = cause::device_handle;
    return detail::begin_standing(core_of(gate_), bound, options);
}

void buffer::release_device() { detail::end_device_handles(core_of(gate_)); }

void buffer::sync_to_host(std::size_t offset, std::size_t bytes) { sync(unibuf::host, offset, bytes); }
void buffer::sync_to_device(std::size_t offset, std::size_t bytes) { sync(current_device(), offset, bytes); }

void buffer::sync(space where, std::size_t offset, std::size_t bytes) {
    const region synced = part(offset, bytes);
    core_of(gate_).check_has_copy();
    if (batch* const by = batch::collecting_at(where)) return by->add(*this, synced);
    detail::bring(core_of(gate_), {.part = synced, .where = where, .why = cause::sync, .verb = "to synchronize"});
}

void buffer::mark_host_dirty(std::size_t offset, std::size_t bytes) { mark_dirty(unibuf::host, offset, bytes); }
void buffer::mark_device_dirty(std::size_t offset, std::size_t bytes) { mark_dirty(current_device(), offset, bytes); }

void buffer::mark_dirty(space where, const access_options& options) {
    check_no_gaps("to mark dirty");
    detail::mark(core_of(gate_), request_of(where, access::write, options));
}

void buffer::prefetch(space where, const access_options& options) {
    const region fetched = part(options.offset, options.count);
    batch* const by = options.on ? nullptr : batch::collecting_at(where);
    if (by) return by->add(*this, fetched);
    detail::bring(core_of(gate_), {.part = fetched,
                                   .where = where,
                                   .what = access::read,
                                   .why = cause::prefetch,
                                   .on = detail::checked_queue(where, options.on),
                                   .may_return_early = true,
                                   .waits = checked(core_of(gate_), options.timeout),
                                   .verb = "to prefetch"});
}

void buffer::discard(space where) {
    check_no_gaps("to discard a copy");
    detail::discard(core_of(gate_), where, part(0, rest));
}

void buffer::discard_content() {
    check_no_gaps("to discard the content");
    detail::discard_content(core_of(gate_), part(0, rest));
}

void buffer::fill(std::span<const std::byte> pattern) { fill_at(pattern, {}); }

void buffer::fill(std::span<const std::byte> pattern, space where) { fill_at(pattern, where); }

void buffer::fill_at(std::span<const std::byte> pattern, std::optional<space> where) {
    check_no_gaps("to fill");
    const region filled = part(0, rest);
    const std::size_t in_one_row = filled.size() / std::max<std::size_t>(filled.runs(), 1);
    const bool fits = pattern.empty() ? bytes_ == 0 : in_one_row % pattern.size() == 0;
    if (!fits) {
        throw error(error_code::invalid_argument,
                    fmt::format("{}: to fill {} bytes with a pattern of {} was asked for: it has to divide them{}",
                                core_of(gate_).name(), bytes_, pattern.size(), rectangle_ ? ", row by row" : ""));
    }
    if (bytes_ != 0) detail::fill(core_of(gate_), filled, pattern, where);
}

namespace {

/// Copies up to so many bytes are done under a lease of the whole buffer where the gate gives one, as it costs less
/// than one of just these bytes: nobody waits long for it.
constexpr std::size_t few_at_gate = std::size_t{64} << 10;

/// Calls `act` with the host's copy, where that is current and `what` changes nothing. Returns whether it did.
template <class Act>
bool pass_gate(detail::gate& of, access what, const Act& act) {
    const std::uint64_t ticket = of.take_solo(what);
    if (ticket == 0) return false;
    std::byte* const data = of.host_address.load(std::memory_order_relaxed);
    const byte_lease held(of, ticket, what, data, of.bytes);
    act(data);
    return true;
}

}  // namespace

void buffer::copy_from(std::span<const std::byte> data, std::size_t offset) {
    constexpr std::size_t small = 4096;
    check_no_gaps("to copy to");
    const region to = part(offset, data.size());
    if (data.empty()) return acquire(unibuf::host, access::write, {.offset = offset, .count = 0}).end();
    const auto put = [&](std::byte* at) { detail::scatter(to, at, data.data()); };
    if (data.size() <= few_at_gate && pass_gate(*gate_, access::write, put)) return;
    if (data.size() <= small) return detail::put(core_of(gate_), to, data.data());
    const byte_lease held = acquire(unibuf::host, access::write, {.offset = offset, .count = data.size()});
    put(held.data() - to.begin());
}

void buffer::copy_to(std::span<std::byte> data, std::size_t offset) const {
    check_no_gaps("to copy from");
    const region from = part(offset, data.size());
    const auto get = [&](const std::byte* at) { detail::gather(from, at, data.data()); };
    if (!data.empty() && data.size() <= few_at_gate && pass_gate(*gate_, access::read, get)) return;
    detail::access_request request = request_of(unibuf::host, access::read, {.offset = offset, .count = data.size()});
    request.why = cause::copy_to;
    request.verb = "to copy from";
    const byte_lease held = detail::take_lease(core_of(gate_), request);
    get(held.data() - from.begin());
}

void buffer::copy_from(std::span<const std::byte> data, space where, std::size_t offset) {
    if (where == unibuf::host || data.empty()) return copy_from(data, offset);
    check_no_gaps("to copy to");
    detail::access_request request = request_of(where, access::write, {.offset = offset, .count = data.size()});
    request.verb = "to copy to";
    const trace::asked_by_name unguarded;
    if (!detail::copy_in(core_of(gate_), request, data.data())) copy_from(data, offset);
}

void buffer::copy_to(std::span<std::byte> data, space where, std::size_t offset) const {
    if (where == unibuf::host || data.empty()) return copy_to(data, offset);
    check_no_gaps("to copy from");
    detail::access_request request = request_of(where, access::read, {.offset = offset, .count = data.size()});
    request.why = cause::copy_to;
    request.verb = "to copy from";
    const trace::asked_by_name unguarded;
    if (!detail::copy_out(core_of(gate_), request, data.data())) copy_to(data, offset);
}

void buffer::copy_value_to(std::span<std::byte> data, std::size_t offset) const {
    if ((is_whole() && data.size() == bytes_) || data.empty() || gate_->is_current_at(unibuf::host.id()))
        return copy_to(data, offset);
    copy_to(data, detail::place_of_value(core_of(gate_), part(offset, data.size())), offset);
}

space buffer::current_at() const {
    if (gate_->is_current_at(unibuf::host.id())) return unibuf::host;
    return detail::current_at(core_of(gate_), part(0, rest));
}

buffer_state buffer::state() const { return core_of(gate_).state(); }
statistics buffer::statistics() const { return core_of(gate_).statistics(); }
std::size_t buffer::ranges() const { return core_of(gate_).ranges(); }
placement_info buffer::placement(space where) const { return core_of(gate_).placement(where); }

namespace detail {

void delete_rectangle::operator()(const rectangle* of) const noexcept { delete of; }

void check_is_address(space where) {
    if (backends::device_of(where).about().addresses) return;
    throw error(
        error_code::unsupported,
        fmt::format("the handles of {} are no addresses: take them by the functions of its own header", where.name()));
}

}  // namespace detail

}  // namespace unibuf
