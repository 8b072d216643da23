// tests/contract/sharing_contract.cpp: tests memory that host and device share, where a device has such.
#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

#include "coherence/byte_ranges.hpp"
#include "contract/contract.hpp"

namespace unibuf::contract::sharing_suite {
namespace {

constexpr std::size_t size = 64 * 1024;

/// Memory that is shared, used as the buffer uses it: each side is shown a range before it touches it.
class shared_memory {
public:
    /// Makes memory of the host that the device uses in place.
    static shared_memory alias(backends::device& device, std::size_t count,
                               const backends::allocation_request& what = {}) {
        shared_memory made;
        // The host's memory is whole pages, as some devices use nothing smaller in place.
        made.owner_ = backends::device_of(host).allocate({.bytes = count, .whole_pages = true});
        made.host_ = {made.owner_->host_address(), count};
        made.memory_ = device.alias(made.host_, {.bytes = count, .access = what.access, .hint = what.hint});
        return made;
    }

    /// Makes memory of the device that the host addresses.
    static shared_memory visible(backends::device& device, std::size_t count,
                                 const backends::allocation_request& what = {}) {
        shared_memory made;
        made.memory_ = device.allocate_visible({.bytes = count, .access = what.access, .hint = what.hint});
        made.host_ = {made.memory_->host_address(), count};
        return made;
    }

    void show_host(std::size_t offset, std::size_t count, access what) {
        const byte_range all{offset, offset + count};
        byte_ranges lacking;
        with_newest([&](const byte_ranges& at_device) { lacking = at_device.clipped_to(all); });
        show(all, lacking, what, [&](byte_range each, access for_what) {
            return memory_->publish_to_host(each.begin, each.size(), for_what, {});
        });
        with_newest([&](byte_ranges& at_device) { at_device.take_out(all); });
    }
    void show_device(std::size_t offset, std::size_t count, access what) {
        const byte_range all{offset, offset + count};
        byte_ranges lacking = all;
        with_newest([&](byte_ranges& at_device) { lacking.take_out(at_device); });
        show(all, lacking, what, [&](byte_range each, access for_what) {
            return memory_->publish_to_device(each.begin, each.size(), for_what, {});
        });
        if (what != access::read) with_newest([&](byte_ranges& at_device) { at_device.add(all); });
    }

