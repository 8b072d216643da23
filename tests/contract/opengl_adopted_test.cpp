// tests/contract/opengl_adopted_test.cpp: a context that the caller brings is used on the thread where it is current
// and nowhere else, and is left as it was.
#include <array>
#include <stdexcept>
#include <thread>

#include "backends/opengl/egl.hpp"
#include "contract/callers_context.hpp"
#include "contract/opengl_fixture.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf::contract {
namespace {

using namespace std::chrono_literals;
using backends::gl_api;

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

TEST_F(opengl_test, leaves_the_state_of_the_callers_context_as_it_was) {
    const callers_context mine;
    const space adopted = opengl::use_current_context();
    const gl_api& calls = gl_device_of(adopted).context().gl();
    unsigned own = 0;
    calls.create_buffers(1, &own);
    calls.buffer_storage(own, 64, nullptr, 0);
    // Each binding stands with what asks for it: array, copy read and write, pixel pack and unpack, uniform, shader
    // storage.
    constexpr std::array<std::pair<unsigned, unsigned>, 7> bindings{{{0x8892, 0x8894},
                                                                     {0x8F36, 0x8F36},
                                                                     {0x8F37, 0x8F37},
                                                                     {0x88EB, 0x88ED},
                                                                     {0x88EC, 0x88EF},
                                                                     {0x8A11, 0x8A28},
                                                                     {0x90D2, 0x90D3}}};
    constexpr std::array<unsigned, 4> unpacking{gl::unpack_swap_bytes, gl::unpack_skip_rows, gl::unpack_skip_pixels,
                                                gl::unpack_skip_images};
    for (const auto& [target, name] : bindings) calls.bind_buffer(target, own);
    for (const unsigned name : unpacking) calls.pixel_store(name, 1);

    auto& there = backends::device_of(adopted);
    for (const bool visible : {false, true}) {
        const auto memory = visible ? there.allocate_visible({.bytes = 4096}) : there.allocate({.bytes = 4096});
        put(*memory, 0, noise(4096));
        memory->fill(0, 4096, noise(4), {}).wait();
        memory->fill(1, 3 * 1001, noise(3), {}).wait();
        EXPECT_TRUE(same(get(*memory, 1, 3 * 1001), repeated(noise(3), 3 * 1001)));
        there.record({}).wait();
    }

    int value = 0;
    for (const auto& [target, name] : bindings) {
        calls.get_integer(name, &value);
        EXPECT_EQ(static_cast<unsigned>(value), own) << target;
    }
    for (const unsigned name : unpacking) {
        calls.get_integer(name, &value);
        EXPECT_EQ(value, 1) << name;
    }
    EXPECT_EQ(calls.get_error(), gl::no_error);
}

TEST_F(opengl_test, frees_and_writes_nothing_in_a_context_that_took_the_handle_of_another) {
    const callers_context mine;
    const space adopted = opengl::use_current_context();
    const gl_api& calls = gl_device_of(adopted).context().gl();
    auto memory = backends::device_of(adopted).allocate({.bytes = 64});
    const auto name = static_cast<unsigned>(memory->handle());
    buffer numbers(64, {.hint = memory_hint::gpu_preferred, .device = adopted});
    numbers.copy_from(noise(64, 1), adopted);
    numbers.sync_to_host();
    numbers.write(host)[0] = std::byte{1};

    // Such a context lacks the mark by which the adopted one is known.
    for (unsigned each = 1; each < name; ++each) {
        std::array<char, 64> label{};
        if (calls.is_buffer(each)) calls.get_object_label(gl::buffer_object, each, 64, nullptr, label.data());
        if (std::string_view(label.data()).starts_with("unibuf")) calls.delete_buffers(1, &each);
    }
    EXPECT_EQ(code_of([&] { numbers.read(adopted); }), error_code::device_lost) << "it would write a buffer of others";
    memory.reset();
    EXPECT_TRUE(calls.is_buffer(name));
    EXPECT_EQ(code_of([&] { opengl::run(adopted, [] {}); }), error_code::device_lost);
    EXPECT_NE(opengl::use_current_context(), adopted);
}

// Programs end a window, and its context, before they are done with what it made.
TEST_F(opengl_test, memory_that_a_context_lent_outlives_it) {
    for (const bool pointer_is_out : {false, true}) {
        auto mine = std::make_unique<callers_context>();
        const space adopted = opengl::use_current_context();
        unified_buffer<float> numbers({100'000}, {.hint = memory_hint::coherent, .device = adopted});
        numbers.fill(3.0F);
        double_on_device(adopted, opengl::name(numbers.read_write(adopted)), numbers.size());
        EXPECT_EQ(numbers.placement(adopted).placement, placement::shared);
        float* const pointer = pointer_is_out ? numbers.host() : nullptr;
        numbers.sync_to_host();
        void* const handle = mine->handle();
        mine.reset();
        EXPECT_EQ(std::ranges::count(numbers.read(host), 6.0F), 100'000);
        if (pointer) pointer[7] = 1.0F;
        numbers.write(host)[8] = 2.0F;
        EXPECT_EQ(code_of([&] { opengl::run(adopted, [] {}); }), error_code::device_lost);
        EXPECT_EQ(numbers.read(host)[7], pointer ? 1.0F : 6.0F);
        EXPECT_EQ(numbers.read(host)[8], 2.0F);
        const callers_context later;
        const space another = opengl::use_current_context();
        EXPECT_NE(another, adopted);
        EXPECT_EQ(numbers.read(host)[99'999], 6.0F);
        if (later.handle() != handle) continue;
        EXPECT_EQ(code_of([&] { opengl::run(adopted, [] {}); }), error_code::device_lost);
    }
}

TEST_F(opengl_test, memory_outlives_a_context_that_tells_no_errors_and_one_of_a_thread_that_makes_others_of_es) {
    const system::library egl({"libEGL.so.1"});
    unsigned (*bind)(unsigned) = nullptr;
    unsigned (*bound)() = nullptr;
    ASSERT_TRUE(egl.find("eglBindAPI", bind) && egl.find("eglQueryAPI", bound));
    constexpr unsigned es = 0x30A0, desktop = 0x30A2;
    for (const bool tells_errors : {true, false}) {
        auto mine = std::make_unique<callers_context>(tells_errors);
        const space adopted = opengl::use_current_context();
        bind(es);
        unified_buffer<float> numbers({100'000}, {.hint = memory_hint::coherent, .device = adopted});
        numbers.fill(3.0F);
        numbers.read(adopted).release();
        EXPECT_EQ(numbers.placement(adopted).placement, placement::shared);
        EXPECT_EQ(bound(), es);
        bind(desktop);
        numbers.sync_to_host();
        mine.reset();
        EXPECT_EQ(std::ranges::count(numbers.read(host), 3.0F), 100'000);
    }
}

TEST_F(opengl_test, what_its_context_is_not_current_for_is_refused_and_loses_nothing) {
    auto mine = std::make_unique<callers_context>();
    const space adopted = opengl::use_current_context();
    unified_buffer<float> numbers({1000}, {.hint = memory_hint::coherent, .device = adopted});
    numbers.fill(3.0F);
    numbers.read_write(adopted).release();
    std::thread([&] {
        EXPECT_EQ(code_of([&] { numbers.read_write(adopted); }), error_code::device_unavailable);
    }).join();
    numbers.sync_to_host();
    numbers.read_write(adopted).release();
    auto held = numbers.read_write(adopted);
    mine.reset();
    held.release();
    EXPECT_EQ(code_of([&] { numbers.read_write(adopted); }), error_code::device_lost);
    EXPECT_EQ(std::ranges::count(numbers.read(host), 3.0F), 1000);
    numbers.write(host)[5] = 4.0F;
    EXPECT_EQ(numbers.read(host)[5], 4.0F);
}

TEST_F(opengl_test, needs_a_context_to_adopt) {
    std::string message;
    EXPECT_EQ(code_of([] { opengl::use_current_context(); }, &message), error_code::device_unavailable);
    EXPECT_NE(message.find("no OpenGL context is current"), std::string::npos) << message;
}

/// A program may make a context for each job.
TEST_F(opengl_test, gives_the_numbers_of_spaces_back_whose_contexts_were_destroyed) {
    buffer in_use(100, {.hint = memory_hint::gpu_preferred});
    std::string name;
    {
        const callers_context also;
        const space where = opengl::use_current_context();
        in_use.fill(std::array{std::byte{7}}, where);  // its memory keeps the space, though the context goes
        name = where.name();
    }
    for (std::size_t job = 0; job < 2 * max_spaces; ++job) {
        const callers_context mine;
        const space where = opengl::use_current_context();
        EXPECT_NE(where.name(), name);
        buffer used(5000, {.hint = memory_hint::gpu_preferred, .device = where});
        used.fill(std::array{std::byte{1}}, where);
        used.read_write(where).release();
        const fence done = record_fence(where, {});
        mine.release();
        if (job % 2 == 0) continue;  // it is freed while its context is not current
        mine.make_current();
        ASSERT_EQ(used.read(host)[4999], std::byte{1});
    }
    EXPECT_EQ(code_of([&] { in_use.read(host); }), error_code::device_lost);
}

TEST_F(opengl_test, a_context_with_the_handle_of_another_is_another) {
    std::vector<space> seen;
    std::vector<std::unique_ptr<backends::memory>> left;
    void* handle = nullptr;
    for (int i = 0; i < 3; ++i) {
        const callers_context mine;
        if (mine.handle() == handle) {
            EXPECT_EQ(code_of([&] { backends::device_of(seen.back()).record({}); }), error_code::device_lost);
        }
        const space adopted = opengl::use_current_context();
        for (const space before : seen) EXPECT_NE(adopted, before);
        handle = mine.handle();
        seen.push_back(adopted);

        auto kept = backends::device_of(adopted).allocate({.bytes = 64});
        put(*kept, 0, noise(64));
        left.clear();  // clears names of the context before, which may be ours now
        EXPECT_TRUE(same(get(*kept, 0, 64), noise(64)));
        left.push_back(std::move(kept));
    }
}

}  // namespace
}  // namespace unibuf::contract
