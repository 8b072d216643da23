// tests/contract/buffer_contract.cpp: what users see: a buffer on the host and this space holds one content.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <thread>

#include "contract/contract.hpp"
#include "support/state_story.hpp"
#include "unibuf/batch.hpp"
#include "unibuf/memory_pool.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf::contract::buffer_suite {
namespace {

constexpr std::size_t size = 100003;

/// An element of a size that no device has a name for.
struct element {
    float x, y, z;
};

void host_writes(buffer& to, std::span<const std::byte> content, std::size_t offset = 0) {
    const auto lease = to.write(host, {.offset = offset, .count = content.size()});
    std::ranges::copy(content, lease.begin());
}

bytes host_reads(buffer& from, std::size_t offset = 0, std::size_t count = rest) {
    const auto lease = from.read(host, {.offset = offset, .count = count});
    return bytes(lease.begin(), lease.end());
}

/// Returns what the device has, by making it the newest; what it was shown is left as the host has it.
bytes device_reads(buffer& from, space where) {
    std::byte* const host_copy = const_cast<std::byte*>(from.read(host).data());
    from.read(where).release();
    from.mark_dirty(where);
    if (from.placement(where).placement == placement::mirrored) {
        std::fill_n(host_copy, from.size_bytes(), std::byte{0x5A});  // stale now, and must be fetched anew
    }
    return host_reads(from);
}

/// Makes content on the device.
void device_fills(buffer& to, space where, std::span<const std::byte> pattern) {
    to.read(where).release();
    to.mark_dirty(where);
    to.fill(pattern);
}

buffer_options hinted(memory_hint hint, space where) {
    buffer_options options;
    options.hint = hint;
    options.device = where;
    return options;
}

TEST_P(buffer_contract, gives_the_device_what_the_host_wrote) {
    for (const memory_hint hint : {memory_hint::none, memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        buffer shared(size, hinted(hint, where_));
        for (unsigned round = 1; round <= 3; ++round) {
            host_writes(shared, noise(size, round));
            EXPECT_TRUE(same(device_reads(shared, where_), noise(size, round)));
        }
    }
}

TEST_P(buffer_contract, gives_the_host_what_the_device_wrote) {
    for (const memory_hint hint : {memory_hint::none, memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        unified_buffer<element> made({1000}, hinted(hint, where_));
        made.read(where_).release();
        made.bytes().mark_dirty(where_);
        made.fill({1.0f, 2.0f, 3.0f});
        const auto got = made.read(host);
        for (const element& each : got) ASSERT_TRUE(each.x == 1.0f && each.y == 2.0f && each.z == 3.0f);
    }
}

TEST_P(buffer_contract, keeps_its_content_whatever_a_forked_process_writes) {
    buffer b(size);
    b.fill(std::array{std::byte{7}}, where_);
    const ::pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        for (const space where : {where_, host}) {
            try {
                b.fill(std::array{std::byte{9}}, where);
                b.read(host).release();
            } catch (const error&) {  // the device is the parent's alone
            } catch (...) {
                std::_Exit(1);
            }
        }
        std::_Exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(same(device_reads(b, where_), bytes(size, std::byte{7})));
}

TEST_P(buffer_contract, begins_anew_out_of_a_pool) {
    for (const std::size_t bytes_asked : {std::size_t{4096}, size}) {
        for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
            memory_pool pool;
            for (unsigned round = 1; round <= 4; ++round) {
                buffer taken = pool.acquire(bytes_asked, hinted(hint, where_));
                if (round % 2 == 0) {
                    EXPECT_TRUE(same(device_reads(taken, where_), bytes(bytes_asked)));
                }
                host_writes(taken, noise(bytes_asked, round));
                EXPECT_TRUE(same(device_reads(taken, where_), noise(bytes_asked, round)));
                device_fills(taken, where_, bytes(1, std::byte{7}));
                EXPECT_TRUE(same(host_reads(taken), bytes(bytes_asked, std::byte{7})));
                pool.release(std::move(taken));
            }
        }
    }
}

TEST_P(buffer_contract, is_zero_until_it_is_written) {
    for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        buffer fresh(size, hinted(hint, where_));
        fresh.read(where_).release();
        EXPECT_EQ(fresh.statistics().bytes_moved(), 0u);
        EXPECT_TRUE(same(device_reads(fresh, where_), bytes(size)));
    }
}

TEST_P(buffer_contract, names_the_copy_of_a_lease) {
    buffer known(size);
    const auto lease = known.read(where_, {.offset = 100, .count = 50});
    EXPECT_EQ(lease.native().where, where_);
    EXPECT_NE(lease.native().handle, 0u);
    EXPECT_EQ(lease.native().offset, 100u);
    EXPECT_EQ(lease.native().bytes, 50u);
}

TEST_P(buffer_contract, says_which_side_is_newest) {
    const space before = default_device();
    set_default_device(where_);
    for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        for (const auto make : {test::face_of_cpp, test::face_of_c}) {
            test::follow_states(*make(size, hinted(hint, where_), false), where_);
        }
    }
    set_default_device(before);
}

