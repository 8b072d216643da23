// tests/cost/steps_test.cpp: instructions that are known are counted for what they are.
#include "steps.hpp"

#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "count.hpp"

namespace unibuf::test::steps_test {
namespace {

/// Counts once what `work` does; what the marks take is left out.
template <class Work>
cost::counts counted(const Work& work) {
    cost::prepare_steps();
    const cost::counts nothing = cost::counted(0, [] {}, [] {}).front();
    cost::counts found = cost::counted(0, [] {}, work).front();
    found.instructions -= nothing.instructions;
    return found;
}

TEST(steps, are_instructions) {
    const cost::counts found = counted([] { asm volatile("nop\n\tnop\n\tnop\n\tnop"); });
    EXPECT_EQ(found.instructions, 4U);
    EXPECT_EQ(found.locked, 0U);
    EXPECT_EQ(found.system_calls, 0U);
    EXPECT_EQ(found.allocations, 0U);
    EXPECT_EQ(found.driver_calls, 0U);
}

TEST(steps, tell_atomic_changes_of_memory) {
    std::uint64_t word = 0;
    const auto locked = [](const auto& work) { return counted(work).locked; };
    EXPECT_EQ(locked([&] { asm volatile("lock incl %0" : "+m"(word)); }), 1U);
    EXPECT_EQ(locked([&] { asm volatile("lock incq %0" : "+m"(word)); }), 1U);
    EXPECT_EQ(locked([&] { asm volatile("lock incw %0" : "+m"(word)); }), 1U);
    EXPECT_EQ(locked([&] { asm volatile("xchgq %%r8, %0" : "+m"(word) : : "r8"); }), 1U);
    EXPECT_EQ(locked([&] { asm volatile("xchgb %%al, %0" : "+m"(word) : : "rax"); }), 1U);
    EXPECT_EQ(locked([&] { asm volatile("incq %0" : "+m"(word)); }), 0U);
    EXPECT_EQ(locked([&] { asm volatile("xchgq %%rax, %%r8" : : : "rax", "r8"); }), 0U);
    EXPECT_EQ(locked([&] { asm volatile("xchgq %%rdx, %%r8" : : : "rdx", "r8"); }), 0U);
    EXPECT_EQ(locked([&] { asm volatile("movl $0xF0F0F0F0, %%eax" : : : "rax"); }), 0U);
}

TEST(steps, count_system_calls_and_what_follows_them) {
    const cost::counts found = counted([] {
        asm volatile("movl $39, %%eax\n\tsyscall\n\tnop" : : : "rax", "rcx", "r11", "memory");
    });
    EXPECT_EQ(found.instructions, 3U);
    EXPECT_EQ(found.system_calls, 1U);
}

TEST(steps, count_a_repeated_instruction_once) {
    std::array<char, 100> from{};
    std::array<char, 100> to{};
    const cost::counts found = counted([&] {
        asm volatile("movq %0, %%rsi\n\tmovq %1, %%rdi\n\tmovl $100, %%ecx\n\trep movsb"
                     :
                     : "r"(from.data()), "r"(to.data())
                     : "rsi", "rdi", "rcx", "memory");
    });
    EXPECT_GE(found.instructions, 4U);
    EXPECT_LT(found.instructions, 100U);  // what asks for the two addresses counts too
}

TEST(steps, count_allocations_of_each_kind) {
    const auto allocations = [](const auto& work) { return counted(work).allocations; };
    EXPECT_EQ(allocations([] { cost::use(std::malloc(10)); }), 1U);
    EXPECT_EQ(allocations([] { cost::use(std::calloc(10, 10)); }), 1U);
    EXPECT_EQ(allocations([] { cost::use(std::aligned_alloc(64, 64)); }), 1U);
    EXPECT_EQ(allocations([] {
                  int* const made = new int(1);
                  cost::use(made);
                  delete made;
              }),
              1U);
}

TEST(steps, leave_out_how_the_kernel_reads_the_clock) {
    ::setenv("UNIBUF_COST_PLACES", "1", 1);
    const cost::counts found = counted([] { cost::use(std::chrono::steady_clock::now()); });
    EXPECT_GT(found.instructions, 0U);
    EXPECT_EQ(found.system_calls, 0U);
    EXPECT_GT(cost::places_of_steps().size(), found.instructions);
    const std::uint64_t kernels = ::getauxval(AT_SYSINFO_EHDR);
    for (const std::uint64_t each : cost::places_of_steps()) EXPECT_FALSE(each >= kernels && each < kernels + 8192);
}

}  // namespace
}  // namespace unibuf::test::steps_test
