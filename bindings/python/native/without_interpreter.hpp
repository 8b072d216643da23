// without_interpreter.hpp: letting other Python threads run.
#pragma once

#include "kept_object.hpp"

namespace unibuf::python {

/// Lets go of the interpreter's lock while it is there. What may wait in the library, or copy, allocate, free, or ask
/// holders of views, is called so: others may need the interpreter before they let it go on. An exception that is on
/// its way meanwhile, as where an array goes because of it, is kept from the Python functions that the library calls.
class without_interpreter {
public:
    without_interpreter() = default;
    without_interpreter(const without_interpreter&) = delete;
    without_interpreter& operator=(const without_interpreter&) = delete;

private:
    struct drop_left {
        ~drop_left() { kept_object::drop_left(); }
    };

    // They end in the opposite order.
    nb::error_scope on_its_way_;
    [[no_unique_address]] drop_left after_;
    nb::gil_scoped_release released_;
};

/// What `act` returns.
template <class Act>
auto unlocked(const Act& act) {
    const without_interpreter released;
    return act();
}

}  // namespace unibuf::python
