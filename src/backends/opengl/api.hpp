// backends/opengl/api.hpp: the part of OpenGL that is used, declared without its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace unibuf::backends {

struct gl_sync_object;
using gl_sync = gl_sync_object*;

/// The functions of one context. They may be called where it is current.
struct gl_api {
    unsigned (*get_error)() = nullptr;
    unsigned (*get_graphics_reset_status)() = nullptr;
    const unsigned char* (*get_string)(unsigned name) = nullptr;
    void (*get_integer)(unsigned name, int* value) = nullptr;
    void (*get_indexed_integer)(unsigned name, unsigned index, int* value) = nullptr;
    void (*pixel_store)(unsigned name, int value) = nullptr;

    void (*create_buffers)(int count, unsigned* buffers) = nullptr;
    void (*delete_buffers)(int count, const unsigned* buffers) = nullptr;
    unsigned char (*is_buffer)(unsigned buffer) = nullptr;
    void (*bind_buffer)(unsigned target, unsigned buffer) = nullptr;
    void (*bind_buffer_base)(unsigned target, unsigned index, unsigned buffer) = nullptr;
    void (*buffer_storage)(unsigned buffer, std::ptrdiff_t bytes, const void* data, unsigned flags) = nullptr;
    void (*buffer_sub_data)(unsigned buffer, std::ptrdiff_t offset, std::ptrdiff_t bytes, const void* data) = nullptr;
    void (*get_buffer_sub_data)(unsigned buffer, std::ptrdiff_t offset, std::ptrdiff_t bytes, void* data) = nullptr;
    void (*clear_buffer_sub_data)(unsigned buffer, unsigned internal_format, std::ptrdiff_t offset,
                                  std::ptrdiff_t bytes, unsigned format, unsigned type, const void* data) = nullptr;
    void (*copy_buffer_sub_data)(unsigned from, unsigned to, std::ptrdiff_t from_offset, std::ptrdiff_t to_offset,
                                 std::ptrdiff_t bytes) = nullptr;
    void* (*map_buffer_range)(unsigned buffer, std::ptrdiff_t offset, std::ptrdiff_t bytes, unsigned flags) = nullptr;
    void (*flush_mapped_buffer_range)(unsigned buffer, std::ptrdiff_t offset, std::ptrdiff_t bytes) = nullptr;

    void (*memory_barrier)(unsigned what) = nullptr;
    gl_sync (*fence_sync)(unsigned condition, unsigned flags) = nullptr;
    unsigned (*client_wait_sync)(gl_sync sync, unsigned flags, std::uint64_t nanoseconds) = nullptr;
    void (*delete_sync)(gl_sync sync) = nullptr;

    void (*object_label)(unsigned kind, unsigned name, int length, const char* label) = nullptr;
    void (*get_object_label)(unsigned kind, unsigned name, int size, int* length, char* label) = nullptr;

    /// Finds all functions. Returns the names of those that are missing, or nothing.
    std::string load(void* (*find)(const char* name));
};

namespace gl {

inline constexpr unsigned no_error = 0;
inline constexpr unsigned invalid_enum = 0x0500;
inline constexpr unsigned invalid_value = 0x0501;
inline constexpr unsigned invalid_operation = 0x0502;
inline constexpr unsigned out_of_memory = 0x0505;
inline constexpr unsigned context_lost = 0x0507;

inline constexpr unsigned vendor = 0x1F00;
inline constexpr unsigned renderer = 0x1F01;
inline constexpr unsigned version = 0x1F02;
inline constexpr unsigned major_version = 0x821B;
inline constexpr unsigned minor_version = 0x821C;
inline constexpr unsigned context_flags = 0x821E;
inline constexpr unsigned dedicated_memory_nvx = 0x9047;  // in KiB
inline constexpr unsigned available_memory_nvx = 0x9049;  // in KiB

inline constexpr unsigned map_read = 0x0001;
inline constexpr unsigned map_write = 0x0002;
inline constexpr unsigned map_flush_explicit = 0x0010;
inline constexpr unsigned map_persistent = 0x0040;
inline constexpr unsigned map_coherent = 0x0080;
inline constexpr unsigned dynamic_storage = 0x0100;
inline constexpr unsigned client_storage = 0x0200;

inline constexpr unsigned buffer_update_barrier = 0x0200;
inline constexpr unsigned all_barriers = 0xFFFFFFFF;

inline constexpr unsigned sync_gpu_commands_complete = 0x9117;
inline constexpr unsigned sync_flush_commands = 0x0001;
inline constexpr unsigned already_signaled = 0x911A;
inline constexpr unsigned timeout_expired = 0x911B;
inline constexpr unsigned condition_satisfied = 0x911C;

inline constexpr unsigned buffer_object = 0x82E0;
inline constexpr unsigned array_buffer = 0x8892;
inline constexpr unsigned array_buffer_binding = 0x8894;
inline constexpr unsigned element_array_buffer = 0x8893;
inline constexpr unsigned element_array_buffer_binding = 0x8895;
inline constexpr unsigned pixel_pack_buffer = 0x88EB;
inline constexpr unsigned pixel_pack_buffer_binding = 0x88ED;
inline constexpr unsigned pixel_unpack_buffer = 0x88EC;
inline constexpr unsigned pixel_unpack_buffer_binding = 0x88EF;
inline constexpr unsigned copy_read_buffer = 0x8F36;   // its binding is called so, too
inline constexpr unsigned copy_write_buffer = 0x8F37;  // likewise
inline constexpr unsigned draw_indirect_buffer = 0x8F3F;
inline constexpr unsigned draw_indirect_buffer_binding = 0x8F43;
inline constexpr unsigned dispatch_indirect_buffer = 0x90EE;
inline constexpr unsigned dispatch_indirect_buffer_binding = 0x90EF;
inline constexpr unsigned query_buffer = 0x9192;
inline constexpr unsigned query_buffer_binding = 0x9193;
inline constexpr unsigned texture_buffer = 0x8C2A;  // likewise
inline constexpr unsigned uniform_buffer = 0x8A11;
inline constexpr unsigned uniform_buffer_binding = 0x8A28;
inline constexpr unsigned max_uniform_buffer_bindings = 0x8A2F;
inline constexpr unsigned atomic_counter_buffer = 0x92C0;
inline constexpr unsigned atomic_counter_buffer_binding = 0x92C1;
inline constexpr unsigned max_atomic_counter_buffer_bindings = 0x92DC;
inline constexpr unsigned shader_storage_buffer = 0x90D2;
inline constexpr unsigned shader_storage_buffer_binding = 0x90D3;
inline constexpr unsigned max_shader_storage_buffer_bindings = 0x90DD;

inline constexpr unsigned unpack_swap_bytes = 0x0CF0;
inline constexpr unsigned unpack_skip_rows = 0x0CF3;
inline constexpr unsigned unpack_skip_pixels = 0x0CF4;
inline constexpr unsigned unpack_skip_images = 0x806D;

inline constexpr unsigned red_integer = 0x8D94;
inline constexpr unsigned rg_integer = 0x8228;
inline constexpr unsigned rgba_integer = 0x8D99;
inline constexpr unsigned unsigned_byte = 0x1401;
inline constexpr unsigned unsigned_short = 0x1403;
inline constexpr unsigned unsigned_int = 0x1405;
inline constexpr unsigned r8ui = 0x8232;
inline constexpr unsigned r16ui = 0x8234;
inline constexpr unsigned r32ui = 0x8236;
inline constexpr unsigned rg32ui = 0x823C;
inline constexpr unsigned rgba32ui = 0x8D70;

}  // namespace gl
}  // namespace unibuf::backends
