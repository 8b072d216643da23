// tests/contract/opengl_test.cpp: OpenGL passes the suite on a context of unibuf's own; shares memory with shaders; and
// uses a context that the caller brings, on the thread where it is current and nowhere else.
#include "unibuf/opengl.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

#include "backends/loader.hpp"
#include "backends/opengl/api.hpp"
#include "backends/opengl/device.hpp"
#include "backends/opengl/egl.hpp"
#include "backends/opengl/flags.hpp"
#include "backends/opengl/memory.hpp"
#include "contract/contract.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf::contract {
namespace {

using namespace std::chrono_literals;
using backends::gl_api;
using backends::gl_mapping;
namespace gl = backends::gl;

/// A context as a program would make it: current where it was made, until it goes.
class callers_context {
public:
    callers_context() {
        const backends::library egl({"libEGL.so.1"});
        void* (*find)(const char*) = nullptr;
        egl.find("eglGetProcAddress", find);
        egl.find("eglMakeCurrent", make_current_);
        egl.find("eglDestroyContext", destroy_);
        unsigned (*initialize)(void*, int*, int*) = nullptr;
        unsigned (*bind)(unsigned) = nullptr;
        void* (*create)(void*, void*, void*, const int*) = nullptr;
        egl.find("eglInitialize", initialize);
        egl.find("eglBindAPI", bind);
        egl.find("eglCreateContext", create);
        const auto display = reinterpret_cast<void* (*)(unsigned, void*, const int*)>(find("eglGetPlatformDisplayEXT"));

        display_ = display(0x31DD, nullptr, nullptr);
        const std::array attributes{0x3098, 4, 0x30FB, 5, 0x30FD, 1, 0x3038};
        if (initialize(display_, nullptr, nullptr) && bind(0x30A2)) {
            context_ = create(display_, nullptr, nullptr, attributes.data());
        }
        if (!context_) throw std::runtime_error("no context could be made");
        make_current();
    }
    ~callers_context() {
        release();
        destroy_(display_, context_);
    }
    callers_context(const callers_context&) = delete;
    callers_context& operator=(const callers_context&) = delete;

    void make_current() const { make_current_(display_, nullptr, nullptr, context_); }
    void release() const { make_current_(display_, nullptr, nullptr, nullptr); }
    void* handle() const { return context_; }

private:
    unsigned (*make_current_)(void*, void*, void*, void*) = nullptr;
    unsigned (*destroy_)(void*, void*) = nullptr;
    void* display_ = nullptr;
    void* context_ = nullptr;
};

/// Functions of OpenGL that unibuf does not use.
template <class Function>
Function* find(space where, const char* name) {
    return reinterpret_cast<Function*>(opengl::function(where, name));
}

/// Doubles the floats of a buffer, in a compute shader, on the context of `where`. Says nothing of barriers or fences:
/// that is for unibuf.
void double_on_device(space where, std::uint32_t buffer, std::size_t count) {
    opengl::run(where, [&] {
        constexpr unsigned compute_shader = 0x91B9;
        constexpr unsigned shader_storage_buffer = 0x90D2;
        const char* source =
            "#version 450\n"
            "layout(local_size_x = 64) in;\n"
            "layout(std430, binding = 0) buffer block { float values[]; };\n"
            "void main() { uint i = gl_GlobalInvocationID.x; if (i < values.length()) values[i] *= 2.0; }\n";
        const unsigned program = find<unsigned(unsigned, int, const char* const*)>(where, "glCreateShaderProgramv")(
            compute_shader, 1, &source);
        find<void(unsigned)>(where, "glUseProgram")(program);
        find<void(unsigned, unsigned, unsigned)>(where, "glBindBufferBase")(shader_storage_buffer, 0, buffer);
        find<void(unsigned, unsigned, unsigned)>(where, "glDispatchCompute")(static_cast<unsigned>(count + 63) / 64, 1,
                                                                             1);
        find<void(unsigned)>(where, "glUseProgram")(0);
        find<void(unsigned)>(where, "glDeleteProgram")(program);
    });
}

backends::gl_device& gl_device_of(space where) {
    return dynamic_cast<backends::gl_device&>(backends::device_of(where));
}

class opengl_test : public ::testing::Test {
protected:
    void SetUp() override {
        try {
            where_ = space("opengl:0");
        } catch (const error& missing) {
            GTEST_SKIP() << missing.what();
        }
    }

