// verbs/lease_together.cpp: several leases in one call.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "access/joint_passage.hpp"
#include "access/letting_go.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf {
namespace {

/// One of the leases that are wanted.
struct wanted_one {
    detail::core* of;
    detail::access_request request;
    byte_lease* taken;
};

/// Throws error(access_conflict) where two requests exclude each other.
void check_apart(const detail::core& of, const detail::access_request& one, const detail::access_request& other) {
    const detail::hold first{.part = one.part, .where = one.where, .what = one.what};
    if (!first.excludes(other.part, other.what)) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: {} and {} were asked for together, and exclude each other", of.name(), describe(one),
                            describe(other)));
}

}  // namespace

void lease_together(std::span<const wanted_byte_lease> wanted, std::span<byte_lease> taken) {
    lease_together(wanted, taken, std::function<void()>());
}

void lease_together(std::span<const wanted_byte_lease> wanted, std::span<byte_lease> taken,
                    const std::function<void()>& start) {
    if (taken.size() < wanted.size()) {
        throw error(
            error_code::invalid_argument,
            fmt::format("{} leases were asked for together, and there are places for {}", wanted.size(), taken.size()));
    }
    std::vector<wanted_one> all;
    all.reserve(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto& [of, where, what, options] = wanted[i];
        all.push_back({&detail::core_of(of->gate_), of->request_of(where, what, options), &taken[i]});
    }
    std::ranges::sort(all, {},
                      [](const wanted_one& each) { return std::pair(each.of->id(), each.request.part.begin()); });
    for (auto each = all.begin(); each != all.end(); ++each) {
        detail::check_allowed(*each->of, each->request);
        for (auto next = std::next(each); next != all.end() && next->of == each->of; ++next) {
            if (next->request.part.begin() >= each->request.part.end()) break;
            check_apart(*each->of, each->request, next->request);
        }
    }
    // Holders of views may wait for a thread that wants one of these leases, so they are asked before any is kept.
    for (const wanted_one& each : all) detail::ask_before_joining(*each.of, each.request.where, each.request.part);
    std::vector<detail::core_handle> kept;  // the function may end the buffers
    if (start) {
        kept.reserve(all.size());
        for (const wanted_one& each : all) kept.push_back(detail::another_handle(*each.of));
    }
    detail::joint_passage way;
    for (const wanted_one& each : all) way.add(*each.of, each.request, *each.taken);
    way.enter();
    way.bring();
    way.grant();
    try {
        if (start) start();
    } catch (...) {
        for (const wanted_one& each : all) each.taken->end();
        throw;
    }
    way.wrote();
}

}  // namespace unibuf
