// backends/opengl/fence.hpp: the completion of work on an OpenGL context.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

#include "backends/opengl/context.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends {

/// A fence stands for a job that was posted and, after it, for what the job has queued on the device.
class gl_fence final : public fence::work, public std::enable_shared_from_this<gl_fence> {
public:
    /// Posts `job`, and fails as it does. With `at_once` the work is done when the job is. Else it is done when the
    /// device has done all that was submitted, and what it wrote is visible to the host.
    static fence post(const std::shared_ptr<gl_context>& context, std::function<void()> job, bool at_once = false);

    /// Returns a fence of all that was submitted until now, on the context's thread. Jobs that wait there stay behind
    /// it.
    static fence issue_here(const std::shared_ptr<gl_context>& context);

    explicit gl_fence(std::shared_ptr<gl_context> context) : context_(std::move(context)) {}
    ~gl_fence() override;

    bool wait(std::chrono::nanoseconds timeout) override;

    const gl_context* context() const noexcept { return context_.get(); }

private:
    enum class state { posted, issued, done, failed };

    void issue();
    void ask(std::chrono::nanoseconds at_most);
    void probe(std::chrono::nanoseconds at_most);
    void settle(state reached, std::exception_ptr failure = nullptr);

    std::shared_ptr<gl_context> context_;
    std::mutex mutex_;
    std::condition_variable changed_;
    // Both are changed under the lock.
    std::atomic<state> state_ = state::posted;
    std::atomic<bool> probing_ = false;
    gl_sync sync_ = nullptr;
    std::exception_ptr failure_;
};

}  // namespace unibuf::backends
