// tests/contract/opengl_kept_test.cpp: buffer objects of unibuf's own context that were freed serve again.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "contract/opengl_fixture.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf::contract {
namespace {

class opengl_kept_test : public opengl_test {
protected:
    void SetUp() override {
        opengl_test::SetUp();
        if (!IsSkipped()) trim_memory(where_);
    }

    static unsigned name_of(const backends::memory& of) { return static_cast<unsigned>(of.handle()); }

    /// Waits until what was freed before is kept.
    void settle() const { device().record({}).wait(); }

    bool lives(unsigned name) const {
        bool found = false;
        opengl::run(where_, [&] { found = api().is_buffer(name) != 0; });
        return found;
    }

    unsigned number(unsigned what) const {
        int value = 0;
        opengl::run(where_, [&] { api().get_integer(what, &value); });
        return static_cast<unsigned>(value);
    }

    unsigned bound(unsigned binding, unsigned index) const {
        int value = 0;
        opengl::run(where_, [&] { api().get_indexed_integer(binding, index, &value); });
        return static_cast<unsigned>(value);
    }
};

TEST_F(opengl_kept_test, one_that_was_freed_serves_the_next_of_its_kind) {
    auto mapped = device().allocate_visible({.bytes = 12288});
    auto unmapped = device().allocate({.bytes = 12288});
    const unsigned first = name_of(*mapped);
    const unsigned second = name_of(*unmapped);
    std::byte* const address = mapped->host_address();
    mapped.reset();
    unmapped.reset();
    settle();

    const auto other_size = device().allocate_visible({.bytes = 12352});
    EXPECT_NE(name_of(*other_size), first);
    unmapped = device().allocate({.bytes = 12288});
    EXPECT_EQ(name_of(*unmapped), second);
    mapped = device().allocate_visible({.bytes = 12288});
    EXPECT_EQ(name_of(*mapped), first);
    EXPECT_EQ(mapped->host_address(), address);
    EXPECT_NE(name_of(*device().allocate_visible({.bytes = 12288})), first) << "it was given out twice";
}

TEST_F(opengl_kept_test, a_buffer_in_one_is_zero) {
    for (const memory_hint hint : {memory_hint::coherent, memory_hint::gpu_preferred}) {
        trim_memory(where_);
        unsigned name = 0;
        for (int round = 0; round < 3; ++round) {
            {
                unified_buffer<float> numbers({3000}, {.hint = hint, .device = where_});
                if (round != 1) {
                    EXPECT_EQ(std::ranges::count(numbers.read(host), 0.0F), 3000) << round;
                }
                double_on_device(where_, opengl::name(numbers.read_write(where_)), 3000);
                EXPECT_EQ(std::ranges::count(numbers.read(host), 0.0F), 3000) << round;
                std::ranges::fill(numbers.write(host), 1.0F);
                const unsigned used = opengl::name(numbers.read_write(where_));
                if (round != 0) {
                    ASSERT_EQ(used, name) << "another one was used";
                }
                name = used;
            }
            settle();
        }
    }
}

TEST_F(opengl_kept_test, it_is_off_the_bindings_of_the_context_and_others_stay) {
    constexpr unsigned indexed[][3] = {
        {gl::shader_storage_buffer, gl::shader_storage_buffer_binding, gl::max_shader_storage_buffer_bindings},
        {gl::uniform_buffer, gl::uniform_buffer_binding, gl::max_uniform_buffer_bindings},
        {gl::atomic_counter_buffer, gl::atomic_counter_buffer_binding, gl::max_atomic_counter_buffer_bindings}};
    constexpr unsigned plain[][2] = {{gl::pixel_unpack_buffer, gl::pixel_unpack_buffer_binding},
                                     {gl::array_buffer, gl::array_buffer_binding},
                                     {gl::copy_read_buffer, gl::copy_read_buffer},
                                     {gl::texture_buffer, gl::texture_buffer}};
    const auto stays = device().allocate({.bytes = 4096});
    auto goes = device().allocate({.bytes = 4096});
    const auto bind_all = [&](unsigned name, unsigned last, unsigned generic) {
        for (const auto& [target, binding, count] : indexed) {
            const unsigned index = last == 0 ? 0 : number(count) - 1;
            opengl::run(where_, [&] {
                api().bind_buffer_base(target, index, name);
                api().bind_buffer(target, generic);
            });
        }
    };
    bind_all(name_of(*stays), 0, 0);
    bind_all(name_of(*goes), 1, name_of(*stays));
    opengl::run(where_, [&] {
        for (const auto& [target, binding] : plain) api().bind_buffer(target, name_of(*goes));
    });
    ASSERT_EQ(gl_error(), gl::no_error);
    goes.reset();
    settle();
    for (const auto& [target, binding, count] : indexed) {
        const unsigned last = number(count) - 1;
        EXPECT_EQ(bound(binding, last), 0U) << target;
        if (last != 0) {
            EXPECT_EQ(bound(binding, 0), name_of(*stays)) << target;
        }
        EXPECT_EQ(number(binding), name_of(*stays)) << target;
    }
    for (const auto& [target, binding] : plain) EXPECT_EQ(number(binding), 0U) << target;
    bind_all(0, 0, 0);
}

TEST_F(opengl_kept_test, little_is_kept_and_can_be_had_back) {
    std::vector<unsigned> names;
    {
        std::vector<std::unique_ptr<backends::memory>> all;
        for (int i = 0; i < 10; ++i) {
            all.push_back(device().allocate({.bytes = std::size_t{8} << 20}));
            names.push_back(name_of(*all.back()));
        }
    }
    EXPECT_EQ(std::ranges::count_if(names, [&](unsigned each) { return lives(each); }), 8);  // 64 MiB
    trim_memory(where_);
    EXPECT_EQ(std::ranges::count_if(names, [&](unsigned each) { return lives(each); }), 0);
}

TEST_F(opengl_kept_test, what_was_freed_just_now_can_be_had_back) {
    int left = 0;
    for (int round = 0; round < 500; ++round) {
        auto memory = device().allocate({.bytes = 4096});
        const unsigned name = name_of(*memory);
        memory.reset();
        trim_memory(where_);
        left += lives(name) ? 1 : 0;
    }
    EXPECT_EQ(left, 0);
}

TEST_F(opengl_kept_test, a_child_process_is_given_none) {
    device().allocate_visible({.bytes = 12288}).reset();
    settle();
    const ::pid_t child = ::fork();
    if (child == 0) {
        error_code told = error_code::timeout;
        try {
            device().allocate_visible({.bytes = 12288});
        } catch (const error& failure) {
            told = failure.code();
        }
        trim_memory(where_);
        std::_Exit(told == error_code::device_lost ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace unibuf::contract
