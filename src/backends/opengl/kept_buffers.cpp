// backends/opengl/kept_buffers.cpp
#include "backends/opengl/kept_buffers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/opengl/fence.hpp"
#include "backends/poll.hpp"

namespace unibuf::backends {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr std::size_t most_buffers = 256;

/// Takes a buffer object off the indexed bindings of the context that is current here.
void unbind(const gl_api& gl, unsigned name) {
    struct target {
        unsigned name;
        unsigned binding;
        unsigned count;
    };
    static constexpr target targets[] = {
        {gl::shader_storage_buffer, gl::shader_storage_buffer_binding, gl::max_shader_storage_buffer_bindings},
        {gl::uniform_buffer, gl::uniform_buffer_binding, gl::max_uniform_buffer_bindings},
        {gl::atomic_counter_buffer, gl::atomic_counter_buffer_binding, gl::max_atomic_counter_buffer_bindings},
    };
    for (const target& of : targets) {
        int count = 0;
        gl.get_integer(of.count, &count);
        for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
            int bound = 0;
            gl.get_indexed_integer(of.binding, i, &bound);
            if (static_cast<unsigned>(bound) == name) gl.bind_buffer_base(of.name, i, 0);
        }
    }
}

}  // namespace

std::optional<gl_buffer> kept_buffers::take(const gl_buffer_kind& kind) {
    kept found;
    {
        const std::lock_guard lock(mutex_);
        const auto oldest = std::ranges::find(all_, kind, [](const kept& each) { return each.buffer.kind; });
        if (oldest == all_.end()) return std::nullopt;
        found = std::move(*oldest);
        all_.erase(oldest);
        bytes_ -= kind.bytes;
    }
    if (is_over(found.until)) return found.buffer;
    const std::lock_guard lock(mutex_);
    all_.push_front(std::move(found));
    bytes_ += kind.bytes;
    return std::nullopt;
}

void kept_buffers::keep(const gl_buffer& freed) noexcept {
    in_->when_possible([self = shared_from_this(), freed] {
        std::deque<kept> excess;
        try {
            unbind(self->in_->gl(), freed.name);
            self->add(freed, excess);
        } catch (...) {
            excess.push_back({freed, {}});
        }
        self->remove(excess);
    });
}

/// Keeps one more. What is too much then goes to `excess`.
void kept_buffers::add(const gl_buffer& freed, std::deque<kept>& excess) {
    kept added{freed, gl_fence::post(in_, [] {})};
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(added));
    bytes_ += freed.kind.bytes;
    while (bytes_ > most_bytes || all_.size() > most_buffers) {
        excess.push_back(std::move(all_.front()));
        all_.pop_front();
        bytes_ -= excess.back().buffer.kind.bytes;
    }
}

/// Deletes buffer objects, on the context's thread.
void kept_buffers::remove(const std::deque<kept>& excess) const {
    for (const kept& each : excess) in_->gl().delete_buffers(1, &each.buffer.name);
}

bool kept_buffers::trim() {
    std::deque<kept> all;
    in_->run([&] {  // behind all that was freed before
        const std::lock_guard lock(mutex_);
        all.swap(all_);
        bytes_ = 0;
        remove(all);
    });
    return !all.empty();
}

}  // namespace unibuf::backends
