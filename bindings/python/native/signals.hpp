// signals.hpp: Ctrl-C while the library waits.
#pragma once

#include <optional>
#include <unibuf/waiting.hpp>

namespace unibuf::python {

/// Lets a signal end the waits of this thread's calls of the library, as long as this lives: what its handler raises,
/// the call throws. Python runs handlers on its main thread, so other threads ask nobody. Whoever ends a lease, a view
/// or a buffer may not be interrupted, so this goes before they do.
class hears_signals {
public:
    hears_signals();

    /// Notes which thread is Python's main one. Called with the interpreter's lock held.
    static void note_main_thread();

private:
    std::optional<interruptible> asks_;
};

}  // namespace unibuf::python
