// backends/opengl/kept_buffers.cpp: buffer objects that were freed, for whoever needs their like next.
#include "backends/opengl/kept_buffers.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "backends/opengl/bindings.hpp"
#include "backends/opengl/fence.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr std::size_t most_buffers = 256;

// A device says late that it is done. To make a buffer object takes several times as long.
constexpr std::chrono::microseconds brief_wait(100);

}  // namespace

gl_buffer kept_buffers::take(const gl_buffer_kind& kind) {
    in_->check_alive();  // first: in a forked child the lock may be held for good
    std::list<kept> found;
    {
        const std::lock_guard lock(mutex_);
        const auto oldest = std::ranges::find(all_, kind, [](const kept& each) { return each.buffer.kind; });
        if (oldest == all_.end()) return {};
        found.splice(found.end(), all_, oldest);
        bytes_ -= kind.bytes;
    }
    try {
        if (found.front().until.wait(brief_wait)) return found.front().buffer;
    } catch (const std::exception&) {  // nobody knows what still uses it
        in_->when_possible([remove = in_->gl().delete_buffers, name = found.front().buffer.name] { remove(1, &name); });
        return {};
    }
    const std::lock_guard lock(mutex_);
    all_.splice(all_.begin(), found);
    bytes_ += kind.bytes;
    return {};
}

void kept_buffers::keep(const gl_buffer& freed) noexcept {
    try {
        in_->when_possible([self = shared_from_this(), freed] { self->add(freed); });
    } catch (const std::exception&) {  // what cannot be noted is not used again
    }
}

/// Keeps one more, and deletes what is too much then, on the context's thread.
void kept_buffers::add(const gl_buffer& freed) {
    std::list<kept> excess;
    try {
        unbind(in_->gl(), freed.name);
        std::list<kept> added;
        added.push_back({freed, gl_fence::issue_here(in_)});
        const std::lock_guard lock(mutex_);
        all_.splice(all_.end(), added);
        bytes_ += freed.kind.bytes;
        while (bytes_ > most_bytes || all_.size() > most_buffers) {
            bytes_ -= all_.front().buffer.kind.bytes;
            excess.splice(excess.end(), all_, all_.begin());
        }
    } catch (const std::exception&) {
        in_->gl().delete_buffers(1, &freed.name);
    }
    remove(excess);
}

/// Deletes buffer objects, on the context's thread.
void kept_buffers::remove(const std::list<kept>& gone) const {
    for (const kept& each : gone) in_->gl().delete_buffers(1, &each.buffer.name);
}

bool kept_buffers::clear() {
    std::list<kept> all;
    try {
        in_->run([&] {  // behind all that was freed before
            {
                const std::lock_guard lock(mutex_);
                all.swap(all_);
                bytes_ = 0;
            }
            remove(all);
        });
    } catch (const error&) {  // the process ends, or is a child
    }
    return !all.empty();
}

}  // namespace unibuf::backends
