// backends/opengl/context.hpp: an OpenGL context and the thread that may use it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/opengl/api.hpp"
#include "backends/opengl/flags.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends {

/// Functions that take a job may be called from any thread; jobs run with the context current, one at a time. Where the
/// context cannot be had they throw error(device_unavailable), or error(device_lost) where it is gone for good.
class gl_context {
public:
    virtual ~gl_context() = default;

    /// Does the job and returns when the job has returned; passes on what it throws.
    virtual void run(const std::function<void()>& job) = 0;

    /// Runs a job of the program's own as run() does. No other thread's job of that sort comes in between.
    virtual void run_callers(const std::function<void()>& job) { run(job); }

    /// Does the job, here and now or later, in the order of the calls. It must not throw.
    virtual void post(std::function<void()> job) = 0;

    /// Does the job as soon as the context can be had, or never. It must not throw.
    virtual void when_possible(std::function<void()> job) noexcept = 0;

    /// Does the jobs that wait. A job calls this that waits for a job that was posted.
    virtual void assist() {}

    /// Throws error(device_lost) where no job is done any more.
    virtual void check_alive() const = 0;

    /// Returns whether it is known that no job is done any more, as the context was destroyed.
    virtual bool is_gone() const noexcept { return false; }

    /// Throws what run() would throw before it does a job.
    virtual void check_can_run() {}

    /// Returns whether the context is current on this thread.
    virtual bool here() const noexcept = 0;

    /// Returns what keeps the buffer objects that are made now, and their mappings, if the context goes before; null
    /// where it does not go. Throws error(unsupported) where nothing can keep them. A job calls this.
    virtual std::shared_ptr<void> keeps_objects() { return nullptr; }

    /// Throws error(invalid_argument) for a queue that is not this context: OpenGL has no others.
    void check_queue(queue on) const;

    const gl_api& gl() const noexcept { return gl_; }
    const gl_platform& platform() const noexcept { return platform_; }
    const std::string& description() const noexcept { return description_; }

protected:
    /// Loads the functions of the context that is current here, and asks it who it is. Returns nothing, or what it
    /// lacks.
    std::string load();

private:
    gl_api gl_;
    gl_platform platform_;
    std::string description_;
};

/// Makes a context of unibuf's own, current on a thread of its own. Where there can be none, returns null, and says
/// why. Called once.
std::shared_ptr<gl_context> make_own_context(std::string& why);

}  // namespace unibuf::backends
