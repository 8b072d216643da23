// tests/contract/metal_queue_test.cpp: the caller's devices and queues, and the order of work on them.
#include <algorithm>
#include <thread>

#include "contract/metal_fixture.hpp"
#include "contract/wrong_queue.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::contract {
namespace {

using namespace std::chrono_literals;

class metal_queue : public on_metal {
protected:
    mtl::owned new_queue() const { return mtl::new_queue(native(), 64); }
};

TEST_F(metal_queue, gives_its_own_objects) {
    const metal::handles known = metal::handles_of(where_);
    EXPECT_NE(known.device, nullptr);
    EXPECT_NE(known.queue, nullptr);
    EXPECT_EQ(metal::handles_of(where_).queue, known.queue);
    EXPECT_EQ(mtl::device_of_queue(known.queue), known.device);
    std::string message;
    EXPECT_EQ(code_of([] { metal::handles_of(host); }, &message), error_code::invalid_argument);
    EXPECT_NE(message.find("host is no Metal space"), std::string::npos);
}

TEST_F(metal_queue, gives_the_buffer_of_a_copy) {
    buffer of(10'000);
    const auto lease = of.write(where_);
    const auto length = mtl::send<"length", mtl::ns_uinteger()>(metal::memory(lease));
    EXPECT_GE(length, 10'000u);
    EXPECT_EQ(code_of([] { metal::memory(native_memory{.where = host}); }), error_code::invalid_argument);
}

TEST_F(metal_queue, of_the_caller_is_kept_as_a_space) {
    space where;
    {
        const mtl::owned mine = new_queue();
        where = metal::use(native(), mine.get());
        EXPECT_NE(where, where_);
        EXPECT_EQ(where.name().substr(0, 6), "metal:");
        EXPECT_EQ(metal::handles_of(where).queue, mine.get());
        EXPECT_EQ(metal::use(native(), mine.get()), where);
    }
    EXPECT_EQ(metal::use(native()), where_);
    const auto memory = backends::device_of(where).allocate({.bytes = 5000});
    put(*memory, 0, noise(5000));
    EXPECT_TRUE(same(get(*memory, 0, 5000), noise(5000)));
}

TEST_F(metal_queue, refuses_null) {
    EXPECT_EQ(code_of([] { metal::use(nullptr); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { metal::add_queue(where_, nullptr); }), error_code::invalid_argument);
}

TEST_F(metal_queue, of_another_device_is_refused) {
    const mtl::pool drained;
    const mtl::owned all(mtl::api().MTLCopyAllDevices());
    if (mtl::count_of(all.get()) < 2) GTEST_SKIP() << "there is one Metal device";
    const mtl::owned other = mtl::new_queue(mtl::object_at(all.get(), 1), 64);
    EXPECT_EQ(code_of([&] { metal::use(native(), other.get()); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { metal::add_queue(where_, other.get()); }), error_code::invalid_argument);
    expect_refused(where_, metal::queue_of(other.get()));
}

/// Work without a name is behind what is on all queues that are known.
TEST_F(metal_queue, that_is_known_comes_before_work_that_names_none) {
    held_metal_queue held(where_);
    metal::add_queue(where_, held.native());
    const fence all = record_fence(where_);
    EXPECT_FALSE(all.wait(20ms));
    held.open();
    EXPECT_TRUE(all.wait(10min));
}

TEST_F(metal_queue, that_is_named_waits_for_no_other) {
    held_metal_queue held(where_);
    const mtl::owned other = new_queue();
    metal::add_queue(where_, held.native());
    EXPECT_TRUE(record_fence(where_, metal::queue_of(other.get())).wait(10min));
}

TEST_F(metal_queue, can_be_put_behind_work_of_another) {
    held_metal_queue held(where_);
    const mtl::owned other = new_queue();
    const fence before = record_fence(where_, held.name());
    ASSERT_TRUE(device().order(before, metal::queue_of(other.get())));
    const fence behind = record_fence(where_, metal::queue_of(other.get()));
    EXPECT_FALSE(behind.wait(20ms));
    held.open();
    EXPECT_TRUE(behind.wait(10min));
}

/// More work than a queue of Metal's usual size takes is queued without a stop of the host.
TEST_F(metal_queue, of_its_own_takes_much) {
    held_metal_queue held(where_);
    const auto memory = device().allocate({.bytes = 64});
    const queue own = metal::queue_of(metal::handles_of(where_).queue);
    ASSERT_TRUE(device().order(record_fence(where_, held.name()), own));
    std::vector<fence> all;
    const bytes content = noise(64);
    for (int i = 0; i < 300; ++i) all.push_back(memory->write(0, content, own));
    EXPECT_FALSE(all.back().wait(1ms));
    held.open();
    for (const fence& each : all) EXPECT_TRUE(each.wait(10min));
    EXPECT_TRUE(same(get(*memory, 0, 64), content));
}

/// Metal's own copies take whole words; unibuf takes any bytes, and leaves those beside them alone.
TEST_F(metal_queue, copies_bytes_that_are_no_words) {
    const auto memory = device().allocate({.bytes = 100});
    const auto other = device().allocate({.bytes = 100});
    const bytes content = noise(100);
    for (std::size_t offset = 0; offset < 9; ++offset) {
        for (std::size_t count = 1; count < 14; ++count) {
            bytes expected = repeated(bytes{std::byte{1}}, 100);
            put(*memory, 0, expected);
            put(*other, 0, content);
            memory->write_from(*other, 3, offset, count, {}).wait();
            std::ranges::copy(std::span(content).subspan(3, count), expected.begin() + static_cast<long>(offset));
            memory->fill(offset + 40, count, bytes{std::byte{7}}, {}).wait();
            std::fill_n(expected.begin() + static_cast<long>(offset) + 40, count, std::byte{7});
            ASSERT_TRUE(same(get(*memory, 0, 100), expected)) << count << " bytes at " << offset;
        }
    }
}

TEST_F(metal_queue, shares_whole_pages_and_nothing_else) {
    if (!device().about().aliases_host) GTEST_SKIP() << "the device has memory of its own";
    buffer of(100'000);
    {
        const auto lease = of.write(where_);
        EXPECT_EQ(of.placement(where_).placement, placement::shared);
    }
    alignas(16384) static std::byte memory[256];  // so that memory + 64 lies in a page
    std::string message;
    EXPECT_EQ(code_of([&] { device().alias({memory + 64, 128}, {.bytes = 128}); }, &message), error_code::unsupported);
    EXPECT_NE(message.find("can use host memory in place from multiples of"), std::string::npos) << message;
}

}  // namespace
}  // namespace unibuf::contract
