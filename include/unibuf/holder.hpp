// unibuf/holder.hpp: how the holder of a view is asked to let go of it.
#pragma once

#include <memory>

namespace unibuf {

/// The holder of a view, which is asked to end the view when that is in the way: of an eviction where memory
/// is short, of discard, discard_content and share, and of a release to a pool. All else that a view is in the way of
/// is refused, or waits for its end. The holder of a view that the host may write through is also asked by accesses
/// elsewhere, which would have to look for what was written.
///
/// `let_go` ends the view, or refuses by leaving it: then its copy counts as used just now. It is called with no lock
/// of unibuf held, on the thread that is in need; several threads may call it at once, also while another thread ends
/// the view. It may take locks of the program, as long as no thread that holds one of them calls unibuf and waits
/// there. It may end no view but its own. Inside it, an access to the buffer for which the memory is needed throws
/// error(access_conflict), and the holder is not asked again, whatever else it accesses.
///
/// `let_go` is called with `context`, which lives until the view has ended and all calls have returned. The last thread
/// to use it destroys it, with no lock held. A `context` that owns the view keeps it, and the view keeps the context,
/// until somebody ends the view. The end of a view waits for no call.
struct holder {
    void (*let_go)(void* context) noexcept = nullptr;
    std::shared_ptr<void> context = {};
};

}  // namespace unibuf
