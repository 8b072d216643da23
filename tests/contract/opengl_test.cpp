// tests/contract/opengl_test.cpp: OpenGL passes the suite on a context of unibuf's own, and shares memory with shaders.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "backends/opengl/flags.hpp"
#include "backends/opengl/memory.hpp"
#include "contract/opengl_fixture.hpp"
#include "contract/wrong_queue.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf::contract {

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

namespace {

using backends::gl_mapping;

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

// A program that destroys its context takes along what the context has lent.
TEST_F(opengl_test, to_discard_the_copy_that_lends_the_memory_gives_the_host_its_own) {
    const std::uint64_t before = memory_in(where_).held;
    for (const bool device_was_used : {false, true}) {
        unified_buffer<float> numbers({5000}, {.hint = memory_hint::coherent, .device = where_});
        std::ranges::fill(numbers.write(host), 3.0F);
        if (device_was_used) {
            double_on_device(where_, opengl::name(numbers.read_write(where_)), numbers.size());
            EXPECT_EQ(code_of([&] { numbers.discard(where_); }), error_code::access_conflict) << "the host lacks it";
            numbers.sync_to_host();
        }
        float* const pointer = numbers.host();
        EXPECT_EQ(code_of([&] { numbers.discard(where_); }), error_code::access_conflict) << "a pointer is out";
        pointer[7] = 1.0F;
        numbers.release_host();
        {
            const auto view = numbers.host_view();
            EXPECT_EQ(code_of([&] { numbers.discard(where_); }), error_code::access_conflict) << "a view is out";
        }
        numbers.discard(where_);
        EXPECT_EQ(memory_in(where_).held, before);
        EXPECT_EQ(numbers.placement(host).reason, "the host's own memory");
        const float value = device_was_used ? 6.0F : 3.0F;
        EXPECT_EQ(std::ranges::count(numbers.read(host), value), 4999);
        EXPECT_EQ(numbers.read(host)[7], 1.0F);
        double_on_device(where_, opengl::name(numbers.read_write(where_)), numbers.size());
        EXPECT_EQ(std::ranges::count(numbers.read(host), 2 * value), 4999);
        numbers.discard(where_);
        EXPECT_EQ(std::ranges::count(numbers.read(host), 2 * value), 4999);
    }
    EXPECT_EQ(memory_in(where_).held, before);
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
                const auto memory = backends::make_mapped_gl_memory(shared, nullptr, 4000, how);
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
    EXPECT_EQ(code_of([&] { backends::make_mapped_gl_memory(shared, nullptr, 4096, how); }, &message),
              error_code::unsupported);
    EXPECT_NE(message.find("cannot map 4096 bytes"), std::string::npos) << message;
    EXPECT_EQ(gl_error(), gl::no_error);
}

TEST_F(opengl_test, has_no_queue_but_its_context) {
    const queue own = opengl::queue_of(where_);
    EXPECT_EQ(own.native, opengl::queue_of(where_).native);
    EXPECT_EQ(code_of([] { opengl::queue_of(host); }), error_code::invalid_argument);
    EXPECT_TRUE(device().record(own).wait());

    int nothing = 0;
    const queue some{&nothing};
    const auto memory = device().allocate_visible({.bytes = 16});
    bytes content(16);
    expect_refused(where_, some);
    EXPECT_EQ(code_of([&] { memory->write(0, content, some); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { memory->read(0, content, some); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { memory->fill(0, 16, content, some); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { memory->publish_to_host(0, 16, access::read, some); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { memory->publish_to_device(0, 16, access::read, some); }), error_code::invalid_argument);
}

}  // namespace
}  // namespace unibuf::contract

UNIBUF_CONTRACT(opengl, "opengl:0");
