// fault/sweep.hpp: every verb, in every state that a buffer may be in, with something failing in it.
//
// After a call that failed each byte is what it was before, or what the verb makes of it; after one that did not, it is
// the latter. All spaces agree, whichever is read first, and what the program stored through a pointer is found.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "unibuf/space.hpp"

namespace unibuf::test {

struct tried;
struct state_case;

/// Whether what is denied memory may have done some of its work: it is several calls, or the fake that queues needs
/// memory for each row.
enum class in_steps { never, where_queued, always };

/// A verb, and what it writes into a copy of the content.
struct verb_case {
    const char* name;
    void (*call)(tried&, space d);
    void (*after)(const tried&, std::vector<std::byte>& content);
    in_steps steps = in_steps::never;

    friend void PrintTo(const verb_case& of, std::ostream* out) { *out << of.name; }
};

/// A device.
struct place {
    const char* name;
    space (*where)();

    friend void PrintTo(const place& of, std::ostream* out) { *out << of.name; }
};

/// Returns the debug device, and behind it fakes of all kinds.
std::span<const place> places();
std::span<const verb_case> verbs();

class sweep : public testing::TestWithParam<std::tuple<place, verb_case>> {
protected:
    sweep();
    ~sweep() override;

    /// Calls `act`, while call `n` of some kind fails. Returns whether there were so many.
    using failing = std::function<bool(unsigned n, const std::function<void()>& act)>;

    /// Tries the verb in each state, with each call failing once.
    void try_all(const failing& fails);

    /// Returns whether what fails may fail half way, and leave some of what was to be written: a device may.
    virtual bool may_end_half_way() const { return false; }

private:
    bool try_one(const state_case& state, std::size_t size, unsigned n, bool host_first, const failing& fails);

    space where_ = std::get<0>(GetParam()).where();
};

std::string name_of(const testing::TestParamInfo<sweep::ParamType>& of);

}  // namespace unibuf::test