    backends::device& device() const { return backends::device_of(where_); }
    const gl_api& api() const { return gl_device_of(where_).context().gl(); }

    unsigned gl_error() const {
        unsigned result = 0;
        opengl::run(where_, [&] { result = api().get_error(); });
        return result;
    }

    space where_;
};

/// Keeps the thread of a context busy until it is opened, or goes.
class gate {
public:
    explicit gate(space where) {
        thread_ = std::jthread([this, where] {
            opengl::run(where, [this] {
                std::unique_lock lock(mutex_);
                closed_ = true;
                changed_.notify_all();
                changed_.wait(lock, [this] { return opened_; });
            });
        });
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_; });
    }
    ~gate() { open(); }

    void open() {
        const std::lock_guard lock(mutex_);
        opened_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = false;
    bool opened_ = false;
    std::jthread thread_;
};

// Sharing.

TEST_F(opengl_test, a_shader_doubles_a_buffer_in_place) {
    unified_buffer<float> numbers({1000}, {.hint = memory_hint::coherent, .device = where_});
    {
        const auto lease = numbers.write(host);
        std::iota(lease.begin(), lease.end(), 1.0F);
    }
    for (int round = 0; round < 3; ++round) {
        const auto lease = numbers.read_write(where_);
        double_on_device(where_, opengl::name(lease), numbers.size());
    }
    const auto lease = numbers.read(host);
    for (std::size_t i = 0; i < lease.size(); ++i) ASSERT_EQ(lease[i], 8 * static_cast<float>(i + 1));
    EXPECT_EQ(numbers.statistics().bytes_moved(), 0u);
    EXPECT_EQ(numbers.placement(where_).placement, placement::shared) << numbers.placement(where_).reason;
}

TEST_F(opengl_test, a_shader_doubles_memory_that_the_host_does_not_see) {
    unified_buffer<float> numbers({1000}, {.hint = memory_hint::gpu_preferred, .device = where_});
    {
        const auto lease = numbers.write(host);
        std::iota(lease.begin(), lease.end(), 1.0F);
    }
    double_on_device(where_, opengl::name(numbers.read_write(where_)), numbers.size());
    const auto lease = numbers.read(host);
    for (std::size_t i = 0; i < lease.size(); ++i) ASSERT_EQ(lease[i], 2 * static_cast<float>(i + 1));
    EXPECT_EQ(numbers.statistics().bytes_moved(), 2 * numbers.size_bytes());
}

TEST_F(opengl_test, every_mapping_of_the_table_can_be_had_and_works) {
    auto& context = gl_device_of(where_).context();
    const std::shared_ptr<backends::gl_context> shared(&context, [](auto*) {});
    for (const auto vendor : {backends::gl_vendor::amd, backends::gl_vendor::intel, backends::gl_vendor::nvidia,
                              backends::gl_vendor::other}) {
        for (const auto access : {host_access::read_write, host_access::read_only, host_access::write_only}) {
            for (const auto hint : {memory_hint::none, memory_hint::cpu_preferred, memory_hint::gpu_preferred,
                                    memory_hint::coherent, memory_hint::streaming}) {
                const gl_mapping how = backends::mapping_for(vendor, access, hint);
                const auto memory = backends::make_mapped_gl_memory(shared, 4000, how);
                auto* numbers = reinterpret_cast<float*>(memory->host_address());
                ASSERT_NE(numbers, nullptr) << how.description;
                const std::vector<float> ones(1000, 1.0F);
                if (access == host_access::read_only) {
                    put(*memory, 0, std::as_bytes(std::span(ones)));
                } else {
                    memory->publish_to_host(0, 4000, access::write, {}).wait();
                    std::ranges::copy(ones, numbers);
                }
                memory->publish_to_device(0, 4000, access::read_write, {}).wait();
                double_on_device(where_, static_cast<std::uint32_t>(memory->handle()), 1000);
                device().record({}).wait();
                memory->publish_to_host(0, 4000, access::read, {}).wait();
                const std::vector<float> twos(1000, 2.0F);
                const auto wanted = std::as_bytes(std::span(twos));
                EXPECT_TRUE(same(get(*memory, 0, 4000), wanted)) << how.description;
                if (access != host_access::write_only) {
                    EXPECT_TRUE(same({memory->host_address(), 4000}, wanted)) << how.description;
                }
                EXPECT_EQ(gl_error(), gl::no_error) << how.description;
            }
        }
    }
}

