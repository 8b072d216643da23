// bench/opencl.hpp: the OpenCL driver's own calls, as a program without the library makes them. Each waits until its
// work is done, and throws std::runtime_error where it fails.
#pragma once

#include <cstddef>
#include <span>

#include <unibuf/opencl.hpp>

struct _cl_program;

namespace bench::opencl {

using queue = _cl_command_queue*;
using memory = _cl_mem*;

/// Calls clEnqueueWriteBuffer, to the bytes of `to` from `offset` on.
void write(queue on, memory to, std::span<const std::byte> from, std::size_t offset = 0);

/// Calls clEnqueueReadBuffer, from the bytes of `from` from `offset` on.
void read(queue on, memory from, std::span<std::byte> to, std::size_t offset = 0);

/// Rows of an array. At the host they are as far apart as at the device, or one behind the other.
struct rectangle {
    std::size_t row_bytes;
    std::size_t rows;
    std::size_t pitch;
    std::size_t offset;   // of the first row, from the first byte of the array
    bool packed = false;  // at the host
};

// These call clEnqueueWriteBufferRect and clEnqueueReadBufferRect. `host` is the first byte of the array there, or that
// of the packed rows.
void write_rectangle(queue on, memory to, const std::byte* host, const rectangle& of);
void read_rectangle(queue on, memory from, std::byte* host, const rectangle& of);

/// Calls clEnqueueFillBuffer, and does not wait.
void fill(queue on, memory to, std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern);
template <class T>
void fill(queue on, memory to, std::size_t offset, std::size_t bytes, const T& value) {
    fill(on, to, offset, bytes, std::as_bytes(std::span(&value, 1)));
}

/// Calls clEnqueueCopyBuffer, and does not wait.
void copy(queue on, memory from, memory to, std::size_t bytes);

/// Makes a cl_mem, of `host` where that is not null, by CL_MEM_USE_HOST_PTR.
memory create(_cl_context* in, std::size_t bytes, void* host = nullptr);
void release(memory gone) noexcept;

/// A cl_mem with an end.
class owned {
public:
    owned(_cl_context* in, std::size_t bytes) : native_(create(in, bytes)) {}
    ~owned() { release(native_); }
    owned(const owned&) = delete;
    owned& operator=(const owned&) = delete;

    memory get() const noexcept { return native_; }

private:
    memory native_;
};

/// Calls clEnqueueMapBuffer for reading and writing all of it, and clEnqueueUnmapMemObject.
void* map(queue on, memory of, std::size_t bytes);
void unmap(queue on, memory of, void* mapped);

void finish(queue on);

/// Makes a context of one device, and a queue in it. Both are released by their release().
_cl_context* create_context(_cl_device_id* on);
queue create_queue(_cl_context* in, _cl_device_id* on);
void release(_cl_context* gone) noexcept;
void release(queue gone) noexcept;

/// A kernel whose arguments are all memories.
class kernel {
public:
    kernel(_cl_context* in, _cl_device_id* on, const char* source, const char* name);
    ~kernel();
    kernel(const kernel&) = delete;
    kernel& operator=(const kernel&) = delete;

    /// Runs so many items, and waits for them.
    void run(queue on, std::size_t items, std::span<const memory> arguments) const;

private:
    _cl_program* program_;
    _cl_kernel* native_;
};

}  // namespace bench::opencl