TEST_P(buffer_contract, begins_on_the_device) {
    buffer followed(size, hinted(memory_hint::gpu_preferred, where_));
    followed.read(where_).release();
    EXPECT_EQ(followed.state(), buffer_state::device_only);
    followed.fill(noise(1));
    EXPECT_EQ(followed.state(), buffer_state::device_dirty);
    EXPECT_TRUE(same(host_reads(followed), bytes(size, noise(1)[0])));
    EXPECT_EQ(followed.state(), buffer_state::synchronized);
}

TEST_P(buffer_contract, mirrors_when_asked_to) {
    const std::uint64_t held_before = memory_in_all().held;
    buffer mirrored(size, hinted(memory_hint::gpu_preferred, where_));
    host_writes(mirrored, noise(size));
    mirrored.read(where_).release();
    EXPECT_EQ(mirrored.placement(where_).placement, placement::mirrored);
    EXPECT_FALSE(mirrored.placement(where_).reason.empty());
    EXPECT_EQ(mirrored.statistics().bytes_moved(), size);
    EXPECT_EQ(mirrored.statistics().transfers_made(), 1u);
    EXPECT_EQ(memory_in_all().held, held_before + 2 * size);
    device_fills(mirrored, where_, noise(1));
    EXPECT_EQ(mirrored.statistics().bytes_moved(), size);
    mirrored.read(host).release();
    EXPECT_EQ(mirrored.statistics().bytes_moved(), 2 * size);
}

TEST_P(buffer_contract, shares_without_moving_a_byte_or_says_why_not) {
    const backends::traits& about = backends::device_of(where_).about();
    for (const memory_hint hint : {memory_hint::cpu_preferred, memory_hint::coherent, memory_hint::streaming}) {
        const std::uint64_t held_before = memory_in_all().held;
        buffer shared(size, hinted(hint, where_));
        for (unsigned round = 1; round <= 3; ++round) {
            host_writes(shared, noise(size, round));
            EXPECT_TRUE(same(device_reads(shared, where_), noise(size, round)));
            device_fills(shared, where_, noise(1, round));
            EXPECT_TRUE(same(host_reads(shared), bytes(size, noise(1, round)[0])));
        }
        EXPECT_FALSE(shared.placement(where_).reason.empty());
        if (about.aliases_host || about.host_visible) {
            EXPECT_EQ(shared.placement(where_).placement, placement::shared) << shared.placement(where_).reason;
        }
        if (shared.placement(where_).placement == placement::shared) {
            EXPECT_EQ(shared.statistics().bytes_moved(), 0u);
            EXPECT_GT(shared.statistics().publications, 0u);
            EXPECT_EQ(memory_in_all().held, held_before + size);
        }
    }
}

TEST_P(buffer_contract, moves_no_byte_that_is_current) {
    buffer moved(size, hinted(memory_hint::gpu_preferred, where_));
    host_writes(moved, noise(size));
    for (int i = 0; i < 3; ++i) {
        moved.read(where_).release();
        moved.read(host).release();
    }
    EXPECT_EQ(moved.statistics().bytes_moved(), size);
}