TEST_F(opengl_test, fills_as_asked_however_the_program_unpacks_pixels) {
    constexpr unsigned unpack_swap_bytes = 0x0CF0;
    constexpr unsigned unpack_skip_pixels = 0x0CF4;
    const auto set = [&](int value) {
        opengl::run(where_, [&] {
            api().pixel_store(unpack_swap_bytes, value);
            api().pixel_store(unpack_skip_pixels, value);
        });
    };
    set(1);
    const auto memory = device().allocate({.bytes = 4096});
    for (const std::size_t count : {2u, 4u, 8u, 16u}) {
        const bytes pattern = noise(count);
        memory->fill(0, 4096, pattern, {}).wait();
        EXPECT_TRUE(same(get(*memory, 0, 4096), repeated(pattern, 4096))) << count;
    }
    int kept = 0;
    opengl::run(where_, [&] { api().get_integer(unpack_skip_pixels, &kept); });
    EXPECT_EQ(kept, 1);
    set(0);
}

TEST_F(opengl_test, is_not_confused_by_errors_of_the_program) {
    opengl::run(where_, [&] { api().bind_buffer(0xBAD, 1); });
    const auto memory = device().allocate({.bytes = 4096});
    opengl::run(where_, [&] { api().bind_buffer(0xBAD, 1); });
    put(*memory, 0, noise(4096));
    opengl::run(where_, [&] { api().bind_buffer(0xBAD, 1); });
    EXPECT_TRUE(same(get(*memory, 0, 4096), noise(4096)));
}

TEST_F(opengl_test, memory_that_cannot_be_had_names_the_bytes_and_the_device) {
    for (const std::size_t size : {std::size_t{5} << 30, std::size_t{1} << 40}) {
        if (!gl_device_of(where_).context().platform().software) GTEST_SKIP() << "this device may have it";
        for (const bool visible : {false, true}) {
            std::string message;
            const auto call = [&] {
                visible ? device().allocate_visible({.bytes = size}) : device().allocate({.bytes = size});
            };
            EXPECT_EQ(code_of(call, &message), error_code::out_of_memory);
            EXPECT_NE(message.find(std::to_string(size)), std::string::npos) << message;
            EXPECT_NE(message.find(device().about().description), std::string::npos) << message;
        }
    }
}

TEST_F(opengl_test, a_mapping_that_cannot_be_had_says_so_and_leaves_nothing) {
    auto& context = gl_device_of(where_).context();
    const std::shared_ptr<backends::gl_context> shared(&context, [](auto*) {});
    gl_mapping how = backends::mapping_for(backends::gl_vendor::other, host_access::read_write, memory_hint::none);
    how.storage &= ~gl::map_coherent;
    std::string message;
    EXPECT_EQ(code_of([&] { backends::make_mapped_gl_memory(shared, 4096, how); }, &message), error_code::unsupported);
    EXPECT_NE(message.find("cannot map 4096 bytes"), std::string::npos) << message;
    EXPECT_EQ(gl_error(), gl::no_error);
}

