// backends/opengl/own_context.cpp: unibuf's own context, and the thread on which it stays current.
#include <chrono>
#include <cstdlib>
#include <utility>

#include "backends/opengl/context.hpp"
#include "backends/opengl/egl.hpp"
#include "backends/opengl/worker.hpp"
#include "process/forks.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {

namespace {

class own_context final : public gl_context {
public:
    explicit own_context(worker& thread) : thread_(thread) {}

    std::string create() {
        std::string why;
        thread_.run([&] {
            why = egl::get().make_headless_context();
            if (why.empty()) why = load();
        });
        return why;
    }

    void run(const std::function<void()>& job) override {
        check_alive();
        thread_.run(job);
    }
    void run_callers(const std::function<void()>& job) override {
        check_alive();
        thread_.run_callers(job);
    }
    void post(std::function<void()> job) override {
        check_alive();
        thread_.post(std::move(job));
    }

    void when_possible(std::function<void()> job) noexcept override {
        try {
            post(std::move(job));
        } catch (...) {
            // The process ends, is a child, or has no memory to note what it would free.
        }
    }

    void assist() override {
        if (here()) thread_.assist();
    }

    void check_alive() const override {
        // The process is checked first: a child has no such thread, and the worker's lock may be held there for good.
        if (born_ != process::forks())
            throw error(error_code::device_lost, "the OpenGL thread is the parent process's");
        thread_.check_open();
    }

    bool here() const noexcept override { return thread_.here() && born_ == process::forks(); }

private:
    worker& thread_;
    int born_ = process::forks();
};

}  // namespace

std::shared_ptr<gl_context> make_own_context(std::string& why) {
    why = egl::get().why();
    if (!why.empty()) return nullptr;

    static worker* thread = nullptr;  // There is one, and it stays: see worker.hpp.
    thread = &worker::start("unibuf-opengl");
    auto made = std::make_shared<own_context>(*thread);
    why = made->create();
    if (!why.empty()) {
        thread->dismiss();
        return nullptr;
    }
    // The handler is registered after the driver's own, so called before them: no job is at work when the driver cleans
    // up.
    std::atexit([] { thread->close(std::chrono::seconds(1)); });
    return made;
}

}  // namespace unibuf::backends
