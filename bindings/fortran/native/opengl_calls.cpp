// opengl_calls.cpp: the module's own calls of OpenGL: bindings and compute shaders.
#include "opengl_calls.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unibuf/error.hpp>
#include <unibuf/opengl.hpp>

#include "gpu.hpp"

namespace unibuf::fortran {

namespace {

// These are declared as in <GL/glcorearb.h>.
constexpr unsigned gl_shader_storage_buffer = 0x90D2;
constexpr unsigned gl_shader_storage_buffer_binding = 0x90D3;
constexpr unsigned gl_shader_storage_buffer_offset_alignment = 0x90DF;
constexpr unsigned gl_max_shader_storage_buffer_bindings = 0x90DD;
constexpr unsigned gl_max_compute_work_group_count = 0x91BE;
constexpr unsigned gl_compute_shader = 0x91B9;
constexpr unsigned gl_link_status = 0x8B82;
constexpr unsigned gl_all_barrier_bits = 0xFFFFFFFF;
constexpr unsigned gl_shader_storage_block = 0x92E6;
constexpr unsigned gl_active_resources = 0x92F5;
constexpr unsigned gl_buffer_binding = 0x9302;
constexpr unsigned gl_uniform = 0x92E1;
constexpr unsigned gl_type = 0x92FA;
constexpr unsigned gl_location = 0x930E;
constexpr int gl_int = 0x1404;
constexpr int gl_unsigned_int = 0x1405;
constexpr int gl_float = 0x1406;
constexpr int gl_double = 0x140A;
constexpr unsigned invalid_index = 0xFFFFFFFF;

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

/// What the module has bound last in each context: where another buffer is bound, the program has bound it.
struct {
    std::mutex mutex;
    std::map<std::pair<std::uint8_t, unsigned>, unsigned> names;
} bound_last;

/// Returns whether the program has bound a buffer by calls of OpenGL, on the context's thread.
bool is_bound_by_program(space where, unsigned binding) {
    const auto name = static_cast<unsigned>(limit_of(where, gl_shader_storage_buffer_binding, binding));
    const std::lock_guard lock(bound_last.mutex);
    return name != 0 && name != bound_last.names[{where.id(), binding}];
}

/// Binds a copy, on the context's thread.
void bind_here(const native_memory& copy, unsigned binding) {
    check_binding(copy, binding);
    function<void(unsigned, unsigned, unsigned, std::ptrdiff_t, std::ptrdiff_t)>(copy.where, "glBindBufferRange")(
        gl_shader_storage_buffer, binding, opengl::name(copy), static_cast<std::ptrdiff_t>(copy.offset),
        static_cast<std::ptrdiff_t>(copy.bytes));
    const std::lock_guard lock(bound_last.mutex);
    bound_last.names[{copy.where.id(), binding}] = opengl::name(copy);
}

/// Returns a property of what a program uses, on the context's thread.
int resource(space where, unsigned program, unsigned interface, unsigned index, unsigned property) {
    int value = 0;
    function<void(unsigned, unsigned, unsigned, int, const unsigned*, int, int*, int*)>(
        where, "glGetProgramResourceiv")(program, interface, index, 1, &property, 1, nullptr, &value);
    return value;
}

std::string_view without_blanks(std::string_view text) { return text.substr(0, text.find_last_not_of(' ') + 1); }

const char* name_of(int type) {
    switch (type) {
        case gl_int:
            return "int";
        case gl_unsigned_int:
            return "uint";
        case gl_float:
            return "float";
        case gl_double:
            return "double";
        default:
            return "of another type";
    }
}

}  // namespace

void bind_storage(const native_memory& copy, unsigned binding) {
    opengl::run(copy.where, [&] { bind_here(copy, binding); });
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
        if (linked != 0) return find_bindings();
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

void compute_shader::find_bindings() {
    int count = 0;
    function<void(unsigned, unsigned, unsigned, int*)>(where_, "glGetProgramInterfaceiv")(
        program_, gl_shader_storage_block, gl_active_resources, &count);
    for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
        const int binding = resource(where_, program_, gl_shader_storage_block, i, gl_buffer_binding);
        bindings_.push_back(static_cast<unsigned>(binding));
    }
}

void compute_shader::check(const group_counts& groups, std::span<const unsigned> bound,
                           std::span<const uniform_value> uniforms) const {
    opengl::run(where_, [&] {
        for (unsigned axis = 0; axis < 3; ++axis) {
            const int most = limit_of(where_, gl_max_compute_work_group_count, axis);
            if (groups[axis] >= 0 && groups[axis] <= most) continue;
            throw error(error_code::out_of_range, std::to_string(groups[axis]) + " groups were asked for; " +
                                                      where_.name() + " does 0 to " + std::to_string(most) +
                                                      " along an axis");
        }
        for (const unsigned binding : bindings_) {
            if (std::ranges::find(bound, binding) != bound.end() || is_bound_by_program(where_, binding)) continue;
            throw error(error_code::invalid_argument,
                        "the shader uses binding " + std::to_string(binding) +
                            ", to which no buffer is bound, or one that has gone: bind_buffer_to_shader binds one, and "
                            "`buffers` of dispatch_compute");
        }
        for (const uniform_value& each : uniforms) static_cast<void>(setter_of(each));
    });
}

std::function<void()> compute_shader::setter_of(const uniform_value& given) const {
    const std::string name(without_blanks({given.name, sizeof given.name}));
    const unsigned index = function<unsigned(unsigned, unsigned, const char*)>(where_, "glGetProgramResourceIndex")(
        program_, gl_uniform, name.c_str());
    if (index == invalid_index) {
        throw error(error_code::invalid_argument,
                    "the uniform '" + name + "' was given, which the shader does not use");
    }
    const int type = resource(where_, program_, gl_uniform, index, gl_type);
    const auto check = [&](bool fits, const char* what) {
        if (fits) return;
        throw error(error_code::invalid_argument,
                    "the uniform '" + name + "' is " + name_of(type) + ", and was given " + what);
    };
    const auto setter = [&]<class T>(const char* call, T value) -> std::function<void()> {
        const int at = resource(where_, program_, gl_uniform, index, gl_location);
        return [to = function<void(unsigned, int, T)>(where_, call), program = program_, at, value] {
            to(program, at, value);
        };
    };
    switch (given.what) {
        case uniform_value::integer: {
            check(type == gl_int || type == gl_unsigned_int, "an integer");
            const auto value = static_cast<int>(given.bits);
            if (type == gl_int) return setter("glProgramUniform1i", value);
            return setter("glProgramUniform1ui", static_cast<unsigned>(value));
        }
        case uniform_value::real:
            check(type == gl_float, "a real");
            return setter("glProgramUniform1f", std::bit_cast<float>(static_cast<std::int32_t>(given.bits)));
        default:
            check(type == gl_double, "a real of double precision");
            return setter("glProgramUniform1d", std::bit_cast<double>(given.bits));
    }
}

void compute_shader::launch(const group_counts& groups, std::span<const uniform_value> uniforms) const {
    for (const uniform_value& each : uniforms) setter_of(each)();
    const auto use = function<void(unsigned)>(where_, "glUseProgram");
    use(program_);
    function<void(unsigned, unsigned, unsigned)>(where_, "glDispatchCompute")(
        static_cast<unsigned>(groups[0]), static_cast<unsigned>(groups[1]), static_cast<unsigned>(groups[2]));
    use(0);
    function<void(unsigned)>(where_, "glMemoryBarrier")(gl_all_barrier_bits);
}

void compute_shader::dispatch_bound(const group_counts& groups, std::span<const storage_at> bound,
                                    std::span<const uniform_value> uniforms) const {
    opengl::run(where_, [&] {
        for (const storage_at& each : bound) {
            if (!is_bound_by_program(where_, each.binding)) bind_here(each.copy, each.binding);
        }
        launch(groups, uniforms);
    });
}

void compute_shader::dispatch_with(const group_counts& groups, std::span<const storage_at> buffers,
                                   std::span<const uniform_value> uniforms) const {
    opengl::run(where_, [&] {
        for (const storage_at& each : buffers) bind_here(each.copy, each.binding);
        launch(groups, uniforms);
    });
}

}  // namespace unibuf::fortran