TEST_F(opengl_test, has_no_queues) {
    int nothing = 0;
    const queue some{&nothing};
    const auto memory = device().allocate_visible({.bytes = 16});
    bytes content(16);
    EXPECT_EQ(code_of([&] { device().record(some); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { memory->write(0, content, some); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { memory->read(0, content, some); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { memory->fill(0, 16, content, some); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { memory->publish_to_host(0, 16, access::read, some); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { memory->publish_to_device(0, 16, access::read, some); }), error_code::invalid_argument);
}

// Running on the context.

TEST_F(opengl_test, runs_on_one_thread_for_all_and_passes_on_what_is_thrown) {
    std::atomic<int> inside = 0;
    std::atomic<int> done = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < 200; ++i) {
                    try {
                        opengl::run(where_, [&] {
                            EXPECT_EQ(++inside, 1);
                            EXPECT_TRUE(gl_device_of(where_).context().here());
                            --inside;
                            if (i % 10 == t) throw i;
                            ++done;
                        });
                    } catch (int thrown) {
                        EXPECT_EQ(thrown, i);
                        ++done;
                    }
                }
            });
        }
    }
    EXPECT_EQ(done, 8 * 200);
}

TEST_F(opengl_test, runs_within_a_run_and_moves_bytes_there) {
    const bytes content = noise(5000);
    opengl::run(where_, [&] {
        opengl::run(where_, [&] {
            const auto memory = device().allocate({.bytes = 5000});
            put(*memory, 0, content);
            EXPECT_TRUE(same(get(*memory, 0, 5000), content));
        });
        EXPECT_EQ(opengl::use_current_context(), where_);
    });
}

TEST_F(opengl_test, a_run_may_wait_for_work_that_is_queued_behind_it) {
    fence behind;
    std::atomic<bool> posted = false;
    std::jthread other;
    opengl::run(where_, [&] {
        other = std::jthread([&] {
            behind = device().record({});
            posted = true;
        });
        while (!posted) std::this_thread::yield();
        EXPECT_TRUE(behind.wait(60s));
    });
}

TEST_F(opengl_test, fences_keep_to_their_timeout) {
    std::optional<gate> busy(std::in_place, where_);
    const fence recorded = device().record({});
    EXPECT_FALSE(recorded.done());
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(recorded.wait(30ms));
    const auto waited = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(waited, 30ms);
    EXPECT_LT(waited, 10s);
    busy->open();
    EXPECT_TRUE(recorded.wait(60s));
    EXPECT_TRUE(recorded.done());
}

TEST_F(opengl_test, many_fences_may_be_dropped_unwaited) {
    const auto memory = device().allocate({.bytes = 64});
    const bytes content = noise(64);
    {
        const gate busy(where_);
        for (int i = 0; i < 20000; ++i) memory->write(0, content, {});
    }
    EXPECT_TRUE(device().record({}).wait(60s));
    EXPECT_TRUE(same(get(*memory, 0, 64), content));
}