    bytes host_reads(std::size_t offset, std::size_t count) {
        show_host(offset, count, access::read);
        const auto range = host_.subspan(offset, count);
        return bytes(range.begin(), range.end());
    }
    void host_writes(std::size_t offset, std::span<const std::byte> content, access what = access::write) {
        show_host(offset, content.size(), what);
        std::ranges::copy(content, host_.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    bytes device_reads(std::size_t offset, std::size_t count) {
        show_device(offset, count, access::read);
        return get(*memory_, offset, count);
    }
    void device_writes(std::size_t offset, std::span<const std::byte> content, access what = access::write) {
        show_device(offset, content.size(), what);
        put(*memory_, offset, content);
    }
    void device_fills(std::size_t offset, std::size_t count, std::span<const std::byte> pattern) {
        show_device(offset, count, access::write);
        memory_->fill(offset, count, pattern, {}).wait();
    }

    backends::memory& memory() { return *memory_; }
    std::span<std::byte> host_bytes() const { return host_; }

private:
    /// Calls `use` with the bytes of which the device has the newest.
    template <class Use>
    void with_newest(Use use) {
        const std::scoped_lock lock(*mutex_);
        use(newest_at_device_);
    }

    /// Publishes all of the range, or, where that moves bytes, the pieces of which the side lacks the newest.
    template <class Publish>
    void show(byte_range all, const byte_ranges& lacking, access what, Publish publish) {
        if (!memory_->publishes_content()) return void(publish(all, what).wait());
        publish(all, access::write).wait();
        if (what == access::write) return;
        for (const byte_range& each : lacking) publish(each, what).wait();
    }

    std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
    byte_ranges newest_at_device_;
    std::unique_ptr<backends::memory> owner_;
    std::unique_ptr<backends::memory> memory_;  // goes before the memory that it uses
    std::span<std::byte> host_;
};

/// Makes one memory of every kind of shared memory that the device has.
std::vector<shared_memory> each_kind(backends::device& device, std::size_t count,
                                     const backends::allocation_request& what = {}) {
    std::vector<shared_memory> made;
    if (device.about().aliases_host) made.push_back(shared_memory::alias(device, count, what));
    if (device.about().host_visible) made.push_back(shared_memory::visible(device, count, what));
    return made;
}

TEST_P(sharing_contract, addresses_shared_memory_where_the_host_does) {
    for (shared_memory& each : each_kind(device(), size)) {
        ASSERT_NE(each.host_bytes().data(), nullptr);
        EXPECT_EQ(each.memory().host_address(), each.host_bytes().data());
        EXPECT_NE(each.memory().handle(), 0u);
    }
}

TEST_P(sharing_contract, shows_what_it_shares_to_the_host_first) {
    for (shared_memory& each : each_kind(device(), size)) {
        const bytes content = noise(size);
        std::ranges::copy(content, each.host_bytes().begin());
        EXPECT_TRUE(same(each.device_reads(0, size), content));
    }
}

TEST_P(sharing_contract, uses_what_is_in_the_hosts_memory_already) {
    if (!about().aliases_host) GTEST_SKIP() << about().description << " does not use the host's memory in place";
    const auto block = backends::device_of(host).allocate({.bytes = size});
    const bytes content = noise(size);
    std::ranges::copy(content, block->host_address());
    const auto shared = device().alias({block->host_address(), size}, {.bytes = size});
    EXPECT_TRUE(same({block->host_address(), size}, content));
    shared->publish_to_device(0, size, access::read, {}).wait();
    EXPECT_TRUE(same(get(*shared, 0, size), content));
}

TEST_P(sharing_contract, leaves_the_hosts_memory_as_it_was_last) {
    if (!about().aliases_host) GTEST_SKIP() << about().description << " does not use the host's memory in place";
    const auto block = backends::device_of(host).allocate({.bytes = size});
    const bytes content = noise(size);
    for (const bool show_host : {true, false}) {
        auto shared = device().alias({block->host_address(), size}, {.bytes = size});
        shared->publish_to_device(0, size, access::write, {}).wait();
        put(*shared, 0, content);
        shared->publish_to_host(0, show_host ? size : size / 2, access::read, {}).wait();
        shared.reset();
        EXPECT_TRUE(same({block->host_address(), size / 2}, std::span(content).first(size / 2)));
        EXPECT_TRUE(block->host_address()[0] == content[0]);
        std::fill_n(block->host_address(), size, std::byte{1});
    }
}

TEST_P(sharing_contract, shows_each_side_what_the_other_wrote) {
    for (shared_memory& each : each_kind(device(), size)) {
        for (unsigned round = 1; round <= 5; ++round) {
            const bytes by_host = noise(size, 2 * round);
            each.host_writes(0, by_host);
            EXPECT_TRUE(same(each.device_reads(0, size), by_host));
            EXPECT_TRUE(same(each.host_reads(0, size), by_host));
            const bytes pattern = noise(16, 2 * round + 1);
            each.device_fills(0, size, pattern);
            EXPECT_TRUE(same(each.host_reads(0, size), repeated(pattern, size)));
            EXPECT_TRUE(same(each.device_reads(0, size), repeated(pattern, size)));
        }
    }
}

TEST_P(sharing_contract, keeps_what_is_read_and_then_written) {
    for (shared_memory& each : each_kind(device(), size)) {
        bytes content = noise(size);
        each.host_writes(0, content);
        const bytes patch = noise(100, 2);
        each.show_device(0, size, access::read_write);
        put(each.memory(), 1000, patch);
        std::ranges::copy(patch, content.begin() + 1000);
        each.show_host(0, size, access::read_write);
        EXPECT_TRUE(same(each.host_bytes(), content));
        each.host_bytes()[5000] ^= std::byte{0xFF};
        content[5000] ^= std::byte{0xFF};
        EXPECT_TRUE(same(each.device_reads(0, size), content));
    }
}

TEST_P(sharing_contract, shows_parts) {
    for (shared_memory& each : each_kind(device(), size)) {
        bytes content = noise(size);
        each.host_writes(0, content);

        // The device takes the middle; the host keeps both ends, and writes there meanwhile.
        const bytes middle = noise(10001, 2);
        each.device_writes(4097, middle);
        std::ranges::copy(middle, content.begin() + 4097);
        const bytes ends = noise(4097, 3);
        std::ranges::copy(ends, each.host_bytes().begin());
        std::ranges::copy(ends, content.begin());
        each.host_bytes()[size - 1] = content[size - 1] = std::byte{42};

        EXPECT_TRUE(same(each.device_reads(0, size), content));
        EXPECT_TRUE(same(each.host_reads(4097, 10001), middle));
        EXPECT_TRUE(same(each.host_reads(0, size), content));
    }
}

TEST_P(sharing_contract, shows_parts_in_any_order) {
    constexpr std::size_t part = size / 16;
    for (shared_memory& each : each_kind(device(), size)) {
        bytes content = noise(size);
        each.host_writes(0, content);
        for (unsigned step = 1; step <= 200; ++step) {
            const std::size_t first = step * 7 % 16;
            const std::size_t count = std::min<std::size_t>(1 + step * 5 % 4, 16 - first) * part;
            const bytes next = noise(count, step);
            const access what = step % 3 == 0 ? access::read_write : access::write;
            if (step % 2 == 0) {
                each.host_writes(first * part, next, what);
            } else {
                each.device_writes(first * part, next, what);
            }
            std::ranges::copy(next, content.begin() + static_cast<std::ptrdiff_t>(first * part));
            if (step % 10 == 0) {
                EXPECT_TRUE(same(each.device_reads(0, size), content)) << step;
            }
            if (step % 15 == 0) {
                EXPECT_TRUE(same(each.host_reads(0, size), content)) << step;
            }
        }
    }
}

TEST_P(sharing_contract, does_no_harm_when_shown_twice) {
    for (shared_memory& each : each_kind(device(), size)) {
        const bytes content = noise(size);
        each.show_host(0, size, access::read_write);
        each.host_writes(0, content);
        for (int i = 0; i < 3; ++i) each.show_device(0, size, access::read);
        EXPECT_TRUE(same(each.device_reads(0, size), content));
        for (int i = 0; i < 3; ++i) each.show_host(0, size, access::read);
        each.show_host(0, size, access::read_write);
        each.show_host(0, size, access::read_write);
        EXPECT_TRUE(same(each.host_bytes(), content));
        each.show_device(100, size - 100, access::read_write);
        each.show_device(0, size, access::read_write);
        EXPECT_TRUE(same(each.device_reads(0, size), content));
    }
}

TEST_P(sharing_contract, lets_both_sides_read) {
    for (shared_memory& each : each_kind(device(), size)) {
        const bytes content = noise(size);
        each.host_writes(0, content);
        each.show_device(0, size, access::read);
        each.show_host(0, size, access::read);
        std::jthread host_side([&] { EXPECT_TRUE(same(each.host_bytes(), content)); });
        EXPECT_TRUE(same(get(each.memory(), 0, size), content));
    }
}

TEST_P(sharing_contract, shares_any_size) {
    for (const std::size_t count : {1u, 36u, 64u, 100u, 4095u, 4096u, 4097u, 1000003u}) {
        for (shared_memory& each : each_kind(device(), count)) {
            const bytes content = noise(count);
            each.host_writes(0, content);
            EXPECT_TRUE(same(each.device_reads(0, count), content)) << count;
            each.device_fills(0, count, std::span(content).first(1));
            EXPECT_TRUE(same(each.host_reads(0, count), bytes(count, content[0]))) << count;
        }
    }
}

TEST_P(sharing_contract, shares_for_every_purpose) {
    using enum memory_hint;
    for (const host_access access : {host_access::read_write, host_access::read_only, host_access::write_only}) {
        for (const memory_hint hint : {none, cpu_preferred, gpu_preferred, coherent, streaming}) {
            for (shared_memory& each : each_kind(device(), size, {.access = access, .hint = hint})) {
                const bytes content = noise(size);
                if (access != host_access::read_only) {
                    each.host_writes(0, content);
                    EXPECT_TRUE(same(each.device_reads(0, size), content));
                }
                if (access != host_access::write_only) {
                    each.device_writes(0, content);
                    EXPECT_TRUE(same(each.host_reads(0, size), content));
                }
            }
        }
    }
}

TEST_P(sharing_contract, shares_parts_of_one_memory_with_threads) {
    constexpr std::size_t part = size / 8;
    for (shared_memory& each : each_kind(device(), size)) {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 8; ++t) {
            threads.emplace_back([&each, t] {
                for (unsigned round = 0; round < 20; ++round) {
                    const bytes by_host = noise(part, 100 * t + round + 1);
                    each.host_writes(t * part, by_host);
                    EXPECT_TRUE(same(each.device_reads(t * part, part), by_host));
                    each.device_fills(t * part, part, std::span(by_host).first(4));
                    EXPECT_TRUE(same(each.host_reads(t * part, part), repeated(std::span(by_host).first(4), part)));
                }
            });
        }
    }
}

}  // namespace
}  // namespace unibuf::contract::sharing_suite
