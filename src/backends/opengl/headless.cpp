// backends/opengl/headless.cpp: contexts without a window: which display one is made on, and why it could not be.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backends/opengl/api.hpp"
#include "backends/opengl/egl.hpp"
#include "backends/opengl/flags.hpp"
#include "process/forks.hpp"

namespace unibuf::backends {

namespace {

constexpr unsigned opengl_api = 0x30A2;
constexpr int extensions = 0x3055;
constexpr int none = 0x3038;
constexpr int major_version = 0x3098;
constexpr int minor_version = 0x30FB;
constexpr int profile_mask = 0x30FD;
constexpr int core_profile = 0x0001;
constexpr int reset_notification = 0x31BD;
constexpr int lose_context_on_reset = 0x31BF;
constexpr int no_error = 0x31B3;
constexpr unsigned platform_device = 0x313F;
constexpr unsigned platform_surfaceless = 0x31DD;

using get_platform_display = void*(unsigned platform, void* native, const void* attributes);
using query_devices = unsigned(int count, void** devices, int* found);
using query_device_string = const char*(void* device, int name);

struct candidate {
    std::string name;
    void* display = nullptr;
};

struct attempt {
    void* display = nullptr;
    void* context = nullptr;
    bool software = false;
    std::string why;
};

bool has(const char* all, std::string_view wanted) {
    std::string_view left = all ? all : "";
    while (!left.empty()) {
        const auto end = left.find(' ');
        if (left.substr(0, end) == wanted) return true;
        left = end == std::string_view::npos ? std::string_view() : left.substr(end + 1);
    }
    return false;
}

template <class Function>
Function* find(const egl::functions& driver, const char* name) {
    return reinterpret_cast<Function*>(driver.get_proc_address(name));
}

std::string text(unsigned name) {
    const auto get_string = reinterpret_cast<const char* (*)(unsigned)>(egl::function("glGetString"));
    const char* value = get_string ? get_string(name) : nullptr;
    return value ? value : "";
}

/// Returns what the driver offers in the place of what is needed.
std::string offered(const egl::functions& driver, void* display) {
    void* context = driver.create_context(display, nullptr, nullptr, &none);
    if (!context) return "it has no OpenGL";
    std::string result = "its OpenGL cannot be used without a window";
    if (driver.make_current(display, nullptr, nullptr, context)) {
        result = fmt::format("it has OpenGL {}", text(gl::version));
        driver.make_current(display, nullptr, nullptr, nullptr);
    }
    driver.destroy_context(display, context);
    return result;
}

/// Makes a context that shares the objects of `others`, or nobody's where that is null. The two agree on whether errors
/// are told.
void* make_context(const egl::functions& driver, void* display, void* others, bool tells_errors = true) {
    // With the first of these, a lost device is an error, and not the driver's guess. Not every driver can tell, and
    // who shares objects has to agree on it.
    for (const bool tells_loss : {true, false}) {
        std::vector<int> wanted{major_version, 4, minor_version, 5, profile_mask, core_profile};
        if (tells_loss) wanted.insert(wanted.end(), {reset_notification, lose_context_on_reset});
        if (!tells_errors) wanted.insert(wanted.end(), {no_error, 1});
        wanted.push_back(none);
        if (void* const made = driver.create_context(display, nullptr, others, wanted.data())) return made;
    }
    return nullptr;
}

attempt try_display(const egl::functions& driver, void* display) {
    attempt result{display, nullptr, false, {}};
    if (!display || !driver.initialize(display, nullptr, nullptr)) {
        result.why = fmt::format("cannot be opened (EGL error {:#x})", driver.get_error());
        return result;
    }
    const char* can = driver.query_string(display, extensions);
    if (!has(can, "EGL_KHR_surfaceless_context") || !has(can, "EGL_KHR_no_config_context")) {
        result.why = "needs a window";
        return result;
    }
    if (driver.bind_api(opengl_api)) result.context = make_context(driver, display, nullptr);
    if (!result.context) {
        result.why = "OpenGL 4.5 is needed, and " + offered(driver, display);
    } else if (!driver.make_current(display, nullptr, nullptr, result.context)) {
        result.why = fmt::format("its context cannot be made current (EGL error {:#x})", driver.get_error());
        driver.destroy_context(display, result.context);
        result.context = nullptr;
    } else {
        result.software = platform_of(text(gl::vendor), text(gl::renderer)).software;
    }
    return result;
}

/// Returns the displays to try. The surfaceless one comes first: it is the driver's own choice. Then come the devices
/// one by one, software left out.
std::vector<candidate> candidates(const egl::functions& driver, const char* can) {
    std::vector<candidate> result;
    auto* display_of = find<get_platform_display>(driver, "eglGetPlatformDisplayEXT");
    if (!display_of) display_of = find<get_platform_display>(driver, "eglGetPlatformDisplay");
    if (!display_of) return result;
    if (has(can, "EGL_MESA_platform_surfaceless")) {
        result.push_back({"surfaceless display", display_of(platform_surfaceless, nullptr, nullptr)});
    }
    auto* list = find<query_devices>(driver, "eglQueryDevicesEXT");
    auto* describe = find<query_device_string>(driver, "eglQueryDeviceStringEXT");
    std::array<void*, 16> devices{};
    int found = 0;
    if (!has(can, "EGL_EXT_platform_device") || !list || !describe) return result;
    if (!list(static_cast<int>(devices.size()), devices.data(), &found)) return result;
    for (int index = 0; index < found; ++index) {
        void* device = devices[static_cast<std::size_t>(index)];
        const bool software = has(describe(device, extensions), "EGL_MESA_device_software");
        if (software && !result.empty()) continue;
        result.push_back({fmt::format("EGL device {}", index), display_of(platform_device, device, nullptr)});
    }
    return result;
}

}  // namespace

std::shared_ptr<void> egl::keep_objects(int flags) const {
    constexpr int tells_no_errors = 8;  // GL_CONTEXT_FLAG_NO_ERROR_BIT
    void* const display = functions_.get_current_display();
    if (!display || !has(functions_.query_string(display, extensions), "EGL_KHR_no_config_context")) return nullptr;
    const unsigned api_before = functions_.query_api();  // of this thread, for what it makes
    functions_.bind_api(opengl_api);
    void* const made =
        make_context(functions_, display, functions_.get_current_context(), (flags & tells_no_errors) == 0);
    functions_.bind_api(api_before);
    if (!made) {
        functions_.get_error();
        return nullptr;
    }
    return {made, [display, born = process::forks()](void* context) {
                if (born == process::forks()) get().functions_.destroy_context(display, context);
            }};
}

std::string egl::make_headless_context() const {
    const functions& driver = functions_;
    const char* can = driver.query_string(nullptr, extensions);

    attempt best;
    std::string tried;
    for (const candidate& next : candidates(driver, can)) {
        attempt made = try_display(driver, next.display);
        if (!made.context) {
            tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", next.name, made.why);
            continue;
        }
        if (best.context && made.software) {
            driver.destroy_context(made.display, made.context);
            continue;
        }
        if (best.context) driver.destroy_context(best.display, best.context);
        best = made;
        if (!best.software) break;
    }
    if (best.context && driver.make_current(best.display, nullptr, nullptr, best.context)) return {};
    if (best.context) return fmt::format("its context cannot be made current (EGL error {:#x})", driver.get_error());
    return tried.empty() ? "EGL offers no display without a window" : tried;
}

}  // namespace unibuf::backends
