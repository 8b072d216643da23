// backends/metal/queues.hpp: one device's command queues, and the order of work on them.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/metal/committed_work.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends::metal {

/// A queue of unibuf's own, or the caller's, and all that leases have named. Any thread may call these functions.
///
/// Metal orders work within a queue, and has no way to ask a device for its queues. So the queues that leases name are
/// kept as long as the process lives, as programs do with theirs, and work that names none is put behind all of them.
/// Behind each command buffer of unibuf its queue's event gets a new value, for which other queues can wait: in a
/// command buffer of its own, as one that fails signals nothing.
class queues {
public:
    /// `own` is where work goes that names no queue. `description` names the device in errors.
    queues(id device, owned own, std::string description);

    id own() const noexcept { return own_->native.get(); }

    /// Makes the queue known. Throws error(invalid_argument) where it is of another device.
    void add(id queue) { find(queue); }

    /// Calls encode(commands) with a new command buffer on `on`, or, where it names none, on the own queue, after all
    /// work that was put on any known queue before; and commits it. Returns its fence, which stands for `earlier`, work
    /// on the same queue, too.
    template <class Encode>
    fence submit(queue on, const Encode& encode, std::vector<fence> earlier = {}) {
        const pool drained;
        known_queue& to = on ? find(on.native) : *own_;
        const id commands = new_commands(to);
        if (!on) join(commands);
        encode(commands);
        return commit(to, commands, std::move(earlier));
    }

    /// Returns a fence behind the work on `on`, or, where it names none, on all known queues.
    fence record(queue on);

    /// Makes work that is put on `on` from now on wait for `before`. Returns false where that is no work of this
    /// device.
    bool order(const fence& before, queue on);

private:
    struct known_queue {
        owned native;
        owned event;
        std::mutex mutex;  // guards what follows; values are committed in order
        std::uint64_t last = 0;
        std::vector<place> awaited;  // by the next command buffer of unibuf
    };

    std::unique_ptr<known_queue> make_known(owned native) const;
    known_queue& find(id queue);
    std::vector<known_queue*> others();
    void join(id commands);
    id plain_commands(const known_queue& on) const;
    id new_commands(known_queue& on) const;
    fence commit(known_queue& to, id commands, std::vector<fence> earlier) const;
    static place signal(known_queue& of, id commands);

    const id device_;
    const std::string description_;
    const std::unique_ptr<known_queue> own_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<known_queue>> named_;
};

}  // namespace unibuf::backends::metal
