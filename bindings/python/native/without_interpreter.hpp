// without_interpreter.hpp: letting other Python threads run.
#pragma once

#include "call_site.hpp"
#include "interpreter_lock.hpp"
#include "kept_object.hpp"
#include "signals.hpp"

namespace unibuf::python {

/// Lets go of the interpreter's lock as long as it lives. Every call of the library is made so that may wait, copy,
/// allocate, free, or ask holders of views: others may need the interpreter before they let the call go on. A Python
/// exception that is on its way, as where an array goes because of it, is kept from the functions that the library
/// calls meanwhile.
class without_interpreter {
public:
    without_interpreter() = default;
    without_interpreter(const without_interpreter&) = delete;
    without_interpreter& operator=(const without_interpreter&) = delete;

private:
    struct drop_left {
        ~drop_left() { kept_object::drop_left(); }
    };

    // These end in the opposite order: the lock is taken first, then objects are dropped, then the exception is set.
    nb::error_scope on_its_way_;
    called_from_python place_;
    [[no_unique_address]] drop_left after_;
    released_lock released_;
};

/// Calls `act` without the interpreter's lock, and returns what it returns. Ctrl-C ends its waits.
template <class Act>
auto unlocked(const Act& act) {
    const without_interpreter released;
    const hears_signals hears;
    return act();
}

}  // namespace unibuf::python
