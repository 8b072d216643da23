// support/real_device.cpp
#include "support/real_device.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "backends/metal/calls.hpp"
#include "backends/spaces.hpp"
#include "doubles/metal/loaded.hpp"
#include "unibuf/metal.hpp"
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

namespace mtl = backends::metal;

/// Memory that the host and a Metal device share, for the whole words around a part of a buffer: commands take no less.
class metal_words {
public:
    metal_words(const native_memory& at, std::size_t offset, std::size_t bytes)
        : at_(at),
          begin_((at.offset + offset) / mtl::blit_word * mtl::blit_word),
          words_((at.offset + offset + bytes + mtl::blit_word - 1) / mtl::blit_word * mtl::blit_word - begin_),
          shared_(mtl::new_buffer(metal::handles_of(at.where).device, words_, mtl::storage_shared)),
          part_(static_cast<std::byte*>(mtl::contents_of(shared_.get())) + (at.offset + offset - begin_), bytes) {
        copy(metal::memory(at_), begin_, shared_.get(), 0);
    }

    std::span<std::byte> part() const { return part_; }
    void write_back() const { copy(shared_.get(), 0, metal::memory(at_), begin_); }

private:
    void copy(mtl::id from, std::size_t from_offset, mtl::id to, std::size_t to_offset) const {
        const mtl::pool drained;
        const mtl::id commands = mtl::command_buffer_on(metal::handles_of(at_.where).queue);
        const mtl::id encoder = mtl::blit_encoder(commands);
        mtl::copy(encoder, from, from_offset, to, to_offset, words_);
        mtl::end_encoding(encoder);
        mtl::commit(commands);
        mtl::wait_until_completed(commands);
    }

    const mtl::pool drained_;
    const native_memory& at_;
    std::size_t begin_;
    std::size_t words_;
    mtl::owned shared_;
    std::span<std::byte> part_;
};

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
    } else if (is("metal", at.where)) {
        // The words at the ends have bytes of others, which work that is queued may be writing.
        backends::device_of(at.where).record({}).wait();
        const metal_words words(at, offset, content.size());
        std::ranges::copy(content, words.part().begin());
        words.write_back();
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
    } else if (is("metal", at.where)) {
        std::ranges::copy(metal_words(at, 0, at.bytes).part(), result.begin());
    } else {
        result.assign(at.as<const std::byte>(), at.as<const std::byte>() + at.bytes);
    }
    return result;
}

}  // namespace unibuf::test
