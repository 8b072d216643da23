// support/face_of_c.cpp: the face of C uses unibuf.h alone, and throws what its statuses stand for.
#include <unibuf/opencl.h>
#include <unibuf/unibuf.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "support/face.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/error.hpp"

namespace unibuf::test {
namespace {

constexpr std::array codes{
    std::pair{UNIBUF_NOT_ALLOCATED, error_code::not_allocated},
    std::pair{UNIBUF_OUT_OF_MEMORY, error_code::out_of_memory},
    std::pair{UNIBUF_DEVICE_UNAVAILABLE, error_code::device_unavailable},
    std::pair{UNIBUF_DEVICE_LOST, error_code::device_lost},
    std::pair{UNIBUF_INVALID_ARGUMENT, error_code::invalid_argument},
    std::pair{UNIBUF_OUT_OF_RANGE, error_code::out_of_range},
    std::pair{UNIBUF_ACCESS_CONFLICT, error_code::access_conflict},
    std::pair{UNIBUF_TRANSFER_FAILED, error_code::transfer_failed},
    std::pair{UNIBUF_TIMEOUT, error_code::timeout},
    std::pair{UNIBUF_UNSUPPORTED, error_code::unsupported},
};

void must(unibuf_status status) {
    if (status == UNIBUF_OK) return;
    for (const auto& [each, code] : codes) {
        if (each == status) throw error(code, unibuf_message());
    }
    throw std::runtime_error("a status that the header does not have");
}

native_memory native_of(const unibuf_native& from) {
    return {space::from_id(static_cast<std::uint8_t>(from.where)), from.handle, from.offset, from.size};
}

unibuf_access access_of(access what) {
    if (what == access::read) return UNIBUF_READ;
    return what == access::write ? UNIBUF_WRITE : UNIBUF_READ_WRITE;
}

/// Returns a queue as C has it. It may be one of CUDA or OpenGL, too: C notes the pointer alone.
unibuf_queue named(queue on) { return on ? unibuf_opencl_queue(static_cast<_cl_command_queue*>(on.native)) : nullptr; }

/// In C, an access to no bytes is one at the end of the handle: elsewhere it is taken for options that begin as {0}.
std::size_t offset_of(const unibuf_buffer* of, std::size_t offset, std::size_t count) {
    return count == 0 ? std::max(offset, unibuf_size(of)) : offset;
}

unibuf_access_options options_of(const unibuf_buffer* of, const access_options& from) {
    unibuf_access_options result = UNIBUF_ACCESS_INIT;
    result.offset = offset_of(of, from.offset, from.count);
    result.size = from.count;
    result.queue = named(from.on);
    return result;
}

class held_lease final : public face::held {
public:
    held_lease(unibuf_buffer* of, space where, access what, const access_options& options) {
        const unibuf_access_options asked = options_of(of, options);
        must(unibuf_acquire(of, where.id(), access_of(what), &asked, &lease_));
    }
    ~held_lease() override { unibuf_release(&lease_); }
    held_lease(const held_lease&) = delete;
    held_lease& operator=(const held_lease&) = delete;

    native_memory native() const override { return native_of(lease_.native); }

private:
    unibuf_lease lease_ = UNIBUF_LEASE_INIT;
};

class held_copy final : public face::shown {
public:
    held_copy(unibuf_buffer* of, space where, std::size_t offset, std::size_t count) {
        must(unibuf_hold(of, where.id(), offset, count, &held_));
    }
    ~held_copy() override { unibuf_let_go(held_); }
    held_copy(const held_copy&) = delete;
    held_copy& operator=(const held_copy&) = delete;

