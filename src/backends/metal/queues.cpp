// backends/metal/queues.cpp
#include "backends/metal/queues.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace unibuf::backends::metal {

queues::queues(id device, owned own, std::string description)
    : device_(device), description_(std::move(description)), own_(make_known(std::move(own))) {}

std::unique_ptr<queues::known> queues::make_known(owned native) const {
    auto made = std::make_unique<known>();
    made->native = std::move(native);
    made->event = new_shared_event(device_);
    if (made->event) return made;
    throw error(error_code::device_unavailable, fmt::format("{}: no shared event can be made", description_));
}

queues::known& queues::find(id queue) {
    api();  // throws in a forked child, where the mutex may be locked for good
    const std::lock_guard lock(mutex_);
    if (queue == own()) return *own_;
    const auto is_it = [&](const auto& each) { return each->native.get() == queue; };
    if (const auto found = std::ranges::find_if(named_, is_it); found != named_.end()) return **found;
    if (device_of_queue(queue) != device_) {
        throw error(error_code::invalid_argument,
                    fmt::format("the queue belongs to another Metal device than {}", description_));
    }
    return *named_.emplace_back(make_known(owned::retained(queue)));
}

std::vector<queues::known*> queues::others() {
    const std::lock_guard lock(mutex_);
    std::vector<known*> result;
    for (const auto& each : named_) result.push_back(each.get());
    return result;
}

/// Puts the own queue behind all others.
void queues::join() {
    api();
    const std::vector<known*> before = others();
    if (before.empty()) return;
    const id waiting = new_commands(*own_);
    for (known* const each : before) {
        const place end = commit_on(*each, new_commands(*each));
        encode_wait(waiting, end.event, end.value);
    }
    commit_on(*own_, waiting);
}

id queues::new_commands(const known& on) const {
    if (const id made = command_buffer_on(on.native.get())) return made;
    throw error(error_code::transfer_failed, fmt::format("{}: no command buffer can be made", description_));
}

place queues::commit_on(known& to, id commands) {
    const std::lock_guard lock(to.mutex);
    const place end{to.native.get(), to.event.get(), ++to.last};
    encode_signal(commands, end.event, end.value);
    metal::commit(commands);
    return end;
}

fence queues::commit(known& to, id commands, std::vector<fence> earlier) {
    owned kept = owned::retained(commands);
    const place end = commit_on(to, commands);
    return fence(std::make_shared<committed_work>(std::move(kept), end, std::move(earlier)));
}

bool queues::order(const fence& before, queue on) {
    if (!before.native()) return true;
    const auto* const work = dynamic_cast<const committed_work*>(before.native());
    if (!work || device_of_queue(work->end().queue) != device_) return false;
    const pool drained;
    known& to = on ? find(on.native) : *own_;
    if (!on) join();
    if (work->end().queue == to.native.get()) return true;
    const id waiting = new_commands(to);
    encode_wait(waiting, work->end().event, work->end().value);
    commit_on(to, waiting);
    return true;
}

}  // namespace unibuf::backends::metal
