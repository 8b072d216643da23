// backends/metal/queues.cpp: one device's command queues, and the order of work on them.
#include "backends/metal/queues.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/fence_of.hpp"

namespace unibuf::backends::metal {

queues::queues(id device, owned own, std::string description)
    : device_(device), description_(std::move(description)), own_(make_known(std::move(own))) {}

std::unique_ptr<queues::known_queue> queues::make_known(owned native) const {
    auto made = std::make_unique<known_queue>();
    made->native = std::move(native);
    made->event = new_event(device_);
    if (made->event) return made;
    throw error(error_code::device_unavailable, fmt::format("{}: no event can be made", description_));
}

queues::known_queue& queues::find(id queue) {
    const pool drained;  // throws in a forked child, where the mutex may be locked for good
    const std::lock_guard lock(mutex_);
    if (queue == own()) return *own_;
    const auto is_it = [&](const auto& each) { return each->native.get() == queue; };
    if (const auto found = std::ranges::find_if(named_, is_it); found != named_.end()) return **found;
    if (!is_same_device(device_of_queue(queue), device_)) {
        throw error(error_code::invalid_argument,
                    fmt::format("the queue belongs to another Metal device than {}", description_));
    }
    return *named_.emplace_back(make_known(owned::retained(queue)));
}

std::vector<queues::known_queue*> queues::others() {
    const std::lock_guard lock(mutex_);
    std::vector<known_queue*> result;
    result.reserve(named_.size());
    for (const auto& each : named_) result.push_back(each.get());
    return result;
}

/// Lets a command buffer of the own queue wait for what is on all others.
void queues::join(id commands) {
    for (known_queue* const each : others()) {
        const id marker = plain_commands(*each);
        const std::lock_guard lock(each->mutex);
        const place end = signal(*each, marker);
        encode_wait(commands, end.event, end.value);
    }
}

id queues::plain_commands(const known_queue& on) const {
    if (const id made = command_buffer_on(on.native.get())) return made;
    throw error(error_code::transfer_failed, fmt::format("{}: no command buffer can be made", description_));
}

/// Makes a command buffer for work of unibuf, which waits for what order() has said.
id queues::new_commands(known_queue& on) const {
    const id made = plain_commands(on);
    const std::lock_guard lock(on.mutex);
    for (const place& each : on.awaited) encode_wait(made, each.event, each.value);
    on.awaited.clear();
    return made;
}

/// Commits a command buffer that signals the end of what is on the queue. The caller has locked it.
place queues::signal(known_queue& of, id commands) {
    const place end{of.native.get(), of.event.get(), ++of.last};
    encode_signal(commands, end.event, end.value);
    metal::commit(commands);
    return end;
}

fence queues::commit(known_queue& to, id commands, std::vector<fence> earlier) const {
    const id marker = plain_commands(to);  // before anything is committed, as it may fail
    owned kept = owned::retained(commands);
    const std::lock_guard lock(to.mutex);
    metal::commit(commands);
    const place end = signal(to, marker);
    return fence_of<committed_work>(std::move(kept), end, std::move(earlier));
}

fence queues::record(queue on) {
    const pool drained;
    known_queue& to = on ? find(on.native) : *own_;
    const id commands = new_commands(to);
    if (!on) join(commands);
    owned kept = owned::retained(commands);
    const std::lock_guard lock(to.mutex);
    return fence_of<committed_work>(std::move(kept), signal(to, commands), std::vector<fence>());
}

/// The program's next command buffers on the queue wait by one that only waits, as Metal's documents have it; unibuf's
/// own wait by themselves as well, whatever a driver lets overlap.
bool queues::order(const fence& before, queue on) {
    if (!before.native()) return true;
    const auto* const work = dynamic_cast<const committed_work*>(before.native());
    if (!work) return false;
    const pool drained;
    const place& end = work->end();
    if (!is_same_device(device_of_queue(end.queue), device_)) return false;
    if (!on) return true;  // such work is put behind all known queues
    known_queue& to = find(on.native);
    if (end.queue == to.native.get()) return true;
    const id waiting = plain_commands(to);
    encode_wait(waiting, end.event, end.value);
    const std::lock_guard lock(to.mutex);
    metal::commit(waiting);
    to.awaited.push_back(end);
    return true;
}

}  // namespace unibuf::backends::metal