    native_memory native() const override {
        unibuf_native result{};
        must(unibuf_held_native(held_, &result));
        return native_of(result);
    }
    void held_by(holder who) override {
        auto named = std::make_unique<holder>(std::move(who));
        const unibuf_holder asked{[](void* context) {
                                      const holder& of = *static_cast<holder*>(context);
                                      of.let_go(of.context.get());
                                  },
                                  [](void* context) { delete static_cast<holder*>(context); }, named.get()};
        must(unibuf_held_by(held_, &asked));
        static_cast<void>(named.release());
    }

private:
    unibuf_held* held_ = nullptr;
};

class bound_device final : public face::bound {
public:
    bound_device(unibuf_buffer* of, space where, access what, standing_options options) : how_(std::move(options)) {
        unibuf_standing_options asked = UNIBUF_STANDING_INIT;
        asked.offset = offset_of(of, how_.offset, how_.count);
        asked.size = how_.count;
        asked.queue = named(how_.on);
        asked.reopens = how_.opens == reopening::told ? UNIBUF_REOPENS_WHEN_TOLD : UNIBUF_REOPENS_AT_ONCE;
        if (how_.pause)
            asked.pause = [](void* context) { return static_cast<bound_device*>(context)->status_of_pause(); };
        if (how_.resume) asked.resume = [](void* context) { static_cast<bound_device*>(context)->how_.resume(); };
        asked.context = this;
        must(unibuf_bind(of, where.id(), access_of(what), &asked, &hold_));
    }
    ~bound_device() override { unibuf_standing_hold_release(hold_); }
    bound_device(const bound_device&) = delete;
    bound_device& operator=(const bound_device&) = delete;

    native_memory native() const override {
        unibuf_native result{};
        must(unibuf_standing_hold_native(hold_, &result));
        return native_of(result);
    }
    void pause() override { must(unibuf_standing_hold_pause(hold_)); }
    void resume() override { must(unibuf_standing_hold_resume(hold_)); }

private:
    unibuf_status status_of_pause() const {
        try {
            how_.pause();
            return UNIBUF_OK;
        } catch (const error& thrown) {
            return std::ranges::find(codes, thrown.code(), [](const auto& each) { return each.second; })->first;
        }
    }

    standing_options how_;
    unibuf_standing_hold* hold_ = nullptr;
};

class c_face final : public face {
public:
    explicit c_face(unibuf_buffer* of) : of_(of) {}
    c_face(std::size_t bytes, const unibuf_options& options) : options_(options) {
        must(unibuf_pool_create(&pool_));
        const unibuf_status made = unibuf_pool_acquire(pool_, bytes, &options_, &of_);
        if (made != UNIBUF_OK) unibuf_pool_destroy(pool_);
        must(made);
    }
    ~c_face() override {
        unibuf_destroy(of_);
        if (pool_) unibuf_pool_destroy(pool_);
    }
    c_face(const c_face&) = delete;
    c_face& operator=(const c_face&) = delete;

    std::unique_ptr<face> view(std::size_t offset, std::size_t count) override {
        unibuf_buffer* made = nullptr;
        must(unibuf_view(of_, offset, count, &made));
        return std::make_unique<c_face>(made);
    }
    std::unique_ptr<face> rectangle(std::size_t rows, std::size_t columns, std::array<std::size_t, 2> begin,
                                    std::array<std::size_t, 2> end) override {
        unibuf_buffer* made = nullptr;
        const std::array extents{rows, columns};
        must(unibuf_view_rect(of_, 1, 2, extents.data(), begin.data(), end.data(), &made));
        return std::make_unique<c_face>(made);
    }
    std::unique_ptr<held> acquire(space where, access what, const access_options& options) override {
        return std::make_unique<held_lease>(of_, where, what, options);
    }
    std::unique_ptr<bound> bind(space where, access what, const standing_options& options) override {
        return std::make_unique<bound_device>(of_, where, what, options);
    }
    std::unique_ptr<shown> hold(space where, std::size_t offset, std::size_t count) override {
        return std::make_unique<held_copy>(of_, where, offset, count);
    }

    std::byte* host() override {
        void* pointer = nullptr;
        must(unibuf_host(of_, &pointer));
        return static_cast<std::byte*>(pointer);
    }
    const std::byte* host_to_read() override {
        const void* pointer = nullptr;
        must(unibuf_host_to_read(of_, &pointer));
        return static_cast<const std::byte*>(pointer);
    }
    void release_host() override { must(unibuf_release_host(of_)); }
    void release_device() override { must(unibuf_release_device(of_)); }
    native_memory device() override {
        unibuf_native native{};
        must(unibuf_device(of_, &native));
        return native_of(native);
    }

