// tests/contract/cuda/opengl_test.cpp: CUDA and OpenGL on one card use one buffer object, and no byte moves between.
#include <optional>
#include <thread>

#include "backends/opengl/api.hpp"
#include "backends/opengl/device.hpp"
#include "contract/callers_context.hpp"
#include "contract/cuda/fixture.hpp"
#include "unibuf/opengl.hpp"

namespace unibuf::contract::opengl_test {
namespace {

constexpr std::size_t size = 10'000;
constexpr int unknown = 999;  // CUDA_ERROR_UNKNOWN

/// The double ends the program where a buffer object that is mapped, or an address that is not, is used wrongly. On a
/// real driver the bytes have to be right.
class cuda_opengl : public cuda_test {
protected:
    void SetUp() override {
        cuda_test::SetUp();
        if (IsSkipped()) return;
        try {
            opengl_ = space("opengl:0");
        } catch (const error& missing) {
            GTEST_SKIP() << missing.what();
        }
        for (const device_info& each : devices()) {
            // Pinned memory for transfers comes with the first use of a device.
            if (each.available && each.name.starts_with("cuda:")) cuda::handles_of(space(each.name));
        }
        if (!cuda_double::loaded()) return;
        control().reset();
        memory_before_ = memory_in_use();
    }
    void TearDown() override {
        if (IsSkipped() || !cuda_double::loaded()) return;
        opengl::run("opengl:0", [] {});  // waits until what was to be freed there is freed
        EXPECT_EQ(calls("cuGraphicsGLRegisterBuffer"), calls("cuGraphicsUnregisterResource"));
        EXPECT_EQ(memory_in_use(), memory_before_);
        control().reset();
    }

    static const cuda_double::control& control() { return *cuda_double::loaded(); }

    /// Returns the memory in use, without what is kept for later.
    static std::size_t memory_in_use() {
        trim_memory("cuda:0");
        try {
            trim_memory("cuda:1");
        } catch (const error&) {  // there is only one device
        }
        return control().allocations();
    }

    static std::uint64_t calls(const char* function) { return control().calls(function); }
    static std::uint64_t moved(const buffer& of) { return of.statistics().bytes_moved(); }

    /// Uses a context of the caller's instead of unibuf's own.
    void use_the_callers_context() { opengl_ = opengl::use_current_context(); }

    const backends::gl_api& gl() const {
        return dynamic_cast<backends::gl_device&>(backends::device_of(opengl_)).context().gl();
    }

    /// Writes a buffer as a program does, in OpenGL.
    void opengl_writes(buffer& to, std::size_t offset, const bytes& content) const {
        const auto lease = to.write(opengl_, {.offset = offset, .count = content.size()});
        opengl::run(opengl_, [&] {
            gl().buffer_sub_data(opengl::name(lease), static_cast<std::ptrdiff_t>(lease.native().offset),
                                 static_cast<std::ptrdiff_t>(content.size()), content.data());
        });
    }
    bytes opengl_reads(const buffer& from, const access_options& options = {}) const {
        const auto lease = from.read(opengl_, options);
        bytes got(lease.native().bytes);
        opengl::run(opengl_, [&] {
            gl().get_buffer_sub_data(opengl::name(lease), static_cast<std::ptrdiff_t>(lease.native().offset),
                                     static_cast<std::ptrdiff_t>(got.size()), got.data());
        });
        return got;
    }

    /// Sets bytes as a kernel of the program does.
    void cuda_sets(buffer& to, std::size_t offset, std::size_t count, unsigned char value) const {
        program by;
        const stream_handle stream = by.stream();
        const auto lease = to.read_write(where_, {.offset = offset, .count = count, .on = cuda::queue_of(stream)});
        by.set(stream, address_of(lease), value, count);
    }

    bool shares(const buffer& of) const { return of.placement(where_).placement == placement::shared; }
    std::string reason(const buffer& of) const { return of.placement(where_).reason; }

