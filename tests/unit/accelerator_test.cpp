// tests/unit/accelerator_test.cpp: what a space is, and what becomes of its memory.
#include "unibuf/accelerator.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <latch>
#include <optional>
#include <thread>

#include "pool/all_pools.hpp"
#include "support/fake_device.hpp"
#include "support/own_process.hpp"
#include "support/sanitizers.hpp"
#include "unit/common.hpp"

namespace unibuf::test::accelerator_test {
namespace {

bool is_loaded(const std::string& library) {
    std::ifstream maps("/proc/self/maps");
    return std::string(std::istreambuf_iterator<char>(maps), {}).find(library) != std::string::npos;
}

class an_accelerator : public testing::Test {
protected:
    std::uint64_t pooled(space where) const { return get_accelerator(where).memory().pooled; }

    const space device{"debug:0"};
    memory_pool pool_;
};

TEST_F(an_accelerator, is_that_of_the_default_device) {
    EXPECT_EQ(get_accelerator(), get_accelerator(default_device()));
    const default_device_is now(device);
    EXPECT_EQ(get_accelerator().where(), device);
    EXPECT_NE(get_accelerator(), get_accelerator(host));
}

TEST_F(an_accelerator, tells_what_the_list_tells) {
    for (const device_info& each : devices()) {
        if (!each.available || each.name.starts_with("fake"))
            continue;  // other tests leave fakes, which no name reaches
        const device_info got = get_accelerator(each.name).properties();
        EXPECT_EQ(got.name, each.name);
        EXPECT_TRUE(got.available);
        EXPECT_EQ(got.reason, "");
        EXPECT_EQ(got.description, each.description);
        EXPECT_EQ(got.own_memory, each.own_memory);
        EXPECT_EQ(got.aliases_host, each.aliases_host);
        EXPECT_EQ(got.host_visible, each.host_visible);
        EXPECT_EQ(got.asynchronous, each.asynchronous);
        EXPECT_EQ(got.memory_bytes, each.memory_bytes);
        ASSERT_EQ(got.properties.size(), each.properties.size());
        for (std::size_t i = 0; i < got.properties.size(); ++i) {
            EXPECT_EQ(got.properties[i].name, each.properties[i].name);
            EXPECT_EQ(got.properties[i].value, each.properties[i].value);
        }
    }
}

TEST_F(an_accelerator, loads_no_driver_but_its_own) {
    if (!is_alone("UNIBUF_TEST_ALONE", "drivers")) return run_alone("UNIBUF_TEST_ALONE", "drivers");
    EXPECT_EQ(get_accelerator(device).properties().name, "debug:0");
    get_accelerator(device).memory();
    EXPECT_FALSE(is_loaded("libOpenCL.so"));
    EXPECT_FALSE(is_loaded("libEGL.so"));
}

/// An exit destroys what the libraries of drivers have made, while a thread starts them.
TEST_F(an_accelerator, is_looked_for_while_the_process_ends) {
    if (has_address_sanitizer || has_thread_sanitizer) GTEST_SKIP() << "at an exit it looks at all that threads have";
    constexpr const char* variable = "UNIBUF_TEST_EXIT_AFTER";
    if (!std::getenv(variable)) {
        for (int microseconds = 500; microseconds < 30'000; microseconds += 1'000) {
            run_alone(variable, std::to_string(microseconds).c_str());
        }
        return;
    }
    std::thread([] {
        for (;;) {
            try {
                buffer used(100'000, {.device = space("opencl:0")});
                used.write(host).release();
                used.read("opencl:0").release();
            } catch (const error&) {  // there is none, or the process ends
            }
            devices();
        }
    }).detach();
    std::this_thread::sleep_for(std::chrono::microseconds(std::stoi(std::getenv(variable))));
    std::exit(0);
}

TEST_F(an_accelerator, tells_what_there_is_and_what_is_held) {
    reset_peak_memory();
    limit_memory(device, 1 << 20);
    {
        buffer b(5000);
        b.write(device).release();
    }
    buffer b(1000);
    b.write(device).release();
    const accelerator_memory now = get_accelerator(device).memory();
    limit_memory(device, no_memory_limit);
    EXPECT_EQ(now.limit, 1u << 20);
    EXPECT_GE(now.held, 1000u);
    EXPECT_EQ(now.held, memory_in(device).held);
    EXPECT_EQ(now.peak, now.held + 4000);
    EXPECT_EQ(get_accelerator(device).memory().limit, no_memory_limit);
    for (const space where : {host, device}) {
        const accelerator_memory there = get_accelerator(where).memory();
        EXPECT_EQ(there.total, memory_of(where).total);
        EXPECT_EQ(there.free.has_value(), memory_of(where).free.has_value());
        EXPECT_LE(there.free.value_or(0), there.total);
        EXPECT_EQ(there.held, memory_in(where).held);
    }
    EXPECT_GT(get_accelerator(host).memory().total, 0u);
}

TEST_F(an_accelerator, tells_what_lies_in_pools) {
    const std::uint64_t before = pooled(device);
    const std::uint64_t before_at_host = pooled(host);
    buffer plain(5000);
    plain.write(device).release();
    buffer first = pool_.acquire(1000);  // the buffer has room for 1024 bytes
    buffer second = pool_.acquire(1000);
    first.write(device).release();
    second.write(device).release();
    second.write(host).release();
    const std::uint64_t held = memory_in(device).held;
    EXPECT_EQ(pooled(device), before) << "what is in use can not be acquired";
    const std::uint64_t id = first.id();
    pool_.release(std::move(second));
    EXPECT_EQ(pooled(device), before + 1024);
    EXPECT_EQ(pooled(host), before_at_host + 1024);
    pool_.release(std::move(first));  // one of the two lies in this thread's slot
    EXPECT_EQ(pooled(device), before + 2048);
    EXPECT_EQ(memory_in(device).held, held);
    buffer again = pool_.acquire(1000);
    EXPECT_EQ(again.id(), id) << "to be asked changes nothing";
    EXPECT_EQ(pooled(device), before + 1024);
    pool_.clear();
    EXPECT_EQ(pooled(device), before);
    EXPECT_EQ(pooled(host), before_at_host);
}

TEST_F(an_accelerator, counts_every_pool_and_thread) {
    const std::uint64_t before = pooled(device);
    std::optional<memory_pool> other(std::in_place);
    other->reserve(1, 1024, device);
    pool_.reserve(1, 2048, device);
    EXPECT_EQ(pooled(device), before + 3072);
    std::latch released(1);
    std::latch seen(1);
    std::jthread thread([&] {
        buffer b = pool_.acquire(4096);
        b.write(device).release();
        pool_.release(std::move(b));
        released.count_down();
        seen.wait();
    });
    released.wait();
    EXPECT_EQ(pooled(device), before + 7168);
    seen.count_down();
    other.reset();
    EXPECT_EQ(pooled(device), before + 6144);
}

TEST_F(an_accelerator, counts_nothing_of_which_views_are_held) {
    const std::uint64_t before = pooled(device);
    buffer b = pool_.acquire(1024);
    b.write(device).release();
    std::optional<buffer> view = b.view(0, 10);
    pool_.release(std::move(b));
    EXPECT_EQ(pooled(device), before);
    view.reset();
    EXPECT_EQ(pooled(device), before + 1024);
}

TEST_F(an_accelerator, counts_shared_memory_where_it_is_held) {
    for (const fake_traits& does : {fake_traits{}, fake_traits{.aliases = true}, fake_traits{.visible = true}}) {
        const space fake = fake_device::get(does).where();
        buffer plain(5000, {.hint = memory_hint::gpu_preferred, .device = fake});  // as large as what is pooled
        plain.write(host).release();
        plain.write(fake).release();
        const std::uint64_t at_fake = memory_in(fake).held;
        const std::uint64_t at_host = memory_in(host).held;
        const std::uint64_t pooled_at_host = pooled(host);
        EXPECT_EQ(pooled(fake), 0u);
        buffer b = pool_.acquire(1024, {.device = fake});
        b.write(host).release();
        b.write(fake).release();
        const std::uint64_t copies = does.aliases || does.visible ? 1 : 2;
        EXPECT_EQ(memory_in(fake).held - at_fake + memory_in(host).held - at_host, copies * 1024);
        pool_.release(std::move(b));
        EXPECT_EQ(pooled(fake), memory_in(fake).held - at_fake);
        EXPECT_EQ(pooled(host) - pooled_at_host, memory_in(host).held - at_host);
        pool_.clear();
    }
}

TEST_F(an_accelerator, counts_in_pools_what_is_held_when_all_of_it_lies_there) {
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{1000}, std::size_t{5000}})
        pool_.reserve(3, bytes, device);
    const accelerator_memory now = get_accelerator(device).memory();
    EXPECT_EQ(now.pooled, now.held);
    EXPECT_EQ(detail::all_pools::instance().held_at(device), memory_in(device).held);
    pool_.clear();
    EXPECT_EQ(detail::all_pools::instance().held_at(device), 0u);
}

TEST_F(an_accelerator, is_asked_while_pools_are_used) {
    std::atomic<bool> done = false;
    const std::jthread busy([&] {
        while (!done) {
            pool_.reserve(4, 4096, device);
            pool_.clear();
        }
    });
    std::uint64_t most = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int i = 0; i < 2000 || (most == 0 && std::chrono::steady_clock::now() < end); ++i) {
        most = std::max(most, get_accelerator(device).memory().pooled);
    }
    done = true;
    EXPECT_GT(most, 0u);
    EXPECT_LE(most, 4u * 4096u);
}

}  // namespace
}  // namespace unibuf::test::accelerator_test
