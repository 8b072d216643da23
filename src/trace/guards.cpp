// trace/guards.cpp: what the guards of a thread say of a transfer.
#include "trace/guards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "unibuf/error.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf {
namespace {

struct active {
    std::uint64_t number;
    guard_action action;
    transfer_link along;
};

/// The guards of this thread. They have no destructor: a thread that ends, or a static guard, may end one after it.
constinit thread_local std::vector<active>* guards = nullptr;

bool is_about(const transfer_link& along, space from, space to) noexcept {
    return along.from.value_or(from) == from && along.to.value_or(to) == to;
}

}  // namespace

transfer_guard::transfer_guard(guard_action action, const transfer_link& along) {
    static std::atomic<std::uint64_t> next = 0;
    number_ = ++next;
    if (!guards) guards = new std::vector<active>;
    guards->push_back({number_, action, along});
}

transfer_guard::~transfer_guard() {
    if (!guards) return;  // it began on another thread
    std::erase_if(*guards, [this](const active& each) { return each.number == number_; });
    if (guards->empty()) delete std::exchange(guards, nullptr);
}

transfer_budget::transfer_budget(std::uint64_t bytes, const transfer_link& along)
    : bytes_(bytes), along_(along), before_(total_statistics()) {}

/// Returns the transfers of each kind that the budget is about, since its making.
std::vector<transfer_count> transfer_budget::made() const {
    std::vector<transfer_count> all = total_statistics().transfers;
    std::erase_if(all, [this](const transfer_count& each) { return !is_about(along_, each.from, each.to); });
    for (transfer_count& each : all) {
        const auto same = [&](const transfer_count& of) {
            return of.from == each.from && of.to == each.to && of.why == each.why;
        };
        const auto before = std::ranges::find_if(before_.transfers, same);
        if (before != before_.transfers.end()) each.bytes -= std::min(each.bytes, before->bytes);
    }
    return all;
}

std::uint64_t transfer_budget::moved() const {
    std::uint64_t sum = 0;
    for (const transfer_count& each : made()) sum += each.bytes;
    return sum;
}

void transfer_budget::check() const {
    const std::uint64_t found = moved();
    if (found <= bytes_) return;
    std::string text = fmt::format("{} bytes were moved, and a budget allows {}", found, bytes_);
    const char* before = ": ";
    for (const transfer_count& each : made()) {
        if (each.bytes == 0) continue;
        text += fmt::format("{}{} from {} to {} for {}", before, each.bytes, each.from.name(), each.to.name(),
                            to_string(each.why));
        before = ", ";
    }
    throw error(error_code::access_conflict, text);
}

}  // namespace unibuf

namespace unibuf::trace {

bool has_guard() noexcept { return guards != nullptr; }

guard_action guard_action_for(space from, space to) noexcept {
    if (!guards) return guard_action::allow;
    for (const active& each : *guards | std::views::reverse) {
        if (is_about(each.along, from, to)) return each.action;
    }
    return guard_action::allow;
}

}  // namespace unibuf::trace
