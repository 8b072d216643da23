// conv2d/opengl.cpp: the convolution on an OpenGL device.
#include "unibuf/opengl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "job.hpp"
#include "opengl_api.hpp"
#include "opengl_kernel.hpp"
#include "unibuf/error.hpp"

namespace conv2d::opengl {
namespace {

std::ptrdiff_t signed_of(std::size_t bytes) noexcept { return static_cast<std::ptrdiff_t>(bytes); }

/// A context, and the functions that are called there.
class context {
public:
    explicit context(unibuf::space where) : where_(where), gl_(gl::load(where)) {}

    const gl::functions& gl() const noexcept { return gl_; }
    void run(const std::function<void()>& work) const { unibuf::opengl::run(where_, work); }

    /// Runs `work` for a destructor. Where the context is lost, what was made there is gone already.
    void run_if_possible(const std::function<void()>& work) const noexcept {
        try {
            run(work);
        } catch (const std::exception&) {
        }
    }

private:
    unibuf::space where_;
    gl::functions gl_;
};

/// A buffer, or a part of one, that a shader uses.
struct binding {
    unsigned name = 0;
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

binding binding_of(const unibuf::native_memory& copy) {
    return {.name = unibuf::opengl::name(copy), .offset = copy.offset, .bytes = copy.bytes};
}

static_assert(opengl_tile.width == 4, "the shader stores quads");

/// Returns the definition of SUM(i) in the shader.
std::string weighted_sum(const filter& by) {
    std::string sum;
    std::size_t next = 0;
    for (int y = 0; y < by.side(); ++y) {
        for (int x = 0; x < by.side(); ++x) {
            sum += fmt::format("{}{:#.9g} * near[i + {}]", sum.empty() ? "" : " + ", by.weights[next++],
                               y * (opengl_tile.width + 2 * by.radius) + x);
        }
    }
    return sum;
}

std::string source_for(const order& of) {
    const std::array defines = {
        fmt::format("RADIUS {}", of.by.radius),       fmt::format("SUM(i) ({})", weighted_sum(of.by)),
        fmt::format("WIDTH {}", of.size.width),       fmt::format("HEIGHT {}", of.size.height),
        fmt::format("COLUMNS {}", opengl_tile.width), fmt::format("ROWS {}", opengl_tile.height),
        fmt::format("GROUP {}", opengl_group),
    };
    std::string source = "#version 450\n";
    for (const std::string& each : defines) source += fmt::format("#define {}\n", each);
    return source + opengl_kernel;
}

/// A shader that is built for one filter and one size.
class program {
public:
    explicit program(const order& of) : on_(of.where), size_(of.size) {
        const std::string source = source_for(of);
        on_.run([&] {
            check_room(of.where, of.size.pixels() * sizeof(float));
            build(source);
        });
    }
    ~program() {
        on_.run_if_possible([&] { gl().glDeleteProgram(program_); });
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    const context& on() const noexcept { return on_; }

    /// Queues the shader, on the context's thread.
    void dispatch(const binding& from, const binding& to) const {
        const auto groups = [](int pixels, int each) { return static_cast<unsigned>((pixels + each - 1) / each); };
        bind(0, from);
        bind(1, to);
        gl().glUseProgram(program_);
        gl().glDispatchCompute(groups(size_.width, opengl_tile.width * opengl_group),
                               groups(size_.height, opengl_tile.height), 1);
        gl().glUseProgram(0);
        check(gl(), "glDispatchCompute");
    }

private:
    const gl::functions& gl() const noexcept { return on_.gl(); }

    void check_room(unibuf::space where, std::size_t bytes) const {
        std::int64_t most = 0;
        gl().glGetInteger64v(gl::max_shader_storage_block_size, &most);
        if (signed_of(bytes) <= most) return;
        throw unibuf::error(unibuf::error_code::unsupported,
                            fmt::format("{} lets a shader use {} MiB at once, and the picture has {}", where.name(),
                                        most >> 20U, bytes >> 20U));
    }

    void build(const std::string& source) {
        const char* const text = source.c_str();
        program_ = gl().glCreateShaderProgramv(gl::compute_shader, 1, &text);
        int linked = 0;
        if (program_ != 0) gl().glGetProgramiv(program_, gl::link_status, &linked);
        if (linked != 0) return;
        std::string log(4096, '\0');
        int length = 0;
        if (program_ != 0) gl().glGetProgramInfoLog(program_, static_cast<int>(log.size()), &length, log.data());
        log.resize(static_cast<std::size_t>(length));
        gl().glDeleteProgram(program_);
        throw std::runtime_error("the OpenGL shader does not compile: " + log);
    }

    void bind(unsigned index, const binding& to) const {
        gl().glBindBufferRange(gl::shader_storage_buffer, index, to.name, signed_of(to.offset), signed_of(to.bytes));
    }

    context on_;
    extent size_;
    unsigned program_ = 0;
};

/// A buffer of OpenGL, made of `content` or of nothing yet.
class device_buffer {
public:
    device_buffer(tally& in, const context& on, std::size_t bytes, const void* content, unsigned usage)
        : device_buffer(in, on, bytes) {
        on_.run([&] {
            on_.gl().glNamedBufferData(name_, signed_of(bytes), content, usage);
            check(on_.gl(), "glNamedBufferData");
        });
    }
    ~device_buffer() {
        on_.run_if_possible([&] { on_.gl().glDeleteBuffers(1, &name_); });
    }
    device_buffer(const device_buffer&) = delete;
    device_buffer& operator=(const device_buffer&) = delete;

