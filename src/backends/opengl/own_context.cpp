// backends/opengl/own_context.cpp: unibuf's own context, and the thread on which it stays current.
#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "backends/opengl/context.hpp"
#include "backends/opengl/egl.hpp"
#include "backends/opengl/worker.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {

namespace {

// There is one, and it stays: see worker.hpp.
worker* thread_of_context = nullptr;

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

    void run(const std::function<void()>& job) override { thread_.run(job); }
    void post(std::function<void()> job) override { thread_.post(std::move(job)); }

    void when_possible(std::function<void()> job) noexcept override {
        if (thread_.here()) return job();
        try {
            thread_.post(std::move(job));
        } catch (...) {
            // The process ends, or has no memory to note what it would free.
        }
    }

    void assist() override {
        if (thread_.here()) thread_.assist();
    }

    void check_alive() const override {
        if (const char* why = thread_.closed()) {
            throw error(error_code::device_lost, std::string("the OpenGL thread ") + why);
        }
    }

    bool here() const noexcept override { return thread_.here(); }

private:
    worker& thread_;
};

}  // namespace

bool own_context_is_here() noexcept { return thread_of_context && thread_of_context->here(); }

std::shared_ptr<gl_context> make_own_context(std::string& why) {
    why = egl::get().why();
    if (!why.empty()) return nullptr;

    worker& thread = worker::start("unibuf-opengl");
    auto made = std::make_shared<own_context>(thread);
    why = made->create();
    if (!why.empty()) {
        thread.dismiss();
        return nullptr;
    }
    thread_of_context = &thread;
    // Registered after the driver's own handlers, so called before them: no job is at work when the driver cleans up.
    std::atexit([] { thread_of_context->close("has stopped: the process ends", std::chrono::seconds(1)); });
    ::pthread_atfork(nullptr, nullptr, [] { thread_of_context->abandon("is the parent process's"); });
    return made;
}

}  // namespace unibuf::backends
