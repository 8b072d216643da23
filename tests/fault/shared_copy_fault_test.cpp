// tests/fault/shared_copy_fault_test.cpp: copies that fail half way, where devices use the host's memory.
#include <gtest/gtest.h>

#include <string>

#include "support/bytes.hpp"
#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::test::shared_copy_fault_test {
namespace {

constexpr std::size_t size = 500;

bytes seen(const buffer& of, space where) {
    const auto lease = of.read(where);
    return where == host ? bytes(lease.begin(), lease.end()) : kernel_read(lease.native());
}

/// Returns whether each byte is the old one, or the new one.
bool is_old_or_new(const bytes& found) {
    const bytes old = noise(size, 2);
    const bytes now = noise(size, 1);
    for (std::size_t at = 0; at < size; ++at) {
        if (found[at] != old[at] && found[at] != now[at]) return false;
    }
    return true;
}

// A call of a device fails, while others that use the memory of the host hold the target's content.
TEST(a_copy_that_fails_half_way, leaves_all_spaces_of_one_memory_with_one_content) {
    const space from = fake_device::get({.aliases = true}).where();
    const space to = fake_device::get({.aliases = true, .asynchronous = true}).where();
    bool fails = true;
    unsigned failures = 0;
    for (unsigned call = 1; fails; ++call) {
        for (const bool half_way : {false, true}) {
            buffer source(size);
            buffer target(size);
            kernel_write(source.write(from).native(), 0, noise(size, 1));
            kernel_write(target.write(to).native(), 0, noise(size, 2));
            const unsigned before = faults::all().fired();
            faults::all().arm(call, error_code::transfer_failed, half_way);
            std::string message;
            try {
                source.copy_to(target);
            } catch (const error& thrown) {
                message = thrown.what();
            }
            fails = faults::all().fired() != before;
            faults::all().disarm();
            if (!message.empty()) {
                ++failures;
                EXPECT_NE(message.find("buffer #"), std::string::npos) << message;
            }
            const bytes at_host = seen(target, host);
            EXPECT_TRUE(is_old_or_new(at_host)) << call;
            EXPECT_EQ(seen(target, from), at_host) << call;
            EXPECT_EQ(seen(target, to), at_host) << call;
            EXPECT_EQ(seen(source, host), noise(size, 1)) << call;
        }
        ASSERT_LT(call, 100u);
    }
    EXPECT_GT(failures, 4u);
}

}  // namespace
}  // namespace unibuf::test::shared_copy_fault_test
