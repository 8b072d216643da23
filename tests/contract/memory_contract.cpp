// tests/contract/memory_contract.cpp: memory keeps what is put into it, byte for byte.
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <thread>

#include "contract/contract.hpp"

namespace unibuf::contract::memory_suite {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

TEST_P(backend_contract, says_what_it_is) { EXPECT_FALSE(about().description.empty()); }

TEST_P(backend_contract, returns_what_was_written_at_any_offset_and_size) {
    const std::size_t size = 10007;
    const auto memory = allocate(size);
    bytes content = noise(size);
    put(*memory, 0, content);
    unsigned seed = 2;
    for (const std::size_t offset : {0u, 1u, 3u, 64u, 4095u, 4096u, 9999u}) {
        for (const std::size_t count : {1u, 2u, 7u, 8u, 64u, 1001u, 4097u}) {
            if (offset + count > size) continue;
            const bytes part = noise(count, ++seed);
            put(*memory, offset, part);
            std::ranges::copy(part, content.begin() + static_cast<std::ptrdiff_t>(offset));
            EXPECT_TRUE(same(get(*memory, offset, count), part)) << count << " bytes at " << offset;
        }
    }
    EXPECT_TRUE(same(get(*memory, 0, size), content));
}

TEST_P(backend_contract, returns_what_was_written_to_host_memory_at_any_address) {
    const auto memory = allocate(4096);
    const bytes content = noise(4096);
    put(*memory, 0, content);
    bytes to(4096 + 3);
    memory->read(1, std::span(to).subspan(3, 4001), {}).wait();
    EXPECT_TRUE(same(std::span(to).subspan(3, 4001), std::span(content).subspan(1, 4001)));
    memory->write(5, std::span(content).subspan(9, 1001), {}).wait();
    EXPECT_TRUE(same(get(*memory, 5, 1001), std::span(content).subspan(9, 1001)));
}

TEST_P(backend_contract, keeps_a_single_byte) {
    const auto memory = allocate(1);
    const bytes content = noise(1);
    put(*memory, 0, content);
    EXPECT_TRUE(same(get(*memory, 0, 1), content));
}

TEST_P(backend_contract, keeps_many_bytes) {
    const std::size_t size = 16 * mebibyte + 3;
    const auto memory = allocate(size);
    const bytes content = noise(size);
    put(*memory, 0, content);
    EXPECT_TRUE(same(get(*memory, 0, size), content));
}

TEST_P(backend_contract, serves_every_purpose) {
    using enum memory_hint;
    const bytes content = noise(4099);
    for (const host_access access : {host_access::read_write, host_access::read_only, host_access::write_only}) {
        for (const memory_hint hint : {none, cpu_preferred, gpu_preferred, coherent, streaming}) {
            const auto memory = device().allocate({.bytes = content.size(), .access = access, .hint = hint});
            put(*memory, 0, content);
            EXPECT_TRUE(same(get(*memory, 0, content.size()), content));
        }
    }
}

TEST_P(backend_contract, fills_with_a_pattern_of_any_size) {
    const std::size_t size = 20011;
    for (const std::size_t pattern_size : {1u, 2u, 3u, 4u, 7u, 8u, 12u, 16u, 24u, 128u, 200u, 1000u}) {
        const bytes pattern = noise(pattern_size, static_cast<unsigned>(pattern_size));
        for (const std::size_t offset : {std::size_t{0}, pattern_size, std::size_t{1}, std::size_t{37}}) {
            for (const std::size_t repeats : {1u, 2u, 3u, 17u}) {
                const std::size_t count = pattern_size * repeats;
                if (offset + count > size) continue;
                const auto memory = allocate(size);
                bytes content = noise(size);
                put(*memory, 0, content);
                memory->fill(offset, count, pattern, {}).wait();
                std::ranges::copy(repeated(pattern, count), content.begin() + static_cast<std::ptrdiff_t>(offset));
                EXPECT_TRUE(same(get(*memory, 0, size), content))
                    << repeats << " times " << pattern_size << " bytes at " << offset;
            }
        }
    }
}

TEST_P(backend_contract, fills_a_mebibyte) {
    for (const std::size_t pattern_size : {1u, 2u, 3u, 4u, 8u, 12u, 16u}) {
        const std::size_t size = mebibyte / pattern_size * pattern_size;
        const bytes pattern = noise(pattern_size, 7);
        const auto memory = allocate(size + 24);
        put(*memory, 0, bytes(size + 24));
        memory->fill(pattern_size, size, pattern, {}).wait();
        EXPECT_TRUE(same(get(*memory, pattern_size, size), repeated(pattern, size))) << pattern_size;
        EXPECT_TRUE(same(get(*memory, 0, pattern_size), bytes(pattern_size))) << pattern_size;
        const std::size_t behind = size + pattern_size;
        EXPECT_TRUE(same(get(*memory, behind, size + 24 - behind), bytes(size + 24 - behind))) << pattern_size;
    }
}

TEST_P(backend_contract, keeps_the_order_of_work_that_nobody_waits_for) {
    const auto memory = allocate(mebibyte);
    const bytes first = noise(mebibyte, 3);
    const bytes second = noise(kibibyte, 4);
    const bytes zero(1);
    bytes got(mebibyte);
    memory->write(0, first, {});
    memory->fill(0, mebibyte / 2, zero, {});
    memory->write(kibibyte, second, {});
    memory->read(0, got, {}).wait();

    bytes wanted = first;
    std::fill_n(wanted.begin(), mebibyte / 2, std::byte{0});
    std::ranges::copy(second, wanted.begin() + kibibyte);
    EXPECT_TRUE(same(got, wanted));
}

TEST_P(backend_contract, keeps_allocations_apart) {
    constexpr std::size_t count = 16;
    std::vector<std::unique_ptr<backends::memory>> memories;
    std::set<std::uintptr_t> handles;
    for (unsigned i = 0; i < count; ++i) {
        memories.push_back(allocate(5000));
        put(*memories.back(), 0, noise(5000, i + 1));
        EXPECT_NE(memories.back()->handle(), 0u);
        handles.insert(memories.back()->handle());
    }
    EXPECT_EQ(handles.size(), count);
    for (unsigned i = 0; i < count; i += 2) memories[i].reset();
    for (unsigned i = 1; i < count; i += 2) EXPECT_TRUE(same(get(*memories[i], 0, 5000), noise(5000, i + 1)));
}

TEST_P(backend_contract, says_that_handles_are_addresses_where_the_host_has_the_same) {
    const auto memory = allocate(5000);
    if (memory->handle() != reinterpret_cast<std::uintptr_t>(memory->host_address())) GTEST_SKIP() << "it has another";
    EXPECT_TRUE(about().addresses) << "traits::addresses: programs make pointers of handles where it is set";
}

TEST_P(backend_contract, starts_zero_only_where_it_says_so) {
    // This memory was used before, so that it is not zero by chance.
    for (int i = 0; i < 4; ++i) put(*allocate(64 * kibibyte), 0, noise(64 * kibibyte));
    for (const std::size_t size : {1u, 100u, 4096u, 65536u}) {
        const auto memory = allocate(size);
        if (memory->starts_zero()) {
            EXPECT_TRUE(same(get(*memory, 0, size), bytes(size)));
        }
    }
}

TEST_P(backend_contract, shows_the_host_the_bytes_that_it_can_address) {
    const auto memory = allocate(5000);
    if (!memory->host_address()) return;
    const bytes content = noise(5000);
    put(*memory, 0, content);
    memory->publish_to_host(0, 5000, access::read, {}).wait();
    EXPECT_TRUE(same({memory->host_address(), 5000}, content));
}

TEST_P(backend_contract, shares_memory_where_it_says_so_and_nowhere_else) {
    constexpr std::size_t size = 64 * kibibyte;
    const auto block = backends::device_of(host).allocate({.bytes = size});
    const auto alias = [&] { device().alias({block->host_address(), size}, {.bytes = size}); };
    const auto allocate_visible = [&] { device().allocate_visible({.bytes = size}); };
    const auto check = [&](bool claimed, const std::function<void()>& call) {
        if (claimed) return call();
        std::string message;
        EXPECT_EQ(code_of(call, &message), error_code::unsupported);
        EXPECT_NE(message.find(about().description), std::string::npos) << message;
    };
    check(about().aliases_host, alias);
    check(about().host_visible, allocate_visible);
}

TEST_P(backend_contract, tells_how_much_memory_there_is) {
    const memory_info now = memory_of(where_);
    EXPECT_EQ(now.total == 0, about().memory_bytes == 0);
    EXPECT_LE(now.free.value_or(0), now.total);
    for (const device_property& each : about().properties) EXPECT_FALSE(each.name.empty() || each.value.empty());
}

TEST_P(backend_contract, refuses_absurd_sizes_and_stays_usable) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    for (const std::size_t size : {most, most - 4095, most / 2, most / 16, std::size_t{1} << 50}) {
        std::string message;
        EXPECT_EQ(code_of([&] { allocate(size)->handle(); }, &message), error_code::out_of_memory) << size;
        EXPECT_NE(message.find(std::to_string(size)), std::string::npos) << message;
    }
    const auto memory = allocate(1000);
    put(*memory, 0, noise(1000));
    EXPECT_TRUE(same(get(*memory, 0, 1000), noise(1000)));
}

