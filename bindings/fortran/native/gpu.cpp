// gpu.cpp: which device "the GPU" of the Fortran modules is.
#include "gpu.hpp"

#include <ISO_Fortran_binding.h>

#include <atomic>
#include <unibuf/error.hpp>
#include <unibuf/opengl.hpp>

#include "report.hpp"

namespace unibuf::fortran {

namespace {

constexpr int none = -1;
std::atomic<int> chosen = none;
std::atomic<bool> fallback = false;

}  // namespace

bool gpu::has_shaders() const { return where.name().starts_with("opengl:"); }
bool gpu::has_own_context() const { return has_shaders() && opengl::is_own(where); }

gpu gpu_at(space where) {
    const gpu result{where};
    return result.has_shaders() ? gpu{where, opengl::queue_of(where)} : result;
}

space chosen_gpu() {
    const int id = chosen.load(std::memory_order_relaxed);
    if (id != none) return space::from_id(static_cast<std::uint8_t>(id));
    try {
        return space("opengl:0");
    } catch (const error&) {
        if (copies_instead()) return host;
        throw;
    }
}

void choose_gpu(space where) noexcept { chosen.store(where.id(), std::memory_order_relaxed); }

space gpu_named(std::string_view name) { return name.empty() ? chosen_gpu() : space(name); }

bool copies_instead() noexcept { return fallback.load(std::memory_order_relaxed); }

}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

void unibuf_fortran_set_gpu(const CFI_cdesc_t* name, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { choose_gpu(unibuf::space(text_of(name))); });
}

void unibuf_fortran_gpu_name(CFI_cdesc_t* name, int* stat) {
    carry_out(stat, nullptr, [&] { put_text(chosen_gpu().name(), name); });
}

void unibuf_fortran_use_current_gl_context(int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [] { choose_gpu(unibuf::opengl::use_current_context()); });
}

void unibuf_fortran_use_copy_fallback() { fallback = true; }

}  // extern "C"
