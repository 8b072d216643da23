// tests/unit/lease_event_test.cpp: leases of devices that end with an event of the program's own.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "unit/common.hpp"

namespace unibuf::test::lease_event_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t size = 1000;

/// Work of the program, which no device can be asked about.
class event final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds timeout) override {
        if (timeout == 0ns) return done;
        asked = true;
        asked.notify_all();
        done.wait(false);
        return true;
    }

    void finish() {
        done = true;
        done.notify_all();
    }

    std::atomic<bool> asked = false;
    std::atomic<bool> done = false;
};

template <class Act>
error_code code_of(const Act& act) {
    try {
        act();
    } catch (const error& thrown) {
        return thrown.code();
    }
    return error_code::invalid_argument;
}

class an_event : public testing::Test {
protected:
    an_event() { put(b, noise(size)); }

    const space device{"debug:0"};
    buffer b{size};
    std::shared_ptr<event> first = std::make_shared<event>();
    std::shared_ptr<event> second = std::make_shared<event>();
};

/// An event whose code waits for another thread, which uses the buffer.
class curious_event final : public fence::work {
public:
    explicit curious_event(const buffer& of) : of_(of) {}

    bool wait(std::chrono::nanoseconds) override {
        answers.push_back(std::async(std::launch::async, [this] { of_.state(); }));
        could_use &= answers.back().wait_for(60s) == std::future_status::ready;
        return true;
    }

    std::vector<std::future<void>> answers;
    bool could_use = true;

private:
    const buffer& of_;
};

/// An event whose end waits for another thread, which uses the buffer.
class curious_end final : public fence::work {
public:
    curious_end(const buffer& of, bool fails, std::future<void>& answer, bool& could_use)
        : of_(of), fails_(fails), answer_(answer), could_use_(could_use) {}
    ~curious_end() override {
        answer_ = std::async(std::launch::async, [&of = of_] { of.state(); });
        could_use_ = answer_.wait_for(5s) == std::future_status::ready;
    }
    curious_end(const curious_end&) = delete;
    curious_end& operator=(const curious_end&) = delete;

    bool wait(std::chrono::nanoseconds) override {
        if (fails_) throw error(error_code::transfer_failed, "the event came to nothing");
        return true;
    }

private:
    const buffer& of_;
    bool fails_;
    std::future<void>& answer_;
    bool& could_use_;
};

/// An event whose code throws what is no std::exception.
class odd_event final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds) override { throw 7; }
};

/// An event that asks its own buffer for an access.
class own_event final : public fence::work {
public:
    explicit own_event(std::function<void()> access) : access_(std::move(access)) {}

    bool wait(std::chrono::nanoseconds) override {
        if (++depth > 3) return true;
        try {
            access_();
        } catch (const error& refused) {
            if (refused.code() == error_code::access_conflict) ++conflicts;
        }
        --depth;
        return true;
    }

    int depth = 0;
    int conflicts = 0;

private:
    std::function<void()> access_;
};

TEST_F(an_event, may_not_use_the_buffer_whose_access_asks_it) {
    for (const std::function<void()>& access : std::vector<std::function<void()>>{
             [&] { b.read(host); }, [&] { b.write(device); }, [&] { b.read(device); }, [&] { b.fill(bytes(1)); },
             [&] { b.host(); }, [&] { b.discard(device); }, [&] { b.prefetch(host); }}) {
        const auto own = std::make_shared<own_event>(access);
        b.write(device).release(fence(own));
        b.read(host);
        EXPECT_EQ(own->depth, 0);
        EXPECT_NE(own->conflicts, 0);
        b.release_host();
    }
}

TEST_F(an_event, is_what_later_accesses_wait_for) {
    auto lease = b.write(device, {.count = 100});
    std::byte* const there = lease.data();
    lease.release(fence(first));
    EXPECT_FALSE(lease);
    EXPECT_EQ(failure_of([&] { b.read(host, {.count = 1, .timeout = 0ns}); }).code, error_code::timeout);
    EXPECT_EQ(b.read(host, {.offset = 100, .timeout = 0ns}).size(), size - 100);
    const std::jthread work([&] {
        first->asked.wait(false);
        std::ranges::fill(std::span(there, 100), std::byte{7});
        first->finish();
    });
    EXPECT_TRUE(same(b.read(host, {.count = 100}).span(), bytes(100, std::byte{7})));
}

TEST_F(an_event, says_nothing_of_another_one) {
    b.read(device, {.count = 100}).release(fence(first));
    b.read(device, {.count = 100}).release(fence(second));
    second->finish();
    const auto write = [&] { b.write(device, {.count = 1, .timeout = 0ns}); };
    EXPECT_EQ(failure_of(write).code, error_code::timeout);
    first->finish();
    write();
}