TEST_P(backend_contract, serves_threads_with_memory_of_their_own) {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 8; ++t) {
        threads.emplace_back([this, t] {
            for (unsigned round = 0; round < 8; ++round) {
                const std::size_t size = 3000 + 997 * t;
                const bytes content = noise(size, 100 * t + round + 1);
                const auto memory = allocate(size);
                put(*memory, 0, content);
                EXPECT_TRUE(same(get(*memory, 0, size), content));
                memory->fill(0, 16, std::span(content).last(16), {}).wait();
                EXPECT_TRUE(same(get(*memory, 0, 16), std::span(content).last(16)));
            }
        });
    }
}

TEST_P(backend_contract, serves_threads_with_parts_of_one_memory) {
    constexpr std::size_t part = 3001;
    const auto memory = allocate(8 * part);
    {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 8; ++t) {
            threads.emplace_back([&memory, t] {
                for (unsigned round = 0; round < 8; ++round) {
                    const bytes content = noise(part, 100 * t + round + 1);
                    put(*memory, t * part, content);
                    EXPECT_TRUE(same(get(*memory, t * part, part), content));
                }
            });
        }
    }
    for (unsigned t = 0; t < 8; ++t) EXPECT_TRUE(same(get(*memory, t * part, part), noise(part, 100 * t + 8)));
}

