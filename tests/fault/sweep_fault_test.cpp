// tests/fault/sweep_fault_test.cpp: each allocation of the host denied once, and each call to a device failing once.
#include "fault/no_memory.hpp"
#include "fault/sweep.hpp"
#include "support/faults.hpp"

namespace unibuf::test::sweep_fault_test {
namespace {

/// Calls `act` with allocation `n` of the host denied. Returns whether it made so many.
bool without_memory(unsigned n, const std::function<void()>& act) {
    const no_memory denied(n);
    act();
    return denied.was_felt();
}

/// Calls `act` with call `n` to fake devices failing half way. Returns whether there were so many.
bool with_failing_call(unsigned n, const std::function<void()>& act) {
    const unsigned before = faults::all().fired();
    faults::all().arm(n + 1, n % 2 ? error_code::out_of_memory : error_code::transfer_failed, true);
    act();
    faults::all().disarm();
    return faults::all().fired() != before;
}

class denied_memory : public sweep {};
TEST_P(denied_memory, leaves_one_truth) { try_all(&without_memory); }
INSTANTIATE_TEST_SUITE_P(all, denied_memory, testing::Combine(testing::ValuesIn(places()), testing::ValuesIn(verbs())),
                         name_of);

class failed_call : public sweep {
    bool may_end_half_way() const override { return true; }
};
TEST_P(failed_call, leaves_one_truth) { try_all(&with_failing_call); }
INSTANTIATE_TEST_SUITE_P(all, failed_call,
                         testing::Combine(testing::ValuesIn(places().subspan(1)), testing::ValuesIn(verbs())), name_of);

}  // namespace
}  // namespace unibuf::test::sweep_fault_test
