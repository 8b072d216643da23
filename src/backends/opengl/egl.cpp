// backends/opengl/egl.cpp: the library and its functions.
#include "backends/opengl/egl.hpp"

#include "system/loader.hpp"

namespace unibuf::backends {

egl::egl() {
    const system::library driver({"libEGL.so.1", "libEGL.so"});
    if (!driver) {
        why_ = driver.why();
        return;
    }
    auto& f = functions_;
    const bool complete =
        driver.find("eglGetProcAddress", f.get_proc_address) && driver.find("eglQueryString", f.query_string) &&
        driver.find("eglGetCurrentContext", f.get_current_context) &&
        driver.find("eglGetCurrentDisplay", f.get_current_display) && driver.find("eglGetError", f.get_error) &&
        driver.find("eglInitialize", f.initialize) && driver.find("eglBindAPI", f.bind_api) &&
        driver.find("eglCreateContext", f.create_context) && driver.find("eglDestroyContext", f.destroy_context) &&
        driver.find("eglMakeCurrent", f.make_current) && driver.find("eglQueryAPI", f.query_api) &&
        driver.find("eglQueryContext", f.query_context);
    if (!complete) why_ = "libEGL.so.1 lacks functions of EGL 1.4";
}

const egl& egl::get() {
    // The object is never destroyed: contexts are used until the process ends.
    static const auto& loaded = *new egl;
    return loaded;
}

bool egl::has_context(void* display, void* handle) const {
    constexpr int client_type = 0x3097;
    int type = 0;
    if (functions_.query_context(display, handle, client_type, &type)) return true;
    functions_.get_error();
    return false;
}

void* egl::function(const char* name) { return get().functions_.get_proc_address(name); }

}  // namespace unibuf::backends