TEST_P(backend_contract, moves_parts_of_many_memories_together) {
    constexpr std::size_t many = 700;
    constexpr std::size_t gap = 3;  // bytes at both ends of each part, where nothing may come
    std::vector<std::unique_ptr<backends::memory>> memories;
    std::vector<bytes> sent;
    std::vector<bytes> fetched;
    std::vector<backends::move_of> there;
    std::vector<backends::move_of> back;
    for (unsigned i = 0; i < many; ++i) {
        const std::size_t count = i % 100 == 7 ? 200'000 : 1 + i;
        memories.push_back(allocate(count + 2 * gap));
        put(*memories.back(), 0, bytes(count + 2 * gap, std::byte{0xEE}));
        sent.push_back(noise(count, i + 1));
        fetched.emplace_back(count);
    }
    for (unsigned i = 0; i < many; ++i) {
        there.push_back({memories[i].get(), gap, sent[i]});
        back.push_back({memories[i].get(), gap, fetched[i]});
    }
    const auto move = [&](backends::direction way, std::span<const backends::move_of> moves) {
        backends::fences done;
        device().move_many(way, moves, done);
        for (const fence& each : done) each.wait();
    };
    move(backends::direction::to_device, there);
    for (const std::size_t i : {std::size_t{0}, std::size_t{7}, std::size_t{300}, many - 1}) {
        const std::size_t count = sent[i].size();
        EXPECT_TRUE(same(get(*memories[i], gap, count), sent[i])) << i;
        EXPECT_TRUE(same(get(*memories[i], 0, gap), bytes(gap, std::byte{0xEE}))) << i;
        EXPECT_TRUE(same(get(*memories[i], gap + count, gap), bytes(gap, std::byte{0xEE}))) << i;
    }
    move(backends::direction::to_host, back);
    EXPECT_EQ(fetched, sent);
}

TEST_P(backend_contract, moves_several_parts_of_some_memories_together) {
    constexpr std::size_t count = 600;
    constexpr std::size_t part = 100;
    const std::array memories{allocate(count), allocate(count), allocate(count)};
    std::vector<bytes> wanted;
    std::vector<bytes> fetched;
    for (unsigned i = 0; i < memories.size(); ++i) {
        put(*memories[i], 0, noise(count, i + 1));
        wanted.push_back(noise(count, i + 1));
        fetched.emplace_back(count);
    }
    std::vector<bytes> sent;
    std::vector<backends::move_of> there;
    std::vector<backends::move_of> back;
    for (const auto& [index, offset] : {std::pair{2, 100}, {1, 0}, {2, 300}, {0, 500}, {1, 200}, {2, 500}}) {
        const auto which = static_cast<std::size_t>(index);
        const auto at = static_cast<std::size_t>(offset);
        sent.push_back(noise(part, static_cast<unsigned>(10 + sent.size())));
        std::ranges::copy(sent.back(), wanted[which].begin() + offset);
        there.push_back({memories[which].get(), at, sent.back()});
        back.push_back({memories[which].get(), at, std::span(fetched[which]).subspan(at, part)});
    }
    const auto move = [&](backends::direction way, std::span<const backends::move_of> moves) {
        backends::fences done;
        device().move_many(way, moves, done);
        for (const fence& each : done) each.wait();
    };
    move(backends::direction::to_device, there);
    for (std::size_t i = 0; i < memories.size(); ++i) EXPECT_TRUE(same(get(*memories[i], 0, count), wanted[i])) << i;
    std::ranges::reverse(back);
    move(backends::direction::to_host, back);
    for (const backends::move_of& each : back) {
        EXPECT_TRUE(same(each.host, get(*each.of, each.offset, part))) << each.offset;
    }
}

TEST_P(backend_contract, frees_memory_on_another_thread) {
    auto memory = allocate(5000);
    put(*memory, 0, noise(5000));
    std::jthread([freed = std::move(memory)] {});
    const auto next = allocate(5000);
    put(*next, 0, noise(5000, 2));
    EXPECT_TRUE(same(get(*next, 0, 5000), noise(5000, 2)));
}

}  // namespace
}  // namespace unibuf::contract::memory_suite
