// backends/opengl/adopted_context.cpp: recognizes the context that is current here, and keeps what waits until it is.
#include "backends/opengl/adopted_context.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "backends/opengl/egl.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {

namespace {

void* current_here() {
    const egl& driver = egl::get();
    if (!driver.why().empty()) throw error(error_code::device_unavailable, driver.why());
    if (void* handle = driver.current_context()) return handle;
    throw error(error_code::device_unavailable,
                "no OpenGL context is current on this thread: make the one that is to be used current, by EGL");
}

}  // namespace

adopted_context::adopted_context() : handle_(current_here()), display_(egl::get().current_display()) {
    const std::string lacking = load();
    if (!lacking.empty()) throw error(error_code::unsupported, "this context cannot be used: " + lacking);

    static std::atomic<int> count{0};
    label_ = fmt::format("unibuf {}", ++count);
    gl().create_buffers(1, &witness_);
    gl().object_label(gl::buffer_object, witness_, -1, label_.c_str());
}

bool adopted_context::recognize() {
    if (!here()) return false;
    std::array<char, 64> label{};
    if (gl().is_buffer(witness_)) {
        gl().get_object_label(gl::buffer_object, witness_, static_cast<int>(label.size()), nullptr, label.data());
    }
    lost_ = label_ != label.data();
    return !lost_;
}

void adopted_context::check_can_run() {
    check_alive();
    if (void* current = egl::get().current_context(); current != handle_) {
        const std::string found =
            current ? fmt::format("context {} is current", current) : std::string("no context is current");
        throw error(error_code::device_unavailable,
                    fmt::format("{} needs its context {} to be current on this thread, where {}", space_,
                                fmt::ptr(handle_), found));
    }
    recognize();
    check_alive();
}

void adopted_context::run(const std::function<void()>& job) {
    check_can_run();
    do_waiting();
    job();
}

void adopted_context::when_possible(std::function<void()> job) noexcept {
    try {
        {
            const std::lock_guard lock(mutex_);
            waiting_.push_back(std::move(job));
        }
        if (recognize()) do_waiting();
    } catch (...) {
        // A job that could not be noted ends with the context.
    }
}

void adopted_context::check_alive() const {
    if (born_ != process::forks()) throw error(error_code::device_lost, space_ + " belongs to the parent process");
    if (is_gone()) throw error(error_code::device_lost, "the context of " + space_ + " was destroyed");
}

bool adopted_context::is_gone() const noexcept {
    const bool is_this_process = born_ == process::forks();
    if (is_this_process && !lost_ && !here() && !egl::get().has_context(display_, handle_)) lost_ = true;
    return lost_;
}

bool adopted_context::here() const noexcept {
    return born_ == process::forks() && !lost_ && egl::get().current_context() == handle_;
}

std::shared_ptr<void> adopted_context::keeps_objects() {
    std::shared_ptr<void> result = keeper_.lock();
    if (result) return result;
    int flags = 0;
    gl().get_integer(gl::context_flags, &flags);
    keeper_ = result = egl::get().keep_objects(flags);
    if (result) return result;
    throw error(error_code::unsupported,
                "the context of " + space_ + " lends no memory, as nothing could keep it if the program destroyed it");
}

void adopted_context::drop_waiting() noexcept {
    std::vector<std::function<void()>> jobs;
    const std::lock_guard lock(mutex_);
    jobs.swap(waiting_);
}

void adopted_context::do_waiting() {
    std::vector<std::function<void()>> jobs;
    {
        const std::lock_guard lock(mutex_);
        jobs.swap(waiting_);
    }
    for (const auto& job : jobs) job();
}

}  // namespace unibuf::backends