    space opengl_;
    std::size_t memory_before_ = 0;
};

/// Asks the double what was called, and lets calls fail.
class cuda_opengl_calls : public cuda_opengl {
protected:
    void SetUp() override {
        if (!cuda_double::loaded())
            GTEST_SKIP() << "a real driver neither counts its calls nor fails when it is told to";
        cuda_opengl::SetUp();
    }
};

TEST_F(cuda_opengl, see_what_the_other_has_written_and_nothing_moves) {
    buffer used = mirrored(size);
    bytes content = noise(size);
    opengl_writes(used, 0, content);
    cuda_sets(used, 100, 50, 7);
    std::fill_n(content.begin() + 100, 50, std::byte{7});
    EXPECT_TRUE(same(opengl_reads(used), content));
    opengl_writes(used, 300, noise(20, 2));
    std::ranges::copy(noise(20, 2), content.begin() + 300);
    cuda_sets(used, 305, 5, 8);
    std::fill_n(content.begin() + 305, 5, std::byte{8});
    EXPECT_EQ(moved(used), 0u);
    EXPECT_EQ(used.statistics().publications, 3u);
    EXPECT_TRUE(same(host_reads(used), content));
    EXPECT_EQ(moved(used), size);
    EXPECT_TRUE(shares(used));
    EXPECT_NE(reason(used).find("opengl:0"), std::string::npos) << reason(used);
    EXPECT_EQ(memory_in(where_).held, 0u);
}

TEST_F(cuda_opengl, take_the_hosts_bytes_to_where_they_are_needed) {
    buffer used = mirrored(size);
    bytes content = noise(size);
    host_writes(used, content);
    EXPECT_TRUE(same(opengl_reads(used), content));
    cuda_sets(used, 0, 10, 7);
    std::fill_n(content.begin(), 10, std::byte{7});
    {
        const auto lease = used.write(host, {.offset = 5000, .count = 100});
        std::ranges::copy(noise(100, 2), lease.begin());
    }
    std::ranges::copy(noise(100, 2), content.begin() + 5000);
    cuda_sets(used, 5050, 100, 9);
    std::fill_n(content.begin() + 5050, 100, std::byte{9});
    EXPECT_TRUE(same(opengl_reads(used, {.offset = 5000, .count = 200}), std::span(content).subspan(5000, 200)));
    EXPECT_TRUE(same(host_reads(used), content));
    EXPECT_TRUE(same(opengl_reads(used), content));
    EXPECT_TRUE(shares(used));
}

TEST_F(cuda_opengl, do_not_stop_the_host_where_a_stream_is_named) {
    if (stops_the_host_for_all()) GTEST_SKIP() << "before 12.5 the driver waits for the context";
    buffer used = mirrored(size);
    opengl_writes(used, 0, noise(size));
    program by;
    const stream_handle stream = by.stream();
    const stream_handle other = by.stream();
    // A real driver stops the host where a buffer object is registered.
    used.read(where_, {.on = cuda::queue_of(other)}).release();
    {
        gate closed(by, stream);
        {
            const auto lease = used.read_write(where_, {.on = cuda::queue_of(stream)});
            by.set(stream, address_of(lease), 7, 100);
        }
        {
            const auto lease = used.read_write(where_, {.on = cuda::queue_of(other)});
            by.set(other, address_of(lease) + 50, 8, 100);
        }
        EXPECT_EQ(used.statistics().fence_waits, 0u);
    }
    bytes content = noise(size);
    std::fill_n(content.begin(), 50, std::byte{7});
    std::fill_n(content.begin() + 50, 100, std::byte{8});
    EXPECT_TRUE(same(opengl_reads(used, {.on = opengl::queue_of(opengl_)}), content));
    EXPECT_EQ(moved(used), 0u);
}

TEST_F(cuda_opengl, know_the_streams_that_have_no_handle) {
    for (const stream_handle stream : {driver::legacy_stream, driver::per_thread_stream}) {
        buffer used = mirrored(size);
        opengl_writes(used, 0, noise(size));
        program by;
        {
            const auto lease = used.read_write(where_, {.on = cuda::queue_of(stream)});
            by.set(stream, address_of(lease), 7, size);
        }
        EXPECT_TRUE(same(opengl_reads(used), bytes(size, std::byte{7})));
    }
}

TEST_F(cuda_opengl_calls, have_memories_of_their_own_where_cuda_was_first) {
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    used.read(where_).release();
    EXPECT_TRUE(same(opengl_reads(used), noise(size)));
    EXPECT_FALSE(shares(used));
    EXPECT_EQ(used.placement(opengl_).placement, placement::mirrored);
    EXPECT_EQ(calls("cuGraphicsGLRegisterBuffer"), 0u);
}

TEST_F(cuda_opengl, get_memories_of_their_own_when_both_are_used_at_once) {
    buffer used = mirrored(size);
    opengl_writes(used, 0, noise(size));
    used.read(where_).release();
    {
        const auto held = used.read(where_);
        EXPECT_TRUE(same(opengl_reads(used), noise(size)));
        EXPECT_FALSE(shares(used));
        EXPECT_NE(reason(used).find("at the same time"), std::string::npos) << reason(used);
    }
    cuda_sets(used, 0, 10, 7);
    bytes content = noise(size);
    std::fill_n(content.begin(), 10, std::byte{7});
    EXPECT_TRUE(same(opengl_reads(used), content));
    used.discard(opengl_);
    EXPECT_TRUE(same(host_reads(used), content));

    buffer other = mirrored(size);
    opengl_writes(other, 0, noise(size));
    other.read(where_).release();
    const auto held = other.read(opengl_, {.count = 100});
    cuda_sets(other, 100, 10, 7);
    EXPECT_FALSE(shares(other));
}

TEST_F(cuda_opengl, may_be_discarded_in_any_order) {
    buffer used = mirrored(size);
    opengl_writes(used, 0, noise(size));
    cuda_sets(used, 0, size, 7);
    used.discard(where_);
    EXPECT_TRUE(same(opengl_reads(used), bytes(size, std::byte{7})));
    cuda_sets(used, 0, size, 8);
    EXPECT_EQ(moved(used), 0u);
    used.discard(opengl_);  // CUDA needs its memory
    EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{8})));
    used.discard(opengl_);
    used.discard(where_);
    used.discard(opengl_);
    EXPECT_EQ(memory_in(opengl_).held, 0u);
    EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{8})));
}

