// tests/fault/verb_fault_test.cpp: every verb, with each call to the device that it makes failing once.
//
// After the failure the error tells what it was and of which buffer, the state is as before or better, every space
// reads what was newest, and the same verb succeeds.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "coherence/byte_range.hpp"
#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/error.hpp"

namespace unibuf::test::verb_fault_test {
namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t size = 64;
constexpr byte_range middle{16, 48};  // what verbs that take a range are about

bytes content(unsigned seed) {
    bytes result(size);
    for (std::size_t i = 0; i < size; ++i) result[i] = static_cast<std::byte>(seed * 71u + i * 3u + 1u);
    return result;
}

/// Returns `whole` with the bytes of `middle` taken from `with`.
bytes patched(bytes whole, const bytes& with) {
    std::copy(with.begin() + middle.begin, with.begin() + middle.end, whole.begin() + middle.begin);
    return whole;
}

struct scene {
    const char* name;
    fake_traits does;

    friend void PrintTo(const scene& of, std::ostream* out) { *out << of.name; }
};

enum class calls_device { always, where_shared, never };

/// A verb, where the newest content is before it, and what it is after it.
struct verb_case {
    const char* name;
    bool newest_on_device;
    void (*call)(buffer&, space);
    bytes (*after)(const bytes& before);
    calls_device calls = calls_device::always;

    friend void PrintTo(const verb_case& of, std::ostream* out) { *out << of.name; }
};

bytes kept(const bytes& before) { return before; }
bytes replaced(const bytes&) { return content(9); }
bytes patched_with_9(const bytes& before) { return patched(before, content(9)); }

void put(const native_memory& at, const bytes& from, std::size_t begin) {
    const std::span part(from.data() + begin, at.bytes);
    if (at.where == host) {
        std::memcpy(at.as<std::byte>(), part.data(), part.size());
    } else {
        kernel_write(at, 0, part);
    }
}

constexpr access_options in_middle{.offset = middle.begin, .count = middle.end - middle.begin};

const std::vector<verb_case> verbs_with_faults{
    {"read_at_device", false, [](buffer& b, space d) { b.read(d).release(); }, kept},
    {"read_at_host", true, [](buffer& b, space) { b.read(host).release(); }, kept},
    {"read_part_at_device", false, [](buffer& b, space d) { b.read(d, in_middle).release(); }, kept},
    {"write_at_device", false, [](buffer& b, space d) { put(b.write(d).native(), content(9), 0); }, replaced},
    {"write_at_host", true, [](buffer& b, space) { put(b.write(host).native(), content(9), 0); }, replaced,
     calls_device::where_shared},
    {"write_part_at_device", false,
     [](buffer& b, space d) { put(b.write(d, in_middle).native(), content(9), middle.begin); }, patched_with_9},
    {"write_part_at_host", true,
     [](buffer& b, space) { put(b.write(host, in_middle).native(), content(9), middle.begin); }, patched_with_9,
     calls_device::where_shared},
    {"read_write_at_device", false, [](buffer& b, space d) { put(b.read_write(d).native(), content(9), 0); }, replaced},
    {"read_write_at_host", true, [](buffer& b, space) { put(b.read_write(host).native(), content(9), 0); }, replaced},
    {"host_pointer", true, [](buffer& b, space) { std::memcpy(b.host(), content(9).data(), size); }, replaced},
    {"host_pointer_to_read", true, [](buffer& b, space) { std::as_const(b).host(); }, kept},
    {"device_handle", false, [](buffer& b, space) { b.device(); }, kept},
    {"device_handle_and_mark", false,
     [](buffer& b, space) {
         put(b.device(), content(9), 0);
         b.mark_device_dirty();
     },
     replaced},
    {"sync_to_device", false, [](buffer& b, space) { b.sync_to_device(); }, kept},
    {"sync_to_host", true, [](buffer& b, space) { b.sync_to_host(); }, kept},
    {"sync_part_to_host", true, [](buffer& b, space) { b.sync_to_host(middle.begin, middle.size()); }, kept},
    {"prefetch_to_device", false, [](buffer& b, space d) { b.prefetch(d); }, kept},
    {"prefetch_to_host", true, [](buffer& b, space) { b.prefetch(host); }, kept},
    {"fill", true, [](buffer& b, space) { b.fill(std::vector{std::byte{7}}); },
     [](const bytes&) { return bytes(size, std::byte{7}); }},
    {"copy_from", true, [](buffer& b, space) { b.copy_from(content(9)); }, replaced, calls_device::where_shared},
    {"copy_part_from", true,
     [](buffer& b, space) {
         const bytes from = content(9);
         b.copy_from(std::span(from).subspan(middle.begin, middle.size()), middle.begin);
     },
     patched_with_9, calls_device::where_shared},
    {"copy_to", true,
     [](buffer& b, space) {
         bytes got(size);
         b.copy_to(got);
         EXPECT_EQ(got, content(1));
     },
     kept},
    {"discard_host", true,
     [](buffer& b, space) {
         b.read(host).release();
         b.discard(host);
     },
     kept},
    {"discard_device", false,
     [](buffer& b, space d) {
         b.prefetch(d);
         b.discard(d);
     },
     kept},
    {"discard_content", false, [](buffer& b, space) { b.discard_content(); }, [](const bytes&) { return bytes(size); },
     calls_device::never},
    {"access_of_a_view", false,
     [](buffer& b, space d) {
         buffer outer = b.view(8, 48);
         put(outer.view(8, middle.size()).read_write(d).native(), content(9), middle.begin);
     },
     patched_with_9},
};

class fault_in_a_verb : public testing::TestWithParam<std::tuple<scene, verb_case>> {
protected:
    fault_in_a_verb() { set_default_device(where()); }
    ~fault_in_a_verb() override {
        faults::all().disarm();
        set_default_device(host);
        device().failures.clear();
    }

