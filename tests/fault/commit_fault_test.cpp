// tests/fault/commit_fault_test.cpp: eight accesses to parts of one buffer are at their device at the same time. From
// then on each thread is denied all memory: what has come to pass is noted all the same, also where half of the calls
// fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "backends/backend.hpp"
#include "backends/spaces.hpp"
#include "fault/no_memory.hpp"
#include "support/bytes.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::test::commit_fault_test {
namespace {

constexpr int threads = 8;
constexpr std::size_t rows = 24;
constexpr std::size_t columns = 64;

/// What happens to the first call of a thread at the device.
struct call_plan {
    std::barrier<>* meet = nullptr;  // all threads, before any call goes on; null once it was met
    bool fails = false;              // half of the bytes are moved, then it throws
    std::optional<no_memory> denied;
};
thread_local call_plan planned;

/// Calls run(bytes) with as many bytes as the call moves.
template <class Run>
void carry_out(std::size_t bytes, const Run& run) {
    if (!planned.meet) return run(bytes);
    std::exchange(planned.meet, nullptr)->arrive_and_wait();
    run(planned.fails ? bytes / 2 : bytes);
    const error refused(error_code::transfer_failed, "the call was refused");
    planned.denied.emplace();
    if (planned.fails) throw refused;
}

class gated_memory final : public backends::memory {
public:
    explicit gated_memory(std::size_t bytes) : bytes_(bytes, std::byte{0xC7}) {}

    std::uintptr_t handle() const noexcept override { return reinterpret_cast<std::uintptr_t>(this); }
    fence write(std::size_t offset, std::span<const std::byte> from, queue) override {
        carry_out(from.size(), [&](std::size_t count) { std::copy_n(from.data(), count, &bytes_[offset]); });
        return {};
    }
    fence read(std::size_t offset, std::span<std::byte> to, queue) override {
        carry_out(to.size(), [&](std::size_t count) { std::copy_n(&bytes_[offset], count, to.data()); });
        return {};
    }
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue) override {
        carry_out(bytes, [&](std::size_t count) { std::fill_n(&bytes_[offset], count, pattern.front()); });
        return {};
    }
    std::byte* begin() noexcept { return bytes_.data(); }

private:
    bytes bytes_;
};

class gated_device final : public backends::device {
public:
    gated_device() {
        about_.description = "gated";
        about_.own_memory = true;
    }
    const backends::traits& about() const noexcept override { return about_; }
    std::unique_ptr<backends::memory> allocate(const backends::allocation_request& what) override {
        return std::make_unique<gated_memory>(what.bytes);
    }

private:
    backends::traits about_;
};

space gated() {
    static const space made = backends::add_space("gated", std::make_unique<gated_device>());
    return made;
}

std::byte* bytes_at(const byte_lease& held) {
    if (held.address()) return held.address();
    return reinterpret_cast<gated_memory*>(held.native().handle)->begin() + held.native().offset;
}

enum class verb { sync_to_device, sync_to_host, fill_at_device, copy_to_device };
constexpr std::array verbs{verb::sync_to_device, verb::sync_to_host, verb::fill_at_device, verb::copy_to_device};

constexpr std::array old_value{std::byte{1}};
constexpr std::array newer_value{std::byte{2}};  // of one space, which is to be brought to the other
constexpr std::array new_value{std::byte{7}};    // of what a verb writes

/// The part of one thread: columns of the upper rows, or whole rows below.
struct part {
    std::array<slice, 2> along;

    static part of(int thread) {
        const auto index = static_cast<std::size_t>(thread / 2);
        if (thread % 2 == 0) return {{slice{0, 16}, slice{8 * index + 3, 8 * index + 8}}};
        return {{slice{16 + 2 * index, 18 + 2 * index}, slice{0, columns}}};
    }

    buffer view_of(buffer& all) const { return all.view(shape(rows, columns), 1, along); }
    std::size_t size() const { return (along[0].stop - along[0].start) * (along[1].stop - along[1].start); }

    template <class Act>
    void for_each_index(const Act& act) const {
        for (std::size_t row = along[0].start; row != along[0].stop; ++row) {
            for (std::size_t column = along[1].start; column != along[1].stop; ++column) act(row * columns + column);
        }
    }
};

void prepare(verb next, buffer& view) {
    if (next == verb::sync_to_device) view.fill(newer_value, host);
    if (next == verb::sync_to_host) view.fill(newer_value, gated());
}

void carry_out(verb now, buffer& view, std::span<const std::byte> data) {
    switch (now) {
        case verb::sync_to_device:
            return view.prefetch(gated());
        case verb::sync_to_host:
            return view.sync_to_host();
        case verb::fill_at_device:
            return view.fill(new_value, gated());
        case verb::copy_to_device:
            return view.copy_from(data, gated());
    }
}

/// Returns whether the verb did what it was to do.
bool is_done_at(std::barrier<>& meet, bool fails, verb now, buffer& view, std::span<const std::byte> data) {
    planned.meet = &meet;
    planned.fails = fails;
    bool done = true;
    try {
        carry_out(now, view, data);
    } catch (const std::exception&) {
        done = false;
    }
    EXPECT_EQ(planned.meet, nullptr) << "the device was not asked";
    planned.denied.reset();
    return done;
}

bytes content_at(buffer& all, space where) {
    const byte_lease held = all.acquire(where, access::read, {});
    const std::byte* const first = bytes_at(held);
    return {first, first + held.native().bytes};
}

TEST(commits, of_eight_accesses_that_are_under_way_together_need_no_memory) {
    for (int round = 0; round != 64; ++round) {
        buffer all(rows * columns);
        all.fill(old_value, host);
        all.read(gated()).release();
        bytes expected(rows * columns, old_value.front());
        std::array<bool, threads> done{};
        std::barrier meet(threads);
        std::vector<std::optional<buffer>> views(threads);
        const auto verb_of = [&](int thread) {
            return verbs[static_cast<std::size_t>(thread + thread / 4 + round) % 4];
        };
        const auto fails = [&](int thread) { return (round >> 2 & 1 << thread % 3) != 0; };
        for (int t = 0; t != threads; ++t) {
            buffer& view = views[static_cast<std::size_t>(t)].emplace(part::of(t).view_of(all));
            prepare(verb_of(t), view);
        }
        {
            std::vector<std::jthread> running;
            for (int t = 0; t != threads; ++t) {
                running.emplace_back([&, t] {
                    const bytes data(part::of(t).size(), new_value.front());
                    const auto index = static_cast<std::size_t>(t);
                    done[index] = is_done_at(meet, fails(t), verb_of(t), *views[index], data);
                });
            }
        }
        const bytes at_device = content_at(all, gated());
        const bytes at_host = content_at(all, host);
        ASSERT_TRUE(same(at_host, at_device)) << "round " << round;
        for (int t = 0; t != threads; ++t) {
            const bool is_sync = verb_of(t) == verb::sync_to_device || verb_of(t) == verb::sync_to_host;
            const bool is_done = done[static_cast<std::size_t>(t)];
            EXPECT_NE(is_done, fails(t)) << "round " << round << ", thread " << t;
            part::of(t).for_each_index([&](std::size_t at) {
                const std::byte before = is_sync ? newer_value.front() : old_value.front();
                const bool is_new = !is_sync && (is_done || at_host[at] == new_value.front());
                expected[at] = is_new ? new_value.front() : before;
            });
        }
        ASSERT_TRUE(same(at_host, expected)) << "round " << round;
        all.write(host, {.timeout = std::chrono::seconds(10)}).release();  // nothing is claimed any more
    }
}

}  // namespace
}  // namespace unibuf::test::commit_fault_test