    void mark_host_dirty(std::size_t offset, std::size_t count) override {
        must(unibuf_mark_host_dirty(of_, offset, count));
    }
    void mark_device_dirty(std::size_t offset, std::size_t count) override {
        must(unibuf_mark_device_dirty(of_, offset, count));
    }
    void mark_dirty(space where, std::size_t offset, std::size_t count) override {
        const unibuf_access_options asked = options_of(of_, {.offset = offset, .count = count});
        must(unibuf_mark_dirty(of_, where.id(), &asked));
    }
    void sync_to_host(std::size_t offset, std::size_t count) override { must(unibuf_sync_to_host(of_, offset, count)); }
    void sync_to_device(std::size_t offset, std::size_t count) override {
        must(unibuf_sync_to_device(of_, offset, count));
    }
    void prefetch(space where, const access_options& options) override {
        const unibuf_access_options asked = options_of(of_, options);
        must(unibuf_prefetch(of_, where.id(), &asked));
    }
    void discard(space where) override { must(unibuf_discard(of_, where.id())); }
    void discard_content() override { must(unibuf_discard_content(of_)); }
    void fill(std::span<const std::byte> pattern) override { must(unibuf_fill(of_, pattern.data(), pattern.size())); }
    void fill(std::span<const std::byte> pattern, space where) override {
        must(unibuf_fill_at(of_, pattern.data(), pattern.size(), where.id()));
    }
    void copy_from(std::span<const std::byte> data, std::size_t offset) override {
        must(unibuf_copy_from(of_, data.data(), data.size(), offset));
    }
    void copy_to(std::span<std::byte> data, std::size_t offset) const override {
        must(unibuf_copy_to(of_, data.data(), data.size(), offset));
    }
    void copy_from(std::span<const std::byte> data, space where, std::size_t offset) override {
        must(unibuf_copy_from_at(of_, data.data(), data.size(), offset, where.id()));
    }
    void copy_to(std::span<std::byte> data, space where, std::size_t offset) const override {
        must(unibuf_copy_to_at(of_, data.data(), data.size(), offset, where.id()));
    }
    space current_at() const override {
        unibuf_space where = UNIBUF_NO_SPACE;
        must(unibuf_current_at(of_, &where));
        return space::from_id(static_cast<std::uint8_t>(where));
    }

    void sync_together(space to, face& first) override {
        unibuf_batch* made = nullptr;
        must(unibuf_batch_create(to.id(), &made));
        const std::unique_ptr<unibuf_batch, void (*)(unibuf_batch*)> all(made, unibuf_batch_destroy);
        must(unibuf_batch_sync(made, dynamic_cast<c_face&>(first).of_));
        must(unibuf_batch_sync(made, of_));
        must(unibuf_batch_submit(made));
    }

    std::optional<placement> placement_at(space where) const override {
        const bool in_place_of_device = where == host_as_device;  // C has no number for it
        unibuf_placement found{};
        if (unibuf_placement_at(of_, in_place_of_device ? UNIBUF_HOST : where.id(), &found) != UNIBUF_OK)
            return std::nullopt;
        return found.shared ? placement::shared : placement::mirrored;
    }
    buffer_state state() const override {
        unibuf_buffer_state found = UNIBUF_UNINITIALIZED;
        must(unibuf_state(of_, &found));
        return static_cast<buffer_state>(found);
    }
    std::uint64_t bytes_moved() const override {
        unibuf_statistics figures{};
        must(unibuf_statistics_of(of_, &figures));
        return figures.bytes_moved;
    }
    bool is_current_at(space) const override { return false; }

    void set_default_device(space where) override { must(unibuf_set_default_device(where.id())); }
    void limit_memory(space where, std::uint64_t bytes) override { must(unibuf_limit_memory(where.id(), bytes)); }

    bool recycle(std::size_t bytes) override {
        if (!pool_) return false;
        if (of_) must(unibuf_pool_release(pool_, of_));
        of_ = nullptr;
        must(unibuf_pool_acquire(pool_, bytes, &options_, &of_));
        return true;
    }

private:
    unibuf_buffer* of_ = nullptr;
    unibuf_pool* pool_ = nullptr;  // null where the buffer is of none
    unibuf_options options_ = UNIBUF_OPTIONS_INIT;
};

}  // namespace

std::unique_ptr<face> face_of_c(std::size_t bytes, const buffer_options& options, bool pooled) {
    unibuf_options asked = UNIBUF_OPTIONS_INIT;
    asked.hint = static_cast<unibuf_memory_hint>(options.hint);
    asked.uninitialized = options.uninitialized;
    if (options.device) asked.device = options.device->id();
    if (pooled) return std::make_unique<c_face>(bytes, asked);
    unibuf_buffer* made = nullptr;
    must(unibuf_create(bytes, &asked, &made));
    return std::make_unique<c_face>(made);
}

}  // namespace unibuf::test
