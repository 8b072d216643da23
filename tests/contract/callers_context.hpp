// tests/contract/callers_context.hpp: an OpenGL context that is not unibuf's.
#pragma once

#include <array>
#include <stdexcept>

#include "system/loader.hpp"

namespace unibuf::contract {

/// A context as a program would make it. It is current where it was made, until it goes.
class callers_context {
public:
    explicit callers_context(bool tells_errors = true) {
        const system::library egl({"libEGL.so.1"});
        void* (*find)(const char*) = nullptr;
        egl.find("eglGetProcAddress", find);
        egl.find("eglMakeCurrent", make_current_);
        egl.find("eglDestroyContext", destroy_);
        unsigned (*initialize)(void*, int*, int*) = nullptr;
        unsigned (*bind)(unsigned) = nullptr;
        void* (*create)(void*, void*, void*, const int*) = nullptr;
        egl.find("eglInitialize", initialize);
        egl.find("eglBindAPI", bind);
        egl.find("eglCreateContext", create);
        const auto display = reinterpret_cast<void* (*)(unsigned, void*, const int*)>(find("eglGetPlatformDisplayEXT"));

        display_ = display(0x31DD, nullptr, nullptr);
        const std::array attributes{0x3098, 4, 0x30FB, 5, 0x30FD, 1, 0x31B3, tells_errors ? 0 : 1, 0x3038};
        if (initialize(display_, nullptr, nullptr) && bind(0x30A2)) {
            context_ = create(display_, nullptr, nullptr, attributes.data());
        }
        if (!context_) throw std::runtime_error("no context could be made");
        make_current();
    }
    ~callers_context() {
        release();
        destroy_(display_, context_);
    }
    callers_context(const callers_context&) = delete;
    callers_context& operator=(const callers_context&) = delete;

    void make_current() const { make_current_(display_, nullptr, nullptr, context_); }
    void release() const { make_current_(display_, nullptr, nullptr, nullptr); }
    void* handle() const { return context_; }

private:
    unsigned (*make_current_)(void*, void*, void*, void*) = nullptr;
    unsigned (*destroy_)(void*, void*) = nullptr;
    void* display_ = nullptr;
    void* context_ = nullptr;
};

}  // namespace unibuf::contract
