// backends/opengl/transfer.cpp: uploads, downloads and fills.
#include "backends/opengl/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "backends/opengl/errors.hpp"
#include "backends/pattern.hpp"

namespace unibuf::backends {

namespace {

constexpr std::size_t seed_bytes = std::size_t{64} << 10;

std::ptrdiff_t signed_of(std::size_t value) { return static_cast<std::ptrdiff_t>(value); }

/// Clears the error flag, and lets commands after this see what shaders have written so far.
void begin(const gl_api& gl) {
    forget_errors(gl);
    gl.memory_barrier(gl::buffer_update_barrier);
}

/// Sets plain unpacking for a while: how pixels are unpacked applies to a clear's one value too, and is the caller's to
/// choose.
class plain_unpacking {
public:
    explicit plain_unpacking(const gl_api& gl) : gl_(gl) {
        for (auto& [name, value] : values_) {
            gl_.get_integer(name, &value);
            if (value != 0) gl_.pixel_store(name, 0);
        }
        gl_.get_integer(gl::pixel_unpack_buffer_binding, &buffer_);
        if (buffer_ != 0) gl_.bind_buffer(gl::pixel_unpack_buffer, 0);
    }
    ~plain_unpacking() {
        for (const auto& [name, value] : values_) {
            if (value != 0) gl_.pixel_store(name, value);
        }
        if (buffer_ != 0) gl_.bind_buffer(gl::pixel_unpack_buffer, static_cast<unsigned>(buffer_));
    }
    plain_unpacking(const plain_unpacking&) = delete;
    plain_unpacking& operator=(const plain_unpacking&) = delete;

private:
    const gl_api& gl_;
    std::array<std::pair<unsigned, int>, 4> values_{{{gl::unpack_swap_bytes, 0},
                                                     {gl::unpack_skip_rows, 0},
                                                     {gl::unpack_skip_pixels, 0},
                                                     {gl::unpack_skip_images, 0}}};
    int buffer_ = 0;
};

struct clear_format {
    std::size_t bytes;
    unsigned internal_format;
    unsigned format;
    unsigned type;
};

constexpr std::array<clear_format, 5> clear_formats{{{1, gl::r8ui, gl::red_integer, gl::unsigned_byte},
                                                     {2, gl::r16ui, gl::red_integer, gl::unsigned_short},
                                                     {4, gl::r32ui, gl::red_integer, gl::unsigned_int},
                                                     {8, gl::rg32ui, gl::rg_integer, gl::unsigned_int},
                                                     {16, gl::rgba32ui, gl::rgba_integer, gl::unsigned_int}}};

/// Returns the format to clear with: it holds the pattern, and its size divides offset and bytes, as OpenGL demands.
/// The one nearest to 4 bytes is taken, which drivers have a fast path for.
const clear_format* format_for(std::size_t pattern, std::size_t offset, std::size_t bytes) {
    const clear_format* best = nullptr;
    for (const auto& format : clear_formats) {
        if (format.bytes % pattern != 0 || offset % format.bytes != 0 || bytes % format.bytes != 0) continue;
        if (!best || format.bytes <= 4) best = &format;
    }
    return best;
}

/// Fills with any pattern: a first piece is uploaded, then what is there is copied behind itself until the range is
/// full.
void fill_by_doubling(const gl_api& gl, unsigned to, std::size_t offset, std::size_t bytes,
                      std::span<const std::byte> pattern) {
    const std::size_t repeats = std::max<std::size_t>(1, seed_bytes / pattern.size());
    std::vector<std::byte> seed(std::min(bytes, repeats * pattern.size()));
    repeat(pattern, seed);
    gl.buffer_sub_data(to, signed_of(offset), signed_of(seed.size()), seed.data());
    for (std::size_t have = seed.size(); have < bytes;) {
        const std::size_t more = std::min(have, bytes - have);
        gl.copy_buffer_sub_data(to, to, signed_of(offset), signed_of(offset + have), signed_of(more));
        have += more;
    }
}

}  // namespace

void upload(const gl_api& gl, unsigned to, std::size_t offset, std::span<const std::byte> from) {
    begin(gl);
    gl.buffer_sub_data(to, signed_of(offset), signed_of(from.size()), from.data());
    check_errors(gl, fmt::format("writing {} bytes to an OpenGL buffer", from.size()));
}

void copy(const gl_api& gl, unsigned from, std::size_t at, unsigned to, std::size_t offset, std::size_t bytes) {
    begin(gl);
    gl.copy_buffer_sub_data(from, to, signed_of(at), signed_of(offset), signed_of(bytes));
    check_errors(gl, fmt::format("copying {} bytes between OpenGL buffers", bytes));
}

void download(const gl_api& gl, unsigned from, std::size_t offset, std::span<std::byte> to) {
    begin(gl);
    gl.get_buffer_sub_data(from, signed_of(offset), signed_of(to.size()), to.data());
    check_errors(gl, fmt::format("reading {} bytes of an OpenGL buffer", to.size()));
}

void upload_rows(const gl_api& gl, unsigned to, const rectangle_copy& rows, const std::byte* host) {
    begin(gl);
    const rectangle_copy all = rows.folded();
    all.for_each_row([&](std::size_t here, std::size_t there) {
        gl.buffer_sub_data(to, signed_of(here), signed_of(all.row_bytes), host + there);
    });
    check_errors(gl, fmt::format("writing {} rows to an OpenGL buffer", all.rows()));
}

void download_rows(const gl_api& gl, unsigned from, const rectangle_copy& rows, std::byte* host) {
    begin(gl);
    const rectangle_copy all = rows.folded();
    all.for_each_row([&](std::size_t here, std::size_t there) {
        gl.get_buffer_sub_data(from, signed_of(here), signed_of(all.row_bytes), host + there);
    });
    check_errors(gl, fmt::format("reading {} rows of an OpenGL buffer", all.rows()));
}

void copy_rows_between(const gl_api& gl, unsigned from, unsigned to, const rectangle_copy& rows) {
    begin(gl);
    const rectangle_copy all = rows.folded();
    all.for_each_row([&](std::size_t here, std::size_t there) {
        gl.copy_buffer_sub_data(from, to, signed_of(there), signed_of(here), signed_of(all.row_bytes));
    });
    check_errors(gl, fmt::format("copying {} rows between OpenGL buffers", all.rows()));
}

void fill(const gl_api& gl, unsigned to, std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern) {
    begin(gl);
    const bool uniform = std::ranges::all_of(pattern, [&](std::byte one) { return one == pattern.front(); });
    if (uniform) pattern = pattern.first(1);
    if (const clear_format* format = format_for(pattern.size(), offset, bytes)) {
        std::array<std::byte, 16> value{};
        repeat(pattern, std::span(value).first(format->bytes));
        const plain_unpacking plain(gl);
        gl.clear_buffer_sub_data(to, format->internal_format, signed_of(offset), signed_of(bytes), format->format,
                                 format->type, value.data());
    } else {
        fill_by_doubling(gl, to, offset, bytes, pattern);
    }
    check_errors(gl, fmt::format("filling {} bytes of an OpenGL buffer", bytes));
}

}  // namespace unibuf::backends