TEST_F(cuda_opengl, go_with_their_buffer_whosever_turn_it_is) {
    for (const bool cudas : {true, false}) {
        std::optional<buffer> used = mirrored(size);
        opengl_writes(*used, 0, noise(size));
        used->read(where_).release();
        if (!cudas) used->read(opengl_).release();
        std::optional lease = used->read(cudas ? where_ : opengl_);
        used.reset();
        lease.reset();
    }
}

TEST_F(cuda_opengl_calls, share_only_on_the_card_of_the_context) {
    find_second();
    if (IsSkipped()) return;
    buffer used = mirrored(size);
    opengl_writes(used, 0, noise(size));
    used.read(second_).release();
    EXPECT_EQ(used.placement(second_).placement, placement::mirrored);
    EXPECT_EQ(calls("cuGraphicsGLRegisterBuffer"), 0u);
    // The driver itself copies between the devices, into the buffer object and without OpenGL.
    cuda_sets(used, 0, 10, 7);
    used.read(second_).release();
    EXPECT_EQ(calls("cuMemcpyPeerAsync"), 1u);
    EXPECT_TRUE(shares(used));
}

TEST_F(cuda_opengl_calls, lose_nothing_whatever_fails) {
    static constexpr const char* functions[] = {"cuGLGetDevices",         "cuGraphicsGLRegisterBuffer",
                                                "cuGraphicsMapResources", "cuGraphicsUnmapResources",
                                                "cuEventRecord",          "cuGraphicsResourceGetMappedPointer"};
    for (const char* const function : functions) {
        for (std::uint64_t n = 0; n < 3; ++n) {
            buffer used = mirrored(size);
            bytes content = noise(size);
            opengl_writes(used, 0, content);
            control().fail(function, n, 1, unknown);
            const auto until_it_works = [&](const auto& call) {
                try {
                    call();
                } catch (const error&) {
                    call();
                }
            };
            for (unsigned char i = 1; i <= 3; ++i) {
                until_it_works([&] { cuda_sets(used, i * 100u, 50, i); });
                std::fill_n(content.begin() + i * 100, 50, std::byte{i});
                until_it_works([&] { EXPECT_TRUE(same(opengl_reads(used), content)) << function << ", call " << n; });
            }
            EXPECT_TRUE(same(host_reads(used), content)) << function << ", call " << n;
            control().reset();
        }
    }
    opengl::run(opengl_, [] {});
    control().reset();
}

TEST_F(cuda_opengl_calls, say_why_they_do_not_share) {
    buffer used = mirrored(size);
    opengl_writes(used, 0, noise(size));
    control().fail("cuGraphicsGLRegisterBuffer", 0, 1, driver::invalid_graphics_context);
    cuda_sets(used, 0, 10, 7);
    EXPECT_FALSE(shares(used));
    EXPECT_NE(reason(used).find("INVALID_GRAPHICS_CONTEXT"), std::string::npos) << reason(used);
    control().reset();

    buffer elsewhere = mirrored(size);
    opengl_writes(elsewhere, 0, noise(size));
    control().fail("cuGLGetDevices", 0, 1, driver::no_device);
    cuda_sets(elsewhere, 0, 10, 7);
    EXPECT_FALSE(shares(elsewhere));
    EXPECT_EQ(reason(elsewhere).find("failed"), std::string::npos) << reason(elsewhere);
}

TEST_F(cuda_opengl, share_with_a_context_of_the_callers_where_it_is_current) {
    const callers_context mine;
    use_the_callers_context();
    buffer used = mirrored(size);
    opengl_writes(used, 0, noise(size));
    cuda_sets(used, 0, size, 7);
    EXPECT_TRUE(shares(used));
    std::thread([&] { EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{7}))); }).join();
    EXPECT_TRUE(same(opengl_reads(used), bytes(size, std::byte{7})));
    EXPECT_EQ(moved(used), size);
    std::thread([&] { cuda_sets(used, 0, 10, 8); }).join();
    EXPECT_FALSE(shares(used));
    EXPECT_NE(reason(used).find("to be current on this thread"), std::string::npos) << reason(used);
    EXPECT_EQ(host_reads(used)[9], std::byte{8});
}

TEST_F(cuda_opengl_calls, go_later_where_the_callers_context_is_not_current) {
    const callers_context mine;
    use_the_callers_context();
    std::optional<buffer> used = mirrored(size);
    opengl_writes(*used, 0, noise(size));
    cuda_sets(*used, 0, size, 7);
    mine.release();
    used.reset();
    EXPECT_EQ(calls("cuGraphicsUnregisterResource"), 0u);
    mine.make_current();
    opengl::run(opengl_, [] {});
    EXPECT_EQ(calls("cuGraphicsUnregisterResource"), 1u);
}

}  // namespace
}  // namespace unibuf::contract::opengl_test
