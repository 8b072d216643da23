// tests/contract/cuda/refusal_test.cpp: streams that cannot be used: in a capture, of another context.
#include <thread>

#include "contract/cuda/fixture.hpp"
#include "contract/wrong_queue.hpp"

namespace unibuf::contract::refusal_test {
namespace {

constexpr std::size_t size = 5000;

TEST_F(cuda_test, refuses_a_stream_that_is_being_captured) {
    program by;
    const stream_handle stream = by.stream();
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    {
        capture under_way(stream);
        std::string message;
        const auto take = [&] { used.read(where_, {.on = cuda::queue_of(stream)}); };
        EXPECT_EQ(code_of(take, &message), error_code::unsupported);
        EXPECT_NE(message.find("captured"), std::string::npos) << message;
        EXPECT_TRUE(under_way.end());
    }
    used.read(where_, {.on = cuda::queue_of(stream)}).release();
    EXPECT_TRUE(same(host_reads(used), noise(size)));
}

TEST_F(cuda_test, refuses_the_legacy_stream_while_it_cannot_be_used) {
    program by;
    const stream_handle stream = by.stream(0);
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    capture under_way(stream);
    const auto take = [&] { used.read(where_, {.on = cuda::queue_of(nullptr)}); };
    EXPECT_EQ(code_of(take), error_code::unsupported);
    EXPECT_TRUE(under_way.end());
    used.read(where_, {.on = cuda::queue_of(nullptr)}).release();
    EXPECT_TRUE(same(host_reads(used), noise(size)));
}

/// Named streams do not mind captures elsewhere, and do not break them.
TEST_F(cuda_test, works_beside_a_capture) {
    program by;
    const stream_handle captured = by.stream();
    const stream_handle stream = by.stream();
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    capture under_way(captured);
    const auto work = [&] {
        program inside;
        for (int i = 0; i < 3; ++i) {
            const auto lease = used.read_write(where_, {.on = cuda::queue_of(stream)});
            inside.set(stream, address_of(lease), 1, 10);
        }
        const fence done = device().record(cuda::queue_of(stream));
        while (!done.done()) std::this_thread::yield();
    };
    work();
    std::jthread(work).join();
    EXPECT_TRUE(under_way.end());
    bytes wanted = noise(size);
    std::fill_n(wanted.begin(), 10, std::byte{1});
    EXPECT_TRUE(same(host_reads(used), wanted));
}

TEST_F(cuda_test, says_that_a_capture_is_in_the_way) {
    program by;
    const stream_handle stream = by.stream();
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    const auto kept = device().allocate({.bytes = size});
    auto gone = device().allocate({.bytes = size});
    {
        capture under_way(stream, capture::relaxed);
        std::string message;
        EXPECT_EQ(code_of([&] { used.read(where_); }, &message), error_code::unsupported);
        EXPECT_NE(message.find("captured"), std::string::npos) << message;
        gone.reset();  // is given back with whatever goes next
    }
    used.read(where_).release();
    EXPECT_TRUE(same(host_reads(used), noise(size)));
}

/// Only the newer call says that such a stream is one of the primary context.
TEST_F(on_the_double, takes_streams_of_green_contexts) {
    program by;
    const stream_handle stream = by.stream();
    control().make_green(stream);
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    const auto take = [&] {
        const auto lease = used.read_write(where_, {.on = cuda::queue_of(stream)});
        by.set(stream, address_of(lease), 1, size);
    };
    if (!driver::api().cuStreamGetCtx_v2) {
        EXPECT_EQ(code_of(take), error_code::invalid_argument);
        return;
    }
    take();
    EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{1})));
}

TEST_F(cuda_test, refuses_a_stream_of_another_context) {
    find_second();
    if (IsSkipped()) return;
    program other(second_);
    const stream_handle stream = other.stream();
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    std::string message;
    const auto take = [&] { used.read(where_, {.on = cuda::queue_of(stream)}); };
    EXPECT_EQ(code_of(take, &message), error_code::invalid_argument);
    EXPECT_NE(message.find("another context"), std::string::npos) << message;
    expect_refused(where_, cuda::queue_of(stream));
    used.read(second_, {.on = cuda::queue_of(stream)}).release();
    used.read(where_).release();
    EXPECT_TRUE(same(host_reads(used), noise(size)));
}

TEST_F(on_the_double, refuses_what_is_no_stream_and_stays_usable) {
    const auto none = reinterpret_cast<stream_handle>(this);
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    EXPECT_EQ(code_of([&] { used.read(where_, {.on = cuda::queue_of(none)}); }), error_code::invalid_argument);
    used.read(where_).release();
    EXPECT_TRUE(same(host_reads(used), noise(size)));
}

}  // namespace
}  // namespace unibuf::contract::refusal_test