TEST_F(opengl_test, knows_its_own_spaces_only) {
    EXPECT_EQ(code_of([&] { opengl::run(host, [] {}); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { opengl::function(host, "glFinish"); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { opengl::name(native_memory{}); }), error_code::invalid_argument);
    EXPECT_NE(opengl::function(where_, "glFinish"), nullptr);
}

TEST_F(opengl_test, a_child_process_is_told_and_ends_well) {
    const auto memory = device().allocate({.bytes = 64});
    const fence before = device().record({});
    before.wait();
    const ::pid_t child = ::fork();
    if (child == 0) {
        bool told = before.done();
        try {
            memory->fill(0, 64, bytes(1), {}).wait();
            told = false;
        } catch (const error& failure) {
            told = told && failure.code() == error_code::device_lost;
        }
        std::_Exit(told ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    put(*memory, 0, noise(64));
}

// The caller's context.

TEST_F(opengl_test, leaves_the_callers_context_current) {
    const callers_context mine;
    const auto memory = device().allocate_visible({.bytes = 64});
    put(*memory, 0, noise(64));
    opengl::run(where_, [] {});
    EXPECT_EQ(backends::egl::get().current_context(), mine.handle());
}

TEST_F(opengl_test, adopts_the_callers_context) {
    const callers_context mine;
    const space adopted = opengl::use_current_context();
    EXPECT_NE(adopted, where_);
    EXPECT_EQ(opengl::use_current_context(), adopted);
    EXPECT_EQ(backends::device_of(adopted).about().description, device().about().description);

    const auto thread = std::this_thread::get_id();
    opengl::run(adopted, [&] { EXPECT_EQ(std::this_thread::get_id(), thread); });
    EXPECT_THROW(opengl::run(adopted, [] { throw std::runtime_error("mine"); }), std::runtime_error);

    for (const auto hint : {memory_hint::coherent, memory_hint::gpu_preferred}) {
        unified_buffer<float> numbers({1000}, {.hint = hint, .device = adopted});
        numbers.fill(3.0F);
        double_on_device(adopted, opengl::name(numbers.read_write(adopted)), numbers.size());
        for (const float each : numbers.read(host)) ASSERT_EQ(each, 6.0F);
    }
}

TEST_F(opengl_test, works_on_the_callers_context_where_it_is_current_only) {
    const callers_context mine;
    const space adopted = opengl::use_current_context();
    auto& there = backends::device_of(adopted);
    auto memory = there.allocate({.bytes = 64});
    put(*memory, 0, noise(64));
    const fence recorded = there.record({});

    std::string message;
    bytes got(64);
    mine.release();
    EXPECT_EQ(code_of([&] { memory->read(0, got, {}); }, &message), error_code::device_unavailable);
    EXPECT_NE(message.find(adopted.name()), std::string::npos) << message;
    EXPECT_NE(message.find("no context is current"), std::string::npos) << message;
    EXPECT_EQ(code_of([&] { there.record({}); }), error_code::device_unavailable);
    EXPECT_EQ(code_of([&] { there.allocate({.bytes = 64}); }), error_code::device_unavailable);
    {
        const callers_context another;
        EXPECT_EQ(code_of([&] { memory->read(0, got, {}); }, &message), error_code::device_unavailable);
        EXPECT_NE(message.find("is current"), std::string::npos) << message;
        EXPECT_EQ(message.find("no context"), std::string::npos) << message;
    }
    mine.make_current();
    std::jthread([&] { EXPECT_EQ(code_of([&] { memory->read(0, got, {}); }), error_code::device_unavailable); }).join();
    EXPECT_TRUE(recorded.wait(60s));
    EXPECT_TRUE(same(get(*memory, 0, 64), noise(64)));
}

TEST_F(opengl_test, frees_in_the_callers_context_when_it_is_next_used) {
    const callers_context mine;
    const space adopted = opengl::use_current_context();
    const gl_api& mine_api = gl_device_of(adopted).context().gl();
    auto memory = backends::device_of(adopted).allocate({.bytes = 64});
    auto again = backends::device_of(adopted).allocate_visible({.bytes = 64});
    const unsigned first = static_cast<unsigned>(memory->handle());
    const unsigned second = static_cast<unsigned>(again->handle());
    std::jthread([&] { memory.reset(); }).join();
    EXPECT_TRUE(mine_api.is_buffer(first));
    opengl::run(adopted, [&] { EXPECT_FALSE(mine_api.is_buffer(first)); });
    again.reset();
    EXPECT_FALSE(mine_api.is_buffer(second));
}

TEST_F(opengl_test, needs_a_context_to_adopt) {
    std::string message;
    EXPECT_EQ(code_of([] { opengl::use_current_context(); }, &message), error_code::device_unavailable);
    EXPECT_NE(message.find("no OpenGL context is current"), std::string::npos) << message;
}

TEST_F(opengl_test, a_context_with_the_handle_of_another_is_another) {
    std::vector<space> seen;
    std::vector<std::unique_ptr<backends::memory>> left;
    void* handle = nullptr;
    for (int i = 0; i < 3; ++i) {
        const callers_context mine;
        const space adopted = opengl::use_current_context();
        for (const space before : seen) EXPECT_NE(adopted, before);
        if (mine.handle() == handle) {
            EXPECT_EQ(code_of([&] { backends::device_of(seen.back()).record({}); }), error_code::device_lost);
        }
        handle = mine.handle();
        seen.push_back(adopted);

        auto kept = backends::device_of(adopted).allocate({.bytes = 64});
        put(*kept, 0, noise(64));
        left.clear();  // of the context before: its names may be ours now
        EXPECT_TRUE(same(get(*kept, 0, 64), noise(64)));
        left.push_back(std::move(kept));
    }
}

}  // namespace
}  // namespace unibuf::contract

UNIBUF_CONTRACT(opengl, "opengl:0");
