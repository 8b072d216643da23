// support/face_of_cpp.cpp
#include <utility>

#include "support/face.hpp"
#include "unibuf/batch.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/memory_pool.hpp"

namespace unibuf::test {
namespace {

template <class Lease>
class cpp_lease final : public face::held {
public:
    explicit cpp_lease(Lease lease) : lease_(std::move(lease)) {}
    native_memory native() const override { return lease_.native(); }

private:
    Lease lease_;
};

template <class Lease>
std::unique_ptr<face::held> kept(Lease lease) {
    return std::make_unique<cpp_lease<Lease>>(std::move(lease));
}

class cpp_shown final : public face::shown {
public:
    explicit cpp_shown(copy_view view) : view_(std::move(view)) {}
    native_memory native() const override { return view_.native(); }
    void held_by(holder who) override { view_.held_by(std::move(who)); }

private:
    copy_view view_;
};

class cpp_hold final : public face::bound {
public:
    explicit cpp_hold(standing_hold hold) : hold_(std::move(hold)) {}
    native_memory native() const override { return hold_.native(); }
    void pause() override { hold_.pause(); }
    void resume() override { hold_.resume(); }

private:
    standing_hold hold_;
};

class cpp_face final : public face {
public:
    struct origin {
        explicit origin(const buffer_options& how) : options(how) {}

        memory_pool pool;
        buffer_options options;
    };

    explicit cpp_face(buffer of, std::unique_ptr<origin> from = nullptr) : from_(std::move(from)), of_(std::move(of)) {}

    std::unique_ptr<face> view(std::size_t offset, std::size_t count) override {
        return std::make_unique<cpp_face>(of_.view(offset, count));
    }
    std::unique_ptr<face> rectangle(std::size_t rows, std::size_t columns, std::array<std::size_t, 2> begin,
                                    std::array<std::size_t, 2> end) override {
        const std::array along{slice{begin[0], end[0]}, slice{begin[1], end[1]}};
        return std::make_unique<cpp_face>(of_.view({rows, columns}, 1, along));
    }
    std::unique_ptr<held> acquire(space where, access what, const access_options& options) override {
        if (what == access::read) return kept(of_.read(where, options));
        if (what == access::write) return kept(of_.write(where, options));
        return kept(of_.read_write(where, options));
    }
    std::unique_ptr<bound> bind(space where, access what, const standing_options& options) override {
        return std::make_unique<cpp_hold>(of_.bind(where, what, options));
    }
    std::unique_ptr<shown> hold(space where, std::size_t offset, std::size_t count) override {
        if (where == unibuf::host) return std::make_unique<cpp_shown>(of_.host_view(offset, count));
        return std::make_unique<cpp_shown>(of_.copy_view(where, offset, count));
    }

    std::byte* host() override { return of_.host(); }
    const std::byte* host_to_read() override { return std::as_const(of_).host(); }
    void release_host() override { of_.release_host(); }
    void release_device() override { of_.release_device(); }
    native_memory device() override { return of_.device(); }

    void mark_host_dirty(std::size_t offset, std::size_t count) override { of_.mark_host_dirty(offset, count); }
    void mark_device_dirty(std::size_t offset, std::size_t count) override { of_.mark_device_dirty(offset, count); }
    void mark_dirty(space where, std::size_t offset, std::size_t count) override {
        of_.mark_dirty(where, offset, count);
    }
    void sync_to_host(std::size_t offset, std::size_t count) override { of_.sync_to_host(offset, count); }
    void sync_to_device(std::size_t offset, std::size_t count) override { of_.sync_to_device(offset, count); }
    void prefetch(space where, const access_options& options) override { of_.prefetch(where, options); }
    void discard(space where) override { of_.discard(where); }
    void discard_content() override { of_.discard_content(); }
    void fill(std::span<const std::byte> pattern) override { of_.fill(pattern); }
    void fill(std::span<const std::byte> pattern, space where) override { of_.fill(pattern, where); }
    void copy_from(std::span<const std::byte> data, std::size_t offset) override { of_.copy_from(data, offset); }
    void copy_to(std::span<std::byte> data, std::size_t offset) const override { of_.copy_to(data, offset); }
    void copy_from(std::span<const std::byte> data, space where, std::size_t offset) override {
        of_.copy_from(data, where, offset);
    }
    void copy_to(std::span<std::byte> data, space where, std::size_t offset) const override {
        of_.copy_to(data, where, offset);
    }
    space current_at() const override { return of_.current_at(); }

    void sync_together(space to, face& first) override {
        batch all(to);
        all.sync(dynamic_cast<cpp_face&>(first).of_);
        all.sync(of_);
        all.submit();
    }

    std::optional<placement> placement_at(space where) const override {
        try {
            return of_.placement(where).placement;
        } catch (const error&) {
            return std::nullopt;
        }
    }
    buffer_state state() const override { return of_.state(); }
    std::uint64_t bytes_moved() const override { return of_.statistics().bytes_moved(); }
    bool is_current_at(space where) const override { return of_.is_current_at(where); }

    void set_default_device(space where) override { unibuf::set_default_device(where); }
    void limit_memory(space where, std::uint64_t bytes) override { unibuf::limit_memory(where, bytes); }

    bool recycle(std::size_t bytes) override {
        if (!from_) return false;
        if (!std::exchange(released_, true)) from_->pool.release(std::move(of_));
        of_ = from_->pool.acquire(bytes, from_->options);
        released_ = false;
        return true;
    }

private:
    std::unique_ptr<origin> from_;
    buffer of_;
    bool released_ = false;
};

}  // namespace

std::unique_ptr<face> face_of_cpp(std::size_t bytes, const buffer_options& options, bool pooled) {
    if (!pooled) return std::make_unique<cpp_face>(buffer(bytes, options));
    auto from = std::make_unique<cpp_face::origin>(options);
    buffer first = from->pool.acquire(bytes, options);
    return std::make_unique<cpp_face>(std::move(first), std::move(from));
}

}  // namespace unibuf::test