    fake_device& device() const { return fake_device::get(std::get<0>(GetParam()).does); }
    space where() const { return device().where(); }
    const verb_case& verb() const { return std::get<1>(GetParam()); }

    buffer prepared() const {
        buffer_options options;
        options.device = where();
        buffer result(size, options);
        if (verb().newest_on_device) {
            put(result.write(where()).native(), content(1), 0);
        } else {
            result.copy_from(content(1));
        }
        return result;
    }

    bytes read_at(buffer& of, space at) const {
        const auto lease = of.read(at);
        if (at != host) return seen_now(lease.native());
        return {lease.begin(), lease.end()};
    }

    /// Every space, in one order or the other. What was queued and failed is told of once by each end of it.
    void expect_everywhere(buffer& of, const bytes& wanted, bool host_first, int may_fail) const {
        for (const space at : {host_first ? host : where(), host_first ? where() : host}) {
            for (;;) {
                try {
                    EXPECT_EQ(read_at(of, at), wanted) << "at " << at.name();
                    break;
                } catch (const error& late) {
                    ASSERT_GT(may_fail--, 0) << late.what();
                }
            }
        }
    }
};

TEST_P(fault_in_a_verb, leaves_the_buffer_as_before) {
    const unsigned before_all = faults::all().fired();
    bool succeeded = false;
    for (unsigned n = 1; n < 50 && !succeeded; ++n) {
        for (const bool host_first : {false, true}) {
            SCOPED_TRACE("call " + std::to_string(n) + (host_first ? ", host first" : ""));
            buffer tried = prepared();
            const buffer_state state = tried.state();
            const error_code code =
                std::array{error_code::out_of_memory, error_code::transfer_failed, error_code::device_lost}[n % 3];
            const unsigned fired = faults::all().fired();
            faults::all().arm(n, code, true);
            bool threw = false;
            try {
                verb().call(tried, where());
            } catch (const error& failure) {
                threw = true;
                EXPECT_EQ(failure.code(), code);
                EXPECT_NE(std::string(failure.what()).find("buffer #" + std::to_string(tried.id())), std::string::npos)
                    << failure.what();
            }
            faults::all().disarm();
            const bool struck = faults::all().fired() != fired;
            EXPECT_TRUE(struck || !threw);
            if (!struck) succeeded = true;
            if (threw) {
                EXPECT_TRUE(tried.state() == state || tried.state() == buffer_state::synchronized)
                    << to_string(tried.state()) << " after " << to_string(state);
                if (host_first) expect_everywhere(tried, content(1), (n & 1) != 0, 0);
                verb().call(tried, where());
            }
            expect_everywhere(tried, verb().after(content(1)), host_first, threw || !struck ? 0 : 2);
        }
    }
    EXPECT_TRUE(succeeded);
    const bool shared = device().does().aliases || device().does().visible;
    const bool calls = verb().calls == calls_device::always || (verb().calls == calls_device::where_shared && shared);
    EXPECT_EQ(faults::all().fired() > before_all, calls);
    EXPECT_EQ(device().counts.memories, 0u);
    EXPECT_TRUE(device().misuse.empty());
}

/// Leases and buffers go without a word, whatever the device says.
TEST_P(fault_in_a_verb, lets_the_buffer_go) {
    for (unsigned n = 1; n < 20; ++n) {
        buffer going = prepared();
        try {
            verb().call(going, where());
            going.prefetch(where());
            lease<std::byte> held = going.write(where());
            faults::all().arm(n, error_code::device_lost, true);
            buffer(std::move(going));
        } catch (const error& failure) {
            ADD_FAILURE() << failure.what();
        }
        faults::all().disarm();
        EXPECT_EQ(device().counts.memories, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(
    all, fault_in_a_verb,
    testing::Combine(testing::Values(scene{"mirrored", {}}, scene{"aliasing", {.aliases = true}},
                                     scene{"visible", {.visible = true}}, scene{"asynchronous", {.asynchronous = true}},
                                     scene{"asynchronous_aliasing", {.aliases = true, .asynchronous = true}},
                                     scene{"asynchronous_visible", {.visible = true, .asynchronous = true}}),
                     testing::ValuesIn(verbs_with_faults)),
    [](const auto& each) { return std::string(std::get<0>(each.param).name) + "_" + std::get<1>(each.param).name; });

/// A device that has copied half of the bytes leaves the target with the other copy, and not with both.
TEST(a_failed_copy_between_buffers, leaves_the_target_as_before) {
    const space there = fake_device::get({}).where();
    const unsigned fired_before = faults::all().fired();
    bool struck = true;
    for (unsigned n = 1; struck; ++n) {
        for (const bool host_first : {false, true}) {
            SCOPED_TRACE("call " + std::to_string(n) + (host_first ? ", host first" : ""));
            buffer source(size);
            put(source.write(there).native(), content(9), 0);
            buffer target(size);
            target.copy_from(content(1));
            target.read(there).release();
            faults::all().arm(n, error_code::transfer_failed, true);
            const unsigned fired = faults::all().fired();
            bool threw = false;
            try {
                target.copy_from(source);
            } catch (const error&) {
                threw = true;
            }
            faults::all().disarm();
            struck = faults::all().fired() != fired;
            for (const space at : {host_first ? host : there, host_first ? there : host}) {
                const auto lease = target.read(at);
                const bytes got = at == host ? bytes(lease.begin(), lease.end()) : seen_now(lease.native());
                EXPECT_EQ(got, content(threw ? 1 : 9)) << "at " << at.name();
            }
        }
    }
    EXPECT_GT(faults::all().fired(), fired_before);
}

/// The host in the place of a device has written a part of a unit by which the program's writes are found: after the
/// failure they are still told apart from that part.
TEST(a_failed_write_elsewhere, leaves_the_hosts_writes_beside_newer_bytes_alone) {
    fake_device& device = fake_device::get({});
    const space before = default_device();
    set_default_device(host);
    buffer used(size);
    std::byte* const data = used.host();
    used.device();
    used.mark_device_dirty(20, 2);
    used.prefetch(device.where(), {.offset = 0, .count = 1});
    faults::all().arm(1, error_code::transfer_failed);
    EXPECT_THROW(used.read_write(device.where()), error);
    faults::all().disarm();
    data[40] = std::byte{7};
    EXPECT_NO_THROW({
        const auto lease = used.read(host);
        EXPECT_EQ(lease[40], std::byte{7});
    });
    set_default_device(before);
}

}  // namespace
}  // namespace unibuf::test::verb_fault_test
