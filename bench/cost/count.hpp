// bench/cost/count.hpp: counts an operation when it is warm, and prints what was counted.
#pragma once

#include <string>
#include <vector>

#include "steps.hpp"

namespace cost {

/// Until then an operation finds its way: memory is used again, pages become hot, Python's interpreter settles.
inline constexpr int warm_up = 300;
inline constexpr int repetitions = 7;

/// Prints a line of JSON: what each repetition took, and what counting nothing takes; then a line for each place of the
/// last one, where these are kept: how often, the file, and the address in it.
void print(const std::string& name, const std::vector<counts>& nothing, const std::vector<counts>& all);

/// Has the compiler believe that the value is used.
template <class T>
void use(const T& value) {
    asm volatile("" : : "r,m"(value) : "memory");
}

/// Does `operation` again and again, each time after `prepare`, and returns what each of `seen` repetitions took after
/// the first `unseen` ones.
template <class Prepare, class Operation>
std::vector<counts> counted(int unseen, const Prepare& prepare, const Operation& operation, int seen = repetitions) {
    std::vector<counts> found;
    for (int i = 0; i < unseen + seen; ++i) {
        prepare();
        taken_steps();
        begin_steps(i < unseen ? 0 : trap_flag);
        operation();
        end_steps();
        if (i >= unseen) found.push_back(taken_steps());
    }
    return found;
}

/// Counts `operation`, each time after `prepare`.
template <class Prepare, class Operation>
void count(const char* name, const Prepare& prepare, const Operation& operation) {
    prepare_steps();
    const std::vector<counts> nothing = counted(0, [] {}, [] {});
    print(name, nothing, counted(warm_up, prepare, operation));
}

template <class Operation>
void count(const char* name, const Operation& operation) {
    count(name, [] {}, operation);
}

}  // namespace cost
