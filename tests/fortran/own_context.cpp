// own_context.cpp: an OpenGL context as a Fortran program might have it, and a shader of that program.
#include <memory>
#include <stdexcept>

#include "contract/callers_context.hpp"

namespace {

using unibuf::system::library;

std::unique_ptr<unibuf::contract::callers_context> context;

/// The program's own way to OpenGL.
template <class Function>
Function* gl(const char* name) {
    static const library egl({"libEGL.so.1"});
    static void* (*find)(const char*) = nullptr;
    if (!find) egl.find("eglGetProcAddress", find);
    return reinterpret_cast<Function*>(find(name));
}

constexpr const char* source =
    "#version 450\nlayout(local_size_x = 64) in;\nlayout(std430, binding = 0) buffer numbers { int a[]; };\n"
    "void main() { a[gl_GlobalInvocationID.x] += 1; }";

}  // namespace

extern "C" {

int test_make_context() {
    try {
        context = std::make_unique<unibuf::contract::callers_context>();
        return 1;
    } catch (const std::exception&) {
        return 0;
    }
}

void test_release_context() { context->release(); }
void test_take_context() { context->make_current(); }

void test_dispatch_own(int groups) {
    constexpr unsigned compute_shader = 0x91B9;  // GL_COMPUTE_SHADER
    static const unsigned program =
        gl<unsigned(unsigned, int, const char* const*)>("glCreateShaderProgramv")(compute_shader, 1, &source);
    gl<void(unsigned)>("glUseProgram")(program);
    gl<void(unsigned, unsigned, unsigned)>("glDispatchCompute")(static_cast<unsigned>(groups), 1, 1);
    gl<void(unsigned)>("glMemoryBarrier")(0x2000);  // GL_SHADER_STORAGE_BARRIER_BIT
}

}  // extern "C"
