// backends/cuda/device.cpp: one CUDA device, as a space.
#include "backends/cuda/device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/host_memory.hpp"
#include "backends/cuda/memory.hpp"
#include "backends/cuda/opengl_buffer.hpp"
#include "backends/cuda/properties.hpp"
#include "backends/host/pinned_blocks.hpp"
#include "system/pages.hpp"

namespace unibuf::backends::cuda {
namespace {

// The pool keeps so much of what the program has given back: others on the card do not get it until trim_memory().
constexpr std::uint64_t kept_at_least = std::uint64_t{64} << 20;
constexpr std::uint64_t kept_share = 32;

pool_handle make_pool(context& in, device_ordinal ordinal, std::uint64_t total) {
    pool_properties wanted{};
    wanted.allocation_type = allocation_pinned;
    wanted.location = {.type = location_device, .id = ordinal};
    pool_handle made = nullptr;
    in.check(api().cuMemPoolCreate(&made, &wanted), "no memory pool can be made", error_code::device_unavailable);
    std::uint64_t kept = std::max(kept_at_least, total / kept_share);
    in.check(api().cuMemPoolSetAttribute(made, pool_release_threshold, &kept), "a memory pool cannot be set up");
    // An allocation that finds no room fails: the host would wait for whatever the program has queued otherwise.
    int never = 0;
    in.check(api().cuMemPoolSetAttribute(made, pool_adds_dependencies, &never), "a memory pool cannot be set up");
    return made;
}

/// Returns whether the memory is whole pages, which can be pinned: a page with two parts would be pinned twice.
bool whole_pages(std::span<const std::byte> host) noexcept {
    return reinterpret_cast<std::uintptr_t>(host.data()) % system::page_size() == 0;
}

}  // namespace

compute_device::compute_device(device_ordinal ordinal) : ordinal_(ordinal) {
    char name[256] = {};
    std::size_t total = 0;
    result status = api().cuDeviceGetName(name, sizeof name - 1, ordinal);
    if (status == success) status = api().cuDeviceTotalMem(&total, ordinal);
    if (status != success) fail(status, fmt::format("CUDA device {}", ordinal), error_code::device_unavailable);
    about_.description = name;
    about_.number = ordinal;
    about_.own_memory = attribute(integrated) == 0;
    about_.aliases_host = attribute(can_map_host_memory) != 0;
    about_.host_visible = about_.aliases_host;
    about_.write_combines = about_.host_visible;
    about_.pins = about_.aliases_host;
    about_.asynchronous = true;
    about_.ends_with_fork = true;
    about_.addresses = true;
    about_.memory_bytes = total;
    about_.properties = properties_of(ordinal);
    reads_pageable_ = attribute(pageable_memory_access) != 0 && attribute(pageable_access_uses_host_page_tables) != 0;
}

int compute_device::attribute(int which) const {
    int value = 0;
    return api().cuDeviceGetAttribute(&value, which, ordinal_) == success ? value : 0;
}

compute_device::in_use::in_use(const compute_device& of)
    : context(of.ordinal_, of.about_.description),
      ring(context),
      small(
          {}, [this](std::size_t bytes) { return std::make_unique<device_block>(context, bytes); },
          [this] {
              const cuda::context::scope current(context);
              context.mark_all();
          }) {
    context.tell_of_fences(
        {.begin = [this] { small.begin_fence(); }, .end = [this](const fence& all) { small.end_fence(all); }});
    const cuda::context::scope current(context);
    if (of.attribute(memory_pools_supported) == 0) return;
    context.use_pool(make_pool(context, of.ordinal_, of.about_.memory_bytes));
}

compute_device::in_use& compute_device::used() {
    std::call_once(once_, [this] {
        used_ = std::make_unique<in_use>(*this);
        is_used_ = true;
    });
    return *used_;
}

context& compute_device::in() { return used().context; }

memory_info compute_device::memory_now() {
    context& own = in();
    const context::scope current(own);
    std::size_t free = 0;
    std::size_t total = 0;
    own.check(api().cuMemGetInfo(&free, &total), "its memory cannot be counted");
    return {.total = total, .free = free};
}

void compute_device::trim() {
    if (!is_used_) return;
    in_use& with = used();
    with.small.trim();
    const context::scope current(with.context);
    with.context.trim_pool();
}

std::unique_ptr<memory> compute_device::allocate(const allocation_request& what) {
    in_use& with = used();
    const auto make = [&] { return std::make_unique<device_memory>(with.context, with.ring, with.small, what.bytes); };
    try {
        return make();
    } catch (const error& failure) {
        if (failure.code() != error_code::out_of_memory || !with.small.trim(std::chrono::seconds(1))) throw;
        return make();
    }
}

std::unique_ptr<memory> compute_device::allocate_visible(const allocation_request& what) {
    in_use& with = used();
    return with_room_of_kept([&] { return std::make_unique<visible_memory>(with.context, with.ring, what); });
}

std::unique_ptr<memory> compute_device::alias(std::span<std::byte> host, const allocation_request& what) {
    if (!about_.aliases_host) return device::alias(host, what);
    if (!reads_pageable_ && !whole_pages(host)) {
        throw error(error_code::unsupported,
                    fmt::format("{} uses host memory in place where it begins with a page", about_.description));
    }
    in_use& with = used();
    return with_room_of_kept(
        [&] { return std::make_unique<host_alias>(with.context, with.ring, host, reads_pageable_); });
}

std::unique_ptr<memory> compute_device::borrow(memory& of_another, const allocation_request& what) {
    std::optional<gl_buffer_object> object = buffer_object_of(of_another);
    if (!object || !opengl_buffer::in_reach(ordinal_, *object)) return nullptr;
    in_use& with = used();
    return std::make_unique<opengl_buffer>(with.context, with.ring, what.bytes, *std::move(object));
}

std::unique_ptr<pin> compute_device::pin_pages(std::span<std::byte> host) {
    context& own = in();
    const context::scope current(own);
    return std::make_unique<pinned_pages>(own, host);
}

void compute_device::move_many(direction way, std::span<const move_of> moves, fences& done) {
    in_use& with = used();
    done.push_back(carry_many(with.context, with.ring, way, moves));
}

std::uint64_t compute_device::identify(queue on) { return in().identify(static_cast<stream_handle>(on.native)); }

fence compute_device::record(queue on) {
    context& own = in();
    const context::scope current(own);
    return on ? own.mark(own.stream_for(on)) : own.mark_all();
}

void compute_device::tell_of_fences(const fence_listener& told) { in().tell_of_fences(told); }

queue compute_device::own_queue() { return {in().idle_stream()}; }

bool compute_device::order(const fence& before, queue on) {
    context& own = in();
    const context::scope current(own);
    return own.order(before, own.stream_for(on));
}

}  // namespace unibuf::backends::cuda
