// tests/contract/wrong_queue.hpp: what is refused of a queue whose order says nothing of a space's work.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "contract/contract.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/lease_together.hpp"

namespace unibuf::contract {

/// Names `wrong` in every access that takes a queue, of a buffer for which nothing has to move or wait. Expects that
/// each is refused when it begins, and leaves nothing behind.
inline void expect_refused(space where, queue wrong) {
    buffer used(1000);
    buffer other(1000);
    for (buffer* const each : {&used, &other}) {
        each->copy_from(noise(1000));
        each->read(where).release();
    }
    const access_options on{.on = wrong};
    std::array<byte_lease, 2> taken;
    const std::array wanted{other.to_read(where).bytes, used.to_read(where, on).bytes};
    const std::vector<std::pair<std::string, std::function<void()>>> accesses = {
        {"read", [&] { used.read(where, on).release(); }},
        {"write", [&] { used.write(where, on).release(); }},
        {"read_write", [&] { used.read_write(where, on).release(); }},
        {"a part", [&] { used.write(where, {.offset = 10, .count = 20, .on = wrong}).release(); }},
        {"prefetch", [&] { used.prefetch(where, on); }},
        {"mark_dirty", [&] { used.mark_dirty(where, on); }},
        {"bind", [&] { used.bind(where, access::read_write, {.on = wrong}); }},
        {"lease_together", [&] { lease_together(wanted, taken); }},
        {"record_fence", [&] { record_fence(where, wrong); }},
    };
    for (const auto& [name, take] : accesses) {
        std::string message;
        EXPECT_EQ(code_of(take, &message), error_code::invalid_argument) << name << ": " << message;
    }
    EXPECT_FALSE(taken[0].held() || taken[1].held());
    for (buffer* const each : {&used, &other}) {
        EXPECT_EQ(each->state(), buffer_state::synchronized);
        EXPECT_FALSE(each->is_bound());
        bytes content(1000);
        each->copy_to(content);
        EXPECT_TRUE(same(content, noise(1000)));
    }
}

}  // namespace unibuf::contract
