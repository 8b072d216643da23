// tests/unit/placement_policy_test.cpp: which devices share the host's memory, hint by hint.
#include "memory/placement_policy.hpp"

#include <gtest/gtest.h>

namespace unibuf::detail::placement_policy_test {
namespace {

backends::traits device(bool own_memory, bool aliases_host, bool host_visible = false) {
    backends::traits result;
    result.own_memory = own_memory;
    result.aliases_host = aliases_host;
    result.host_visible = host_visible;
    return result;
}

TEST(placement_policy, without_a_hint_memory_of_its_own_decides) {
    EXPECT_EQ(choose_placement(memory_hint::none, device(true, true)).wanted, placement::mirrored);
    EXPECT_EQ(choose_placement(memory_hint::none, device(false, true)).wanted, placement::shared);
    EXPECT_EQ(choose_placement(memory_hint::none, device(false, false, true)).wanted, placement::shared);
    EXPECT_EQ(choose_placement(memory_hint::none, device(false, false)).wanted, placement::mirrored);
}

TEST(placement_policy, a_hint_overrules_it) {
    for (const bool own : {true, false}) {
        EXPECT_EQ(choose_placement(memory_hint::gpu_preferred, device(own, true)).wanted, placement::mirrored);
        for (const memory_hint hint : {memory_hint::cpu_preferred, memory_hint::coherent, memory_hint::streaming}) {
            EXPECT_EQ(choose_placement(hint, device(own, true)).wanted, placement::shared);
        }
    }
}

TEST(placement_policy, always_says_why) {
    for (const memory_hint hint : {memory_hint::none, memory_hint::cpu_preferred, memory_hint::gpu_preferred,
                                   memory_hint::coherent, memory_hint::streaming}) {
        EXPECT_FALSE(choose_placement(hint, device(true, true)).reason.empty());
    }
}

}  // namespace
}  // namespace unibuf::detail::placement_policy_test