    binding all() const noexcept { return {.name = name_, .offset = 0, .bytes = bytes_}; }

    /// Writes the buffer, on the context's thread.
    void write(std::span<const float> from) const {
        on_.gl().glNamedBufferSubData(name_, 0, signed_of(from.size_bytes()), from.data());
        check(on_.gl(), "glNamedBufferSubData");
    }

    /// Reads the buffer, on the context's thread. The host stops here, until all work before is done.
    void read(std::span<float> to) const {
        on_.gl().glMemoryBarrier(gl::buffer_update_barrier);
        on_.gl().glGetNamedBufferSubData(name_, 0, signed_of(to.size_bytes()), to.data());
        check(on_.gl(), "glGetNamedBufferSubData");
    }

private:
    device_buffer(tally& in, const context& on, std::size_t bytes) : held_(in, bytes), on_(on), bytes_(bytes) {
        on_.run([&] { on_.gl().glCreateBuffers(1, &name_); });
    }

    held_bytes held_;
    const context& on_;
    std::size_t bytes_;
    unsigned name_ = 0;
};

class copying final : public job_on_arrays {
public:
    explicit copying(const order& of) : job_on_arrays(of.counts, of.size), shader_(of), size_(of.size) {}

    void convolve() override {
        const pixel_array temporary_input(counts(), size_.pixels());
        const pixel_array temporary_output(counts(), size_.pixels());
        copy(counts(), input(), temporary_input.span());
        const context& on = shader_.on();
        on.run([&] {
            const device_buffer from(counts(), on, bytes(), temporary_input.data(), gl::dynamic_draw);
            const device_buffer to(counts(), on, bytes(), nullptr, gl::dynamic_read);
            shader_.dispatch(from.all(), to.all());
            to.read(temporary_output.span());
        });
        counts().copied += 2 * bytes();
        ++counts().waits;
        copy(counts(), temporary_output.span(), output());
    }

private:
    program shader_;
    extent size_;
};

class careful final : public job_on_arrays {
public:
    explicit careful(const order& of)
        : job_on_arrays(of.counts, of.size),
          shader_(of),
          from_(of.counts, shader_.on(), bytes(), nullptr, gl::dynamic_draw),
          to_(of.counts, shader_.on(), bytes(), nullptr, gl::dynamic_read) {}

    void convolve() override {
        shader_.on().run([&] {
            from_.write(input());
            shader_.dispatch(from_.all(), to_.all());
            to_.read(output());
        });
        counts().copied += 2 * bytes();
        ++counts().waits;
    }

private:
    program shader_;
    device_buffer from_;
    device_buffer to_;
};

class zero_copy final : public job_on_buffers {
public:
    explicit zero_copy(const order& of) : job_on_buffers(of.where, of.size), shader_(of) {}

    void convolve() override {
        const unibuf::access_options on_queue{.on = unibuf::opengl::queue_of(where())};
        const auto from = input().read(where(), on_queue);
        const auto to = output().write(where(), on_queue);
        shader_.on().run([&] { shader_.dispatch(binding_of(from.native()), binding_of(to.native())); });
    }

private:
    program shader_;
};

}  // namespace

std::unique_ptr<job> make_job(const order& of) { return make_job_of<copying, careful, zero_copy>(of); }

}  // namespace conv2d::opengl
