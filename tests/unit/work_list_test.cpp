// unit/work_list_test.cpp: which queued work is known to be done later than other work, by its queue, space and thread.
#include "buffer/work_list.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace unibuf::test::work_list_test {
namespace {

using detail::named_queue;
using detail::work;
using detail::work_list;

struct never_done final : fence::work {
    bool wait(std::chrono::nanoseconds) override { return false; }
};

int handles[2];
constexpr std::uint64_t out_of_order = backends::out_of_order;
constexpr coherence::space_id device = 1;
constexpr std::uint32_t thread = 7;

named_queue queue_numbered(std::uint64_t number, int which = 0) { return {{&handles[which]}, number}; }

work on(named_queue queue, bool transfer = false) {
    return {.done = fence(std::make_shared<never_done>()), .on = queue, .transfer = transfer, .thread = thread};
}

coherence::queued_work use(bool writes, std::size_t end = 64, coherence::space_id where = device) {
    return {.part = byte_range{0, end}, .where = where, .writes = writes};
}

std::size_t count(const work_list& list) {
    std::size_t result = 0;
    list.any([&](const auto&, const auto&) { return ++result == 0; });
    return result;
}

void add(work_list& list, const coherence::queued_work& queued, work added) {
    list.reserve(1);
    list.add(queued, std::move(added));
}

TEST(work_list, forgets_what_cannot_be_done_later) {
    work of_other_thread = on(queue_numbered(3));
    of_other_thread.thread = thread + 1;
    work unordered = on(queue_numbered(3));
    unordered.unordered = true;
    const struct {
        const char* what;
        coherence::queued_work older;
        work before;
        coherence::queued_work queued;
        work added;
        std::size_t left;
    } rows[] = {
        {"two writes on a queue", use(true), on(queue_numbered(3)), use(true), on(queue_numbered(3)), 1},
        {"a read, and a write after it", use(false), on(queue_numbered(3)), use(true), on(queue_numbered(3)), 1},
        {"a write, and a read after it", use(true), on(queue_numbered(3)), use(false), on(queue_numbered(3)), 2},
        {"a write of fewer bytes", use(true), on(queue_numbered(3)), use(true, 32), on(queue_numbered(3)), 2},
        {"on two queues", use(true), on(queue_numbered(3)), use(true), on(queue_numbered(4, 1)), 2},
        {"on a queue that got the handle of one that has gone", use(true), on(queue_numbered(3)), use(true),
         on(queue_numbered(4)), 2},
        {"of two threads", use(true), on(queue_numbered(3)), use(true), of_other_thread, 2},
        {"an event of the program's own", use(true), unordered, use(true), on(queue_numbered(3)), 2},
        {"two arrivals", use(true), on(queue_numbered(3), true), use(true), on(queue_numbered(3), true), 1},
        {"two arrivals without a queue", use(true), on({}, true), use(true), on({}, true), 2},
        {"two leases on a queue without order: the end of each is behind all that is there", use(true),
         on(queue_numbered(out_of_order | 3)), use(true), on(queue_numbered(out_of_order | 3)), 1},
    };
    for (const auto& row : rows) {
        work_list list;
        add(list, row.older, row.before);
        add(list, row.queued, row.added);
        EXPECT_EQ(count(list), row.left) << row.what;
    }
}

TEST(work_list, tells_what_comes_after_all_of_it) {
    const named_queue in_order = queue_numbered(3);
    const named_queue without_order = queue_numbered(out_of_order | 3);
    const struct {
        const char* what;
        named_queue queued;
        named_queue asked;
        coherence::space_id where;
        std::uint32_t asking;
        bool answer;
    } rows[] = {
        {"the same queue", in_order, in_order, device, thread, true},
        {"another queue", in_order, queue_numbered(4, 1), device, thread, false},
        {"a queue that got its handle", in_order, queue_numbered(4), device, thread, false},
        {"another device", in_order, in_order, device + 1, thread, false},
        {"another thread", in_order, in_order, device, thread + 1, false},
        {"a queue without order", without_order, without_order, device, thread, false},
    };
    for (const auto& row : rows) {
        work_list list;
        EXPECT_TRUE(list.is_before_all_on(row.asked, row.where, row.asking)) << "nothing is queued: " << row.what;
        add(list, use(false), on(row.queued));
        EXPECT_EQ(list.is_before_all_on(row.asked, row.where, row.asking), row.answer) << row.what;
    }
}

TEST(work_list, is_in_no_order_once_work_of_two_queues_is_in_it) {
    work_list list;
    add(list, use(false), on(queue_numbered(3)));
    add(list, use(false), on(queue_numbered(4, 1)));
    EXPECT_FALSE(list.is_before_all_on(queue_numbered(3), device, thread));
    EXPECT_FALSE(list.is_before_all_on(queue_numbered(4, 1), device, thread));
}

}  // namespace
}  // namespace unibuf::test::work_list_test
