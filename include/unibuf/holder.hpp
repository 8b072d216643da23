// unibuf/holder.hpp: who holds a view, and can be asked to let go of it.
#pragma once

#include <memory>

namespace unibuf {

/// A view whose holder has named itself is asked for when it is in the way: of an eviction where memory is short, of
/// discard, discard_content and share, and of a release to a pool. All else that a view is in the way of is refused, or
/// waits for its end. A view that the host may write through is also asked for by accesses elsewhere, which would have
/// to look for what was written.
///
/// `let_go` ends the view, or refuses by leaving it: then its copy counts as used just now. It is called with no lock
/// of unibuf held, on the thread that is in need; several threads may call it at once, also while another one ends the
/// view. It may take locks of the program, as long as no thread that holds one of these calls unibuf and waits there.
/// It may end no view but its own. Inside it, an access to the buffer for which the memory is needed throws
/// error(access_conflict).
///
/// `let_go` is called with `context`, which lives until the view has ended and all calls have returned. Whichever
/// thread is last destroys it, with no lock held. Where `context` owns the view itself, somebody has to end the view,
/// or they keep each other. Ending a view waits for no call.
struct holder {
    void (*let_go)(void* context) noexcept = nullptr;
    std::shared_ptr<void> context = {};
};

}  // namespace unibuf
