// tests/fault/fence_fault_test.cpp: work that has begun is waited for where there is no memory to keep its fence.
#include <gtest/gtest.h>

#include <memory>
#include <new>

#include "backends/fence_of.hpp"
#include "backends/many_fences.hpp"
#include "fault/no_memory.hpp"

namespace unibuf::test::fence_fault_test {
namespace {

class waited_for final : public fence::work {
public:
    explicit waited_for(int& waits) noexcept : waits_(&waits) {}
    bool wait(std::chrono::nanoseconds) override {
        ++*waits_;
        return true;
    }

private:
    int* waits_;
};

TEST(a_fence, that_there_is_no_memory_for_is_waited_for) {
    int waits = 0;
    const fence kept = backends::fence_of<waited_for>(waits);
    EXPECT_TRUE(kept.native());
    EXPECT_EQ(waits, 0);
    const no_memory denied;
    EXPECT_FALSE(backends::fence_of<waited_for>(waits).native());
    EXPECT_TRUE(denied.was_felt());
    EXPECT_EQ(waits, 1);
}

TEST(many_fences, are_waited_for_where_there_is_no_memory_to_keep_them) {
    for (unsigned granted = 0;; ++granted) {
        int waits = 0;
        std::vector<fence> begun;
        for (int i = 0; i < 5; ++i) begun.push_back(backends::fence_of<waited_for>(waits));
        bool was_felt = false;
        fence all;
        {
            const no_memory denied(granted);
            backends::many_fences started;
            for (const fence& each : begun) started.add([&] { return each; });
            all = std::move(started).all();
            was_felt = denied.was_felt();
        }
        all.wait();
        EXPECT_EQ(waits, 5) << granted;
        if (!was_felt) break;
    }
}

}  // namespace
}  // namespace unibuf::test::fence_fault_test