TEST_P(buffer_contract, moves_exactly_the_range_that_is_marked) {
    buffer moved(size, hinted(memory_hint::gpu_preferred, where_));
    bytes content = noise(size);
    host_writes(moved, content);
    moved.read(where_).release();
    std::byte* const host_copy = const_cast<std::byte*>(moved.read(host).data());
    std::size_t expected = size;

    const bytes patch = noise(77, 2);
    std::ranges::copy(patch, host_copy + 5001);
    std::ranges::copy(patch, content.begin() + 5001);
    moved.mark_host_dirty(5001, 77);
    moved.read(where_).release();
    EXPECT_EQ(moved.statistics().bytes_moved(), expected += 77);

    moved.mark_dirty(where_, 5000, 79);
    std::fill_n(host_copy + 5000, 79, std::byte{0x5A});
    EXPECT_TRUE(same(host_reads(moved), content));
    EXPECT_EQ(moved.statistics().bytes_moved(), expected += 79);
    EXPECT_TRUE(same(device_reads(moved, where_), content));
}

TEST_P(buffer_contract, moves_only_what_a_lease_is_about) {
    buffer moved(size, hinted(memory_hint::gpu_preferred, where_));
    host_writes(moved, noise(size));
    moved.read(where_, {.offset = 10, .count = 1000}).release();
    EXPECT_EQ(moved.statistics().bytes_moved(), 1000u);
    moved.read_write(where_, {.offset = 510, .count = 1000}).release();
    EXPECT_EQ(moved.statistics().bytes_moved(), 1500u);
    moved.write(where_, {.offset = 50000, .count = 1000}).release();
    EXPECT_EQ(moved.statistics().bytes_moved(), 1500u);
    EXPECT_TRUE(same(host_reads(moved, 0, 50000), noise(50000)));
    EXPECT_EQ(moved.statistics().bytes_moved(), 2500u);
}

TEST_P(buffer_contract, fetches_nothing_that_is_overwritten) {
    buffer moved(size, hinted(memory_hint::gpu_preferred, where_));
    device_fills(moved, where_, noise(1));
    host_writes(moved, noise(size));
    moved.write(where_).release();
    moved.fill(noise(1));
    moved.copy_from(noise(size));
    EXPECT_EQ(moved.statistics().bytes_moved(), 0u);
}

TEST_P(buffer_contract, keeps_views_coherent) {
    for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        buffer whole(size, hinted(hint, where_));
        bytes content = noise(size);
        host_writes(whole, content);
        buffer middle = whole.view(1001, 5000);
        buffer inner = middle.view(100, 1200);
        const auto fill = [&](buffer& part, std::size_t begin, const bytes& pattern) {
            part.read_write(where_).release();
            part.fill(pattern);
            std::ranges::copy(repeated(pattern, part.size_bytes()),
                              content.begin() + static_cast<std::ptrdiff_t>(begin));
        };
        fill(middle, 1001, noise(4, 2));
        fill(inner, 1101, noise(12, 3));
        EXPECT_TRUE(same(host_reads(inner), std::span(content).subspan(1101, 1200)));
        host_writes(inner, noise(300, 4), 200);
        std::ranges::copy(noise(300, 4), content.begin() + 1301);
        middle.read(where_).release();
        EXPECT_TRUE(same(host_reads(middle), std::span(content).subspan(1001, 5000)));
        EXPECT_TRUE(same(host_reads(whole), content));
    }
}

TEST_P(buffer_contract, copies_from_and_to_the_host) {
    buffer copied(size, hinted(memory_hint::none, where_));
    bytes content = noise(size);
    copied.copy_from(content);
    copied.read_write(where_).release();
    copied.copy_from(noise(99, 2), 777);
    std::ranges::copy(noise(99, 2), content.begin() + 777);
    copied.read(where_).release();
    bytes got(size);
    copied.copy_to(got);
    EXPECT_TRUE(same(got, content));
}

TEST_P(buffer_contract, starts_to_move_ahead) {
    buffer moved(16 * size, hinted(memory_hint::gpu_preferred, where_));
    host_writes(moved, noise(16 * size));
    moved.prefetch(where_);
    EXPECT_EQ(moved.statistics().bytes_moved(), 16 * size);
    moved.read(where_).release();
    EXPECT_EQ(moved.statistics().bytes_moved(), 16 * size);
    EXPECT_TRUE(same(device_reads(moved, where_), noise(16 * size)));
}

