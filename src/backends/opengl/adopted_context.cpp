// backends/opengl/adopted_context.cpp: a context that belongs to the caller.
#include <fmt/format.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/opengl/context.hpp"
#include "backends/opengl/egl.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {

namespace {

// How often this process was forked off: a child must not touch its parent's contexts.
std::atomic<int> generation{0};

class current_context final : public adopted_context {
public:
    explicit current_context(void* handle) : handle_(handle) {
        const std::string lacking = load();
        if (!lacking.empty()) throw error(error_code::unsupported, "this context cannot be used: " + lacking);

        static std::atomic<int> count{0};
        label_ = fmt::format("unibuf {}", ++count);
        gl().create_buffers(1, &witness_);
        gl().object_label(gl::buffer_object, witness_, -1, label_.c_str());
    }

    void run(const std::function<void()>& job) override {
        enter();
        job();
    }

    void post(std::function<void()> job) override { run(job); }

    void when_possible(std::function<void()> job) noexcept override {
        try {
            {
                const std::lock_guard lock(mutex_);
                waiting_.push_back(std::move(job));
            }
            if (here()) do_waiting();
        } catch (...) {
            // What could not be noted ends with the context.
        }
    }

    void check_alive() const override {
        if (born_ != generation) throw error(error_code::device_lost, space_ + " belongs to the parent process");
        if (lost_) throw error(error_code::device_lost, "the context of " + space_ + " was destroyed");
    }

    bool here() const noexcept override {
        return born_ == generation && !lost_ && egl::get().current_context() == handle_;
    }

    void set_space(unibuf::space where) override { space_ = where.name(); }

    bool recognize() override {
        if (!here()) return false;
        std::array<char, 64> label{};
        if (gl().is_buffer(witness_)) {
            gl().get_object_label(gl::buffer_object, witness_, static_cast<int>(label.size()), nullptr, label.data());
        }
        lost_ = label_ != label.data();
        return !lost_;
    }

private:
    void enter() {
        check_alive();
        void* current = egl::get().current_context();
        if (current == handle_) return do_waiting();
        const std::string found =
            current ? fmt::format("context {} is current", current) : std::string("no context is current");
        throw error(error_code::device_unavailable,
                    fmt::format("{} needs its context {} to be current on this thread, where {}", space_,
                                fmt::ptr(handle_), found));
    }

    void do_waiting() {
        std::vector<std::function<void()>> jobs;
        {
            const std::lock_guard lock(mutex_);
            jobs.swap(waiting_);
        }
        for (const auto& job : jobs) job();
    }

    void* handle_;
    int born_ = generation;
    std::atomic<bool> lost_ = false;
    std::string space_ = "this space";
    unsigned witness_ = 0;
    std::string label_;
    std::mutex mutex_;
    std::vector<std::function<void()>> waiting_;
};

}  // namespace

std::shared_ptr<adopted_context> adopt_current_context() {
    const egl& driver = egl::get();
    if (!driver.why().empty()) throw error(error_code::device_unavailable, driver.why());
    void* handle = driver.current_context();
    if (!handle) {
        throw error(error_code::device_unavailable,
                    "no OpenGL context is current on this thread: make the one that is to be used current");
    }
    static std::once_flag once;
    std::call_once(once, [] { ::pthread_atfork(nullptr, nullptr, [] { ++generation; }); });
    return std::make_shared<current_context>(handle);
}

}  // namespace unibuf::backends