TEST_F(an_event, is_for_leases_of_devices_that_are_held) {
    auto at_host = b.write(host);
    EXPECT_EQ(failure_of([&] { at_host.release(fence(std::make_shared<event>())); }).code,
              error_code::invalid_argument);
    EXPECT_TRUE(at_host);
    at_host.release();
    EXPECT_EQ(failure_of([&] { at_host.release(fence()); }).code, error_code::invalid_argument);
    b.write(device).release(fence());
    EXPECT_TRUE(b.read(host, {.timeout = 0ns}));
}

TEST_F(an_event, is_asked_without_the_lock) {
    const auto asked = std::make_shared<curious_event>(b);
    b.write(device, {.count = 50}).release(fence(asked));
    b.read(device, {.offset = 500}).release();
    b.read(host, {.offset = 500}).release();
    b.read(host).release();
    EXPECT_FALSE(asked->answers.empty());
    EXPECT_TRUE(asked->could_use);
}

TEST_F(an_event, is_forgotten_some_time_after_it_has_come) {
    std::vector<std::weak_ptr<event>> all;
    for (int i = 0; i < 100; ++i) {
        const auto come = std::make_shared<event>();
        come->finish();
        all.push_back(come);
        b.read(device).release(fence(come));
    }
    EXPECT_LT(std::ranges::count_if(all, [](const auto& each) { return !each.expired(); }), 20);
}

TEST_F(an_event, may_throw_anything) {
    auto own = std::make_unique<buffer>(size);
    own->write(device).release(fence(std::make_shared<odd_event>()));
    EXPECT_THROW(own->read(host), int);
    own->write(device).release(fence(std::make_shared<odd_event>()));
    EXPECT_NO_THROW(own.reset());
    own = std::make_unique<buffer>(size);
    own->write(device).release(fence(std::make_shared<odd_event>()));
    batch(host).sync(*own);  // its end tries
}

/// An event that tells of its failure once, as a future does.
class event_that_fails_once final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds) override {
        if (!std::exchange(told_, true)) throw error(error_code::transfer_failed, "the kernel failed");
        return true;
    }

private:
    bool told_ = false;
};

TEST_F(an_event, that_fails_once_is_told_of_to_the_next_access) {
    for (const space where : {host, device}) {
        b.read_write(device).release(fence(std::make_shared<event_that_fails_once>()));
        EXPECT_EQ(code_of([&] { b.read(where); }), error_code::transfer_failed);
        EXPECT_NO_THROW(b.read(where));
    }
    for (const std::size_t other : {std::size_t{0}, size / 2}) {  // the first access has no use for what failed
        b.acquire(device, access::read_write, {.offset = size / 2})
            .end(fence(std::make_shared<event_that_fails_once>()));
        if (other == 0) b.read(host, {.count = size / 4});
        EXPECT_EQ(code_of([&] { b.read(host, {.offset = size / 2}); }), error_code::transfer_failed);
    }
}

/// An event that is asked while room is made for a copy may not wait for that copy.
TEST_F(an_event, is_refused_what_its_thread_makes_room_for) {
    buffer wanted(size);
    put(wanted, of(size, 7));
    limit_memory(device, size);
    const auto own = std::make_shared<own_event>([&] { wanted.write(device); });
    b.write(device).release(fence(own));
    EXPECT_EQ(content(wanted, device), of(size, 7));
    EXPECT_EQ(own->conflicts, 1);
    limit_memory(device, no_memory_limit);
}

/// Code that is called while room is made with claims may take leases together of other buffers.
TEST_F(an_event, may_take_leases_together_while_its_thread_makes_room) {
    std::array<buffer, 4> others{buffer(size), buffer(size), buffer(size), buffer(size)};
    limit_memory(device, 2 * size);
    bool could = false;
    const auto own = std::make_shared<own_event>([&] {
        std::array<byte_lease, 2> taken;
        lease_together(std::array{wanted_byte_lease{&others[2], host, access::read, {}},
                                  wanted_byte_lease{&others[3], host, access::read, {}}},
                       taken);
        could = taken[0].held() && taken[1].held();
    });
    b.write(device).release(fence(own));
    std::array<byte_lease, 2> taken;
    lease_together(std::array{wanted_byte_lease{&others[0], device, access::read, {.timeout = 60s}},
                              wanted_byte_lease{&others[1], device, access::read, {.timeout = 60s}}},
                   taken);
    EXPECT_TRUE(could);
    limit_memory(device, no_memory_limit);
}

TEST_F(an_event, is_destroyed_with_no_lock_held) {
    for (const bool fails : {false, true}) {
        for (const bool by_write : {false, true}) {
            std::future<void> answer;
            bool could_use = false;
            byte_lease used = b.acquire(device, access::read_write, {});
            used.end(fence(std::make_shared<curious_end>(b, fails, answer, could_use)));
            try {
                by_write ? b.acquire(device, access::write, {}) : b.acquire(host, access::read, {});
            } catch (const error& thrown) {
                EXPECT_TRUE(fails) << thrown.what();
            }
            ASSERT_TRUE(answer.valid());
            EXPECT_TRUE(could_use) << fails << by_write;
            answer.wait();
            put(b, noise(size));
        }
    }
}

}  // namespace
}  // namespace unibuf::test::lease_event_test
