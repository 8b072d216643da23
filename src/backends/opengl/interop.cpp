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

/// A context of the program's own, and its space.
struct adopted {
    std::shared_ptr<backends::adopted_context> context;
    space where;
};

/// Returns whether the program has destroyed the context, and nobody has memory or a fence of it: the list that this is
/// in has it, and its device.
bool is_abandoned(const adopted& of) {
    if (of.where.id() == detail::default_space || !of.context->is_gone()) return false;
    of.context->drop_waiting();
    return of.context.use_count() == 2;
}

/// Gives back the spaces of contexts that are abandoned.
void give_back_abandoned(std::vector<adopted>& known) {
    std::erase_if(known, [](const adopted& each) {
        if (!is_abandoned(each)) return false;
        limit_memory(each.where, no_memory_limit);
        backends::give_back(each.where);
        return true;
    });
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

    static process::lasting<process::mutex> mutex(process::mutex::rank::renewed);
    static auto& known = *new std::vector<adopted>;

    const std::lock_guard lock(*mutex);
    for (const auto& [context, where] : known) {
        if (context->recognize()) return where;
    }
    auto context = std::make_shared<backends::adopted_context>();
    if (backends::count_of_spaces() == max_spaces) give_back_abandoned(known);
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
