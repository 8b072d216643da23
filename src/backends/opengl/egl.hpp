// backends/opengl/egl.hpp: EGL, which finds OpenGL's functions and makes contexts that need no window.
#pragma once

#include <memory>
#include <string>

namespace unibuf::backends {

/// EGL is loaded at first use. Any thread.
class egl {
public:
    static const egl& get();

    /// Returns why EGL cannot be used; empty where it can.
    const std::string& why() const noexcept { return why_; }

    /// Returns the context that is current on this thread, or null.
    void* current_context() const { return functions_.get_current_context(); }

    /// Returns an OpenGL function, or null. It works in whatever context is current where it is called.
    static void* function(const char* name);

    /// Makes a context without a window, on the best device there is, and leaves it current on this thread, where no
    /// context is current. Returns nothing, or why there is none. The context is never destroyed.
    std::string make_headless_context() const;

    /// Makes what keeps the buffer objects of the context that is current here, and their mappings, when the program
    /// destroys that context: another one that shares them, which is never current. Null where there can be none.
    /// `flags` are the GL_CONTEXT_FLAGS of the current one.
    std::shared_ptr<void> keep_objects(int flags) const;

    /// Returns the display that is current on this thread.
    void* current_display() const { return functions_.get_current_display(); }

    /// Returns whether a context has this handle.
    bool has_context(void* display, void* handle) const;

    /// The functions that are used here, as <EGL/egl.h> declares them.
    struct functions {
        void* (*get_proc_address)(const char* name) = nullptr;
        void* (*get_current_context)() = nullptr;
        void* (*get_current_display)() = nullptr;
        const char* (*query_string)(void* display, int name) = nullptr;
        int (*get_error)() = nullptr;
        unsigned (*initialize)(void* display, int* major, int* minor) = nullptr;
        unsigned (*bind_api)(unsigned api) = nullptr;
        unsigned (*query_api)() = nullptr;
        unsigned (*query_context)(void* display, void* context, int attribute, int* value) = nullptr;
        void* (*create_context)(void* display, void* config, void* share, const int* attributes) = nullptr;
        unsigned (*destroy_context)(void* display, void* context) = nullptr;
        unsigned (*make_current)(void* display, void* draw, void* read, void* context) = nullptr;
    };

private:
    egl();

    functions functions_;
    std::string why_;
};

}  // namespace unibuf::backends
