// backends/opengl/adopted_context.hpp: a context that belongs to the caller.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/opengl/context.hpp"
#include "process/forks.hpp"
#include "unibuf/space.hpp"

namespace unibuf::backends {

/// The context that was current where this was made. Jobs are done on the thread where it is current, whichever that
/// is, and nowhere else.
class adopted_context final : public gl_context {
public:
    /// Adopts the current context. Throws error(device_unavailable) without one, error(unsupported) below OpenGL 4.5.
    adopted_context();

    /// Sets the space's name, for errors.
    void set_space(unibuf::space where) { space_ = where.name(); }

    /// Returns whether this is the context that is current here. A context that is destroyed may leave its handle to
    /// another, in which the names of this one are somebody else's: where that is found, this one is lost, and so is
    /// what waits to be freed in it.
    bool recognize();

    void run(const std::function<void()>& job) override;
    void post(std::function<void()> job) override { run(job); }
    void when_possible(std::function<void()> job) noexcept override;
    void check_alive() const override;
    void check_can_run() override;
    bool is_gone() const noexcept override;
    bool here() const noexcept override;
    std::shared_ptr<void> keeps_objects() override;

    /// Forgets what waits until a context can be had that is gone.
    void drop_waiting() noexcept;

private:
    void do_waiting();

    void* handle_;
    void* display_;
    int born_ = process::forks();
    mutable std::atomic<bool> lost_ = false;
    std::string space_ = "this space";
    unsigned witness_ = 0;  // a buffer object, by whose label the context is recognized
    std::string label_;
    std::weak_ptr<void> keeper_;  // weak, as it keeps all that the program has in the context, too
    std::mutex mutex_;
    std::vector<std::function<void()>> waiting_;
};

}  // namespace unibuf::backends