TEST_P(buffer_contract, takes_part_in_batches_both_ways) {
    std::vector<buffer> all;
    for (unsigned i = 0; i < 600; ++i) {
        all.emplace_back(64 + i, buffer_options{.hint = memory_hint::gpu_preferred, .device = where_});
        all.back().copy_from(noise(64 + i));
        all.back().read(where_).release();
    }
    {
        batch there(where_);
        for (unsigned i = static_cast<unsigned>(all.size()); i-- > 0;) {
            there.write(all[i], noise(40, i + 2), 10);
            there.write(all[i], noise(4, i + 3), 60);
        }
        there.submit();
    }
    batch back(host);
    for (buffer& each : all) {
        EXPECT_EQ(each.state(), buffer_state::synchronized);
        each.mark_dirty(where_);  // the bytes that arrived are those that stand
        back.sync(each);
    }
    back.submit();
    for (unsigned i = 0; i < all.size(); ++i) {
        bytes expected = noise(64 + i);
        std::ranges::copy(noise(40, i + 2), expected.begin() + 10);
        std::ranges::copy(noise(4, i + 3), expected.begin() + 60);
        const auto got = all[i].read(host);
        EXPECT_TRUE(same(got, expected)) << i;
    }
}

TEST_P(buffer_contract, never_drops_the_last_current_copy) {
    buffer kept(size, hinted(memory_hint::gpu_preferred, where_));
    device_fills(kept, where_, noise(1));
    std::string message;
    EXPECT_EQ(code_of([&] { kept.discard(where_); }, &message), error_code::access_conflict);
    EXPECT_NE(message.find(where_.name()), std::string::npos) << message;
    kept.read(host).release();
    kept.discard(where_);
    EXPECT_TRUE(same(host_reads(kept), bytes(size, noise(1)[0])));
    EXPECT_TRUE(same(device_reads(kept, where_), bytes(size, noise(1)[0])));
}

TEST_P(buffer_contract, holds_nothing_as_well) {
    buffer nothing(0);
    nothing.read(where_).release();
    nothing.write(host).release();
    nothing.fill(noise(1));
    EXPECT_EQ(nothing.statistics().bytes_moved(), 0u);
}

TEST_P(buffer_contract, holds_any_size) {
    for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        for (const std::size_t count : {1u, 2u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 1000003u}) {
            buffer held(count, hinted(hint, where_));
            host_writes(held, noise(count));
            EXPECT_TRUE(same(device_reads(held, where_), noise(count))) << count;
            device_fills(held, where_, noise(1));
            EXPECT_TRUE(same(host_reads(held), bytes(count, noise(1)[0]))) << count;
        }
    }
}

TEST_P(buffer_contract, serves_threads_with_buffers_of_their_own) {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 8; ++t) {
        threads.emplace_back([this, t] {
            const memory_hint hint = t % 2 == 0 ? memory_hint::gpu_preferred : memory_hint::cpu_preferred;
            for (unsigned round = 1; round <= 5; ++round) {
                buffer own(5000 + t, hinted(hint, where_));
                host_writes(own, noise(5000 + t, 10 * t + round));
                EXPECT_TRUE(same(device_reads(own, where_), noise(5000 + t, 10 * t + round)));
            }
        });
    }
}

TEST_P(buffer_contract, serves_threads_with_ranges_of_one_buffer) {
    constexpr std::size_t part = 4099;
    for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        buffer one(8 * part, hinted(hint, where_));
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 8; ++t) {
            threads.emplace_back([this, &one, t] {
                buffer own = one.view(t * part, part);
                for (unsigned round = 1; round <= 10; ++round) {
                    const bytes content = noise(part, 100 * t + round);
                    host_writes(own, content);
                    own.read_write(where_).release();
                    EXPECT_TRUE(same(host_reads(own), content));
                    own.mark_dirty(where_);
                    own.fill(std::span(content).first(1));
                    EXPECT_TRUE(same(host_reads(own), bytes(part, content[0])));
                }
            });
        }
    }
}

}  // namespace
}  // namespace unibuf::contract::buffer_suite
