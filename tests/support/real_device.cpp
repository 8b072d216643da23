// support/real_device.cpp
#include "support/real_device.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "unibuf/opencl.hpp"
#include "unibuf/opengl.hpp"

namespace unibuf::test {
namespace {

void check(bool done, const char* call) {
    if (!done) throw std::runtime_error(std::string(call) + " failed");
}

template <class Function>
Function* opencl_function(const char* name) {
    static void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(dlsym(library, name));
}

template <class Function>
Function* opengl_function(space where, const char* name) {
    return reinterpret_cast<Function*>(opengl::function(where, name));
}

/// An OpenGL buffer object that commands may fill and read, whatever the buffer objects of unibuf allow.
class staging {
public:
    staging(space where, std::size_t bytes, const void* content) : where_(where) {
        opengl_function<void(int, std::uint32_t*)>(where, "glCreateBuffers")(1, &name_);
        constexpr unsigned dynamic_copy = 0x88EA;
        opengl_function<void(std::uint32_t, std::intptr_t, const void*, unsigned)>(where, "glNamedBufferData")(
            name_, static_cast<std::intptr_t>(bytes), content, dynamic_copy);
    }
    ~staging() { opengl_function<void(int, const std::uint32_t*)>(where_, "glDeleteBuffers")(1, &name_); }
    staging(const staging&) = delete;
    staging& operator=(const staging&) = delete;

    std::uint32_t name() const { return name_; }

private:
    space where_;
    std::uint32_t name_ = 0;
};

void copy_in_opengl(space where, std::uint32_t from, std::size_t from_offset, std::uint32_t to, std::size_t to_offset,
                    std::size_t bytes) {
    opengl_function<void(std::uint32_t, std::uint32_t, std::intptr_t, std::intptr_t, std::intptr_t)>(
        where, "glCopyNamedBufferSubData")(from, to, static_cast<std::intptr_t>(from_offset),
                                           static_cast<std::intptr_t>(to_offset), static_cast<std::intptr_t>(bytes));
    opengl_function<void()>(where, "glFinish")();
}

bool is(std::string_view api, space where) { return where.name().starts_with(api); }

}  // namespace

void device_writes(const native_memory& at, std::size_t offset, std::span<const std::byte> content) {
    if (content.empty()) return;
    if (is("opencl", at.where)) {
        using enqueue = int(_cl_command_queue*, _cl_mem*, unsigned, std::size_t, std::size_t, const void*, unsigned,
                            const void*, void*);
        check(opencl_function<enqueue>("clEnqueueWriteBuffer")(opencl::handles_of(at.where).queue, opencl::memory(at),
                                                               1, at.offset + offset, content.size(), content.data(), 0,
                                                               nullptr, nullptr) == 0,
              "clEnqueueWriteBuffer");
    } else if (is("opengl", at.where)) {
        opengl::run(at.where, [&] {
            const staging from(at.where, content.size(), content.data());
            copy_in_opengl(at.where, from.name(), 0, opengl::name(at), at.offset + offset, content.size());
        });
    } else {
        std::ranges::copy(content, at.as<std::byte>() + offset);
    }
}

std::vector<std::byte> device_reads(const native_memory& at) {
    std::vector<std::byte> result(at.bytes);
    if (result.empty()) return result;
    if (is("opencl", at.where)) {
        using enqueue =
            int(_cl_command_queue*, _cl_mem*, unsigned, std::size_t, std::size_t, void*, unsigned, const void*, void*);
        check(opencl_function<enqueue>("clEnqueueReadBuffer")(opencl::handles_of(at.where).queue, opencl::memory(at), 1,
                                                              at.offset, at.bytes, result.data(), 0, nullptr,
                                                              nullptr) == 0,
              "clEnqueueReadBuffer");
    } else if (is("opengl", at.where)) {
        opengl::run(at.where, [&] {
            const staging to(at.where, at.bytes, nullptr);
            copy_in_opengl(at.where, opengl::name(at), at.offset, to.name(), 0, at.bytes);
            opengl_function<void(std::uint32_t, std::intptr_t, std::intptr_t, void*)>(
                at.where, "glGetNamedBufferSubData")(to.name(), 0, static_cast<std::intptr_t>(at.bytes), result.data());
        });
    } else {
        result.assign(at.as<const std::byte>(), at.as<const std::byte>() + at.bytes);
    }
    return result;
}

}  // namespace unibuf::test
