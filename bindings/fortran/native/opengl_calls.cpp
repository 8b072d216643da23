// opengl_calls.cpp
#include "opengl_calls.hpp"

#include <ISO_Fortran_binding.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unibuf/error.hpp>
#include <unibuf/opengl.hpp>

#include "gpu.hpp"
#include "handles.hpp"
#include "report.hpp"

namespace unibuf::fortran {

namespace {

// These are declared as in <GL/glcorearb.h>.
constexpr unsigned gl_shader_storage_buffer = 0x90D2;
constexpr unsigned gl_shader_storage_buffer_offset_alignment = 0x90DF;
constexpr unsigned gl_max_shader_storage_buffer_bindings = 0x90DD;
constexpr unsigned gl_max_compute_work_group_count = 0x91BE;
constexpr unsigned gl_compute_shader = 0x91B9;
constexpr unsigned gl_link_status = 0x8B82;
constexpr unsigned gl_all_barrier_bits = 0xFFFFFFFF;

/// Returns the function `name` of the context of `where`.
template <class Function>
Function* function(space where, const char* name) {
    if (void* const found = opengl::function(where, name)) return reinterpret_cast<Function*>(found);
    throw error(error_code::unsupported, where.name() + " has no " + name);
}

int limit_of(space where, unsigned what) {
    int value = 0;
    function<void(unsigned, int*)>(where, "glGetIntegerv")(what, &value);
    return value;
}

int limit_of(space where, unsigned what, unsigned index) {
    int value = 0;
    function<void(unsigned, unsigned, int*)>(where, "glGetIntegeri_v")(what, index, &value);
    return value;
}

/// Checks a binding, on the context's thread.
void check_binding(const native_memory& copy, unsigned binding) {
    const auto most = static_cast<unsigned>(limit_of(copy.where, gl_max_shader_storage_buffer_bindings));
    if (binding >= most) {
        throw error(error_code::out_of_range, "binding " + std::to_string(binding) + " was asked for; " +
                                                  copy.where.name() + " has 0 to " + std::to_string(most - 1));
    }
    const auto each = static_cast<std::size_t>(limit_of(copy.where, gl_shader_storage_buffer_offset_alignment));
    if (copy.offset % each != 0) {
        throw error(error_code::unsupported, "a part from byte " + std::to_string(copy.offset) +
                                                 " on was to be bound; " + copy.where.name() +
                                                 " binds what begins at a multiple of " + std::to_string(each));
    }
}

std::string log_of(space where, unsigned program) {
    std::string log(4096, '\0');
    int length = 0;
    function<void(unsigned, int, int*, char*)>(where, "glGetProgramInfoLog")(program, static_cast<int>(log.size()),
                                                                             &length, log.data());
    log.resize(static_cast<std::size_t>(length));
    return log;
}

}  // namespace

void bind_storage(const native_memory& copy, unsigned binding) {
    opengl::run(copy.where, [&] {
        check_binding(copy, binding);
        function<void(unsigned, unsigned, unsigned, std::ptrdiff_t, std::ptrdiff_t)>(copy.where, "glBindBufferRange")(
            gl_shader_storage_buffer, binding, opengl::name(copy), static_cast<std::ptrdiff_t>(copy.offset),
            static_cast<std::ptrdiff_t>(copy.bytes));
    });
}

compute_shader::compute_shader(space where, std::string_view source) : where_(where) {
    if (!gpu{where}.has_shaders()) {
        throw error(error_code::unsupported, "a shader was asked for at " + where.name() + ": shaders are OpenGL's");
    }
    const std::string text(source);
    opengl::run(where_, [&] {
        const char* const lines = text.c_str();
        program_ = function<unsigned(unsigned, int, const char* const*)>(where_, "glCreateShaderProgramv")(
            gl_compute_shader, 1, &lines);
        int linked = 0;
        function<void(unsigned, unsigned, int*)>(where_, "glGetProgramiv")(program_, gl_link_status, &linked);
        if (linked != 0) return;
        const std::string log = log_of(where_, program_);
        function<void(unsigned)>(where_, "glDeleteProgram")(program_);
        throw error(error_code::invalid_argument, "the compute shader does not compile: " + log);
    });
}

compute_shader::~compute_shader() {
    try {
        opengl::run(where_, [&] { function<void(unsigned)>(where_, "glDeleteProgram")(program_); });
    } catch (const std::exception&) {
        // The program has gone with its context, or goes with it.
    }
}

void compute_shader::dispatch(const std::array<int, 3>& groups) const {
    opengl::run(where_, [&] {
        for (unsigned axis = 0; axis < 3; ++axis) {
            const int most = limit_of(where_, gl_max_compute_work_group_count, axis);
            if (groups[axis] >= 0 && groups[axis] <= most) continue;
            throw error(error_code::out_of_range, std::to_string(groups[axis]) + " groups were asked for; " +
                                                      where_.name() + " does 0 to " + std::to_string(most) +
                                                      " along an axis");
        }
        const auto use = function<void(unsigned)>(where_, "glUseProgram");
        use(program_);
        function<void(unsigned, unsigned, unsigned)>(where_, "glDispatchCompute")(
            static_cast<unsigned>(groups[0]), static_cast<unsigned>(groups[1]), static_cast<unsigned>(groups[2]));
        use(0);
        function<void(unsigned)>(where_, "glMemoryBarrier")(gl_all_barrier_bits);
    });
}

}  // namespace unibuf::fortran

namespace {

using namespace unibuf::fortran;

slots<compute_shader>& shaders() noexcept {
    static constinit slots<compute_shader> all("a compute shader");
    return all;
}

}  // namespace

extern "C" {

handle unibuf_fortran_create_shader(const CFI_cdesc_t* source, const CFI_cdesc_t* device, int* stat,
                                    CFI_cdesc_t* errmsg) {
    handle made;
    carry_out(stat, errmsg, [&] {
        made = shaders().add(std::make_unique<compute_shader>(gpu_named(text_of(device)), text_of(source)));
    });
    return made;
}

void unibuf_fortran_dispatch(const handle* shader, const int* x, const int* y, const int* z, int* stat,
                             CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { shaders().get(*shader).dispatch({*x, y ? *y : 1, z ? *z : 1}); });
}

void unibuf_fortran_destroy_shader(const handle* shader, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { shaders().remove(*shader); });
}

}  // extern "C"
