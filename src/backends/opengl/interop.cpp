// backends/opengl/interop.cpp: the functions of unibuf/opengl.hpp.
#include <fmt/format.h>

#include <mutex>
#include <utility>
#include <vector>

#include "backends/opengl/adopted_context.hpp"
#include "backends/opengl/device.hpp"
#include "backends/opengl/egl.hpp"
#include "backends/spaces.hpp"
#include "process/lasting.hpp"
#include "process/mutex.hpp"
#include "unibuf/error.hpp"
#include "unibuf/opengl.hpp"

namespace unibuf::opengl {

namespace {

backends::gl_context& context_of(space where) {
    if (auto* found = dynamic_cast<backends::gl_device*>(&backends::device_of(where))) return found->context();
    throw error(error_code::invalid_argument, fmt::format("{} is no OpenGL space", where.name()));
}

}  // namespace

void run(space where, const std::function<void()>& work) { context_of(where).run_callers(work); }

space use_current_context() {
    // unibuf's own context is looked for first: "opengl:0" is its name, where there is one.
    try {
        const space own("opengl:0");
        if (context_of(own).here()) return own;
    } catch (const error&) {
    }

    struct adopted {
        std::shared_ptr<backends::adopted_context> context;
        space where;
    };
    static process::lasting<process::mutex> mutex(process::mutex::rank::renewed);
    static auto& known = *new std::vector<adopted>;

    const std::lock_guard lock(*mutex);
    for (const auto& [context, where] : known) {
        if (context->recognize()) return where;
    }
    auto context = std::make_shared<backends::adopted_context>();
    const space where = backends::add_space("opengl", std::make_unique<backends::gl_device>(context));
    backends::any_bound_to_threads = true;
    context->set_space(where);
    known.push_back({std::move(context), where});
    return where;
}

bool is_own(space where) { return !dynamic_cast<const backends::adopted_context*>(&context_of(where)); }

queue queue_of(space where) { return {&context_of(where)}; }

void* function(space where, const char* name) {
    context_of(where);
    return backends::egl::function(name);
}

std::uint32_t name(const native_memory& copy) {
    context_of(copy.where);
    return static_cast<std::uint32_t>(copy.handle);
}

}  // namespace unibuf::opengl
