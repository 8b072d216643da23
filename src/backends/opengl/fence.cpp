// backends/opengl/fence.cpp: asking the context, from any thread, whether its work is done.
#include "backends/opengl/fence.hpp"

#include <algorithm>
#include <utility>

#include "backends/opengl/errors.hpp"
#include "backends/poll.hpp"
#include "system/deadline.hpp"

namespace unibuf::backends {

namespace {

using clock = std::chrono::steady_clock;

// A waiter holds the context's thread at most so long before others get it.
constexpr std::chrono::nanoseconds slice = std::chrono::milliseconds(1);

// A waiter sleeps on a job of another at most so long without asking whether it will ever be done.
constexpr std::chrono::nanoseconds nap = std::chrono::milliseconds(100);

}  // namespace

fence gl_fence::post(const std::shared_ptr<gl_context>& context, std::function<void()> job, bool at_once) {
    auto posted = std::make_shared<gl_fence>(context);
    context->post([posted, job = std::move(job), at_once] {
        try {
            job();
            if (at_once) {
                posted->settle(state::done);
            } else {
                posted->issue();
            }
        } catch (...) {
            posted->settle(state::failed, std::current_exception());
        }
    });
    return fence(std::move(posted));
}

fence gl_fence::issue_here(const std::shared_ptr<gl_context>& context) {
    auto made = std::make_shared<gl_fence>(context);
    made->issue();
    return fence(std::move(made));
}

gl_fence::~gl_fence() {
    if (!sync_) return;
    const auto remove = context_->gl().delete_sync;
    context_->when_possible([remove, sync = sync_] { remove(sync); });
}

void gl_fence::issue() {
    const gl_api& gl = context_->gl();
    // The barrier belongs before the fence: what shaders wrote through a mapping that is not coherent, or without one
    // at all, is visible to the host, to transfers and to later shaders only after a barrier that the fence has seen.
    // Whoever publishes to the host after waiting for this fence has nothing left to do.
    gl.memory_barrier(gl::all_barriers);
    gl_sync sync = gl.fence_sync(gl::sync_gpu_commands_complete, 0);
    if (!sync) throw failure_of(gl, "glFenceSync gave no fence");
    {
        const std::lock_guard lock(mutex_);
        sync_ = sync;
        state_ = state::issued;
        probing_ = true;
        changed_.notify_all();
    }
    // This probe flushes too, so the device starts even if nobody waits.
    probe(std::chrono::nanoseconds::zero());
}

void gl_fence::probe(std::chrono::nanoseconds at_most) {
    const gl_api& gl = context_->gl();
    const unsigned answer =
        gl.client_wait_sync(sync_, gl::sync_flush_commands, static_cast<std::uint64_t>(at_most.count()));
    switch (answer) {
        case gl::already_signaled:
        case gl::condition_satisfied:
            return settle(state::done);
        case gl::timeout_expired:
            return settle(state::issued);
        default:
            return settle(state::failed, std::make_exception_ptr(failure_of(gl, "waiting for OpenGL failed")));
    }
}

void gl_fence::settle(state reached, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    state_ = reached;
    failure_ = std::move(failure);
    probing_ = false;
    if (reached == state::done && sync_) context_->gl().delete_sync(std::exchange(sync_, nullptr));
    changed_.notify_all();
}

bool gl_fence::wait(std::chrono::nanoseconds timeout) {
    const auto deadline = system::deadline_after(timeout);
    bool asked = false;
    bool slept = false;
    std::unique_lock lock(mutex_);
    for (;;) {
        if (state_ == state::done) return true;
        if (state_ == state::failed) std::rethrow_exception(failure_);
        context_->check_alive();

        if (state_ == state::posted && context_->here()) {
            lock.unlock();
            context_->assist();
            lock.lock();
            continue;
        }
        const std::chrono::nanoseconds left = std::max(deadline - clock::now(), clock::duration::zero());
        const bool late = left == std::chrono::nanoseconds::zero();
        if (state_ == state::issued && !probing_ && !(late && asked)) {
            lock.unlock();
            ask(std::min(left, slice));
            lock.lock();
            asked = true;
        } else if (late) {
            return false;
        } else {
            const auto others_have_answered = [this] { return state_ != state::posted && !probing_; };
            if (!std::exchange(slept, true)) {
                lock.unlock();
                is_done_soon(others_have_answered);
                lock.lock();
            }
            changed_.wait_for(lock, std::min(left, nap), others_have_answered);
        }
    }
}

void gl_fence::ask(std::chrono::nanoseconds at_most) {
    {
        // One waiter asks for all waiters.
        const std::lock_guard lock(mutex_);
        if (probing_ || state_ != state::issued) return;
        probing_ = true;
    }
    try {
        context_->post([self = shared_from_this(), at_most] { self->probe(at_most); });
    } catch (...) {
        const std::lock_guard lock(mutex_);
        probing_ = false;
        changed_.notify_all();
        throw;
    }
}

}  // namespace unibuf::backends
