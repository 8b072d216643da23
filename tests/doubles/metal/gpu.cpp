// doubles/metal/gpu.cpp
#include "doubles/metal/gpu.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "doubles/metal/counts.hpp"
#include "doubles/metal/stop.hpp"

namespace metal_double {
namespace {

thread_local bool is_gpu = false;

/// Copies words of the program's pages, of which some bytes may be of others, who write them meanwhile: no GPU minds.
__attribute__((noinline, no_sanitize("address", "thread"))) void copy_pages(const std::byte* from, std::size_t bytes,
                                                                            std::byte* to) {
    const auto* const words = reinterpret_cast<const volatile std::uint64_t*>(from);
    for (std::size_t i = 0; i < bytes / sizeof *words; ++i) {
        const std::uint64_t word = words[i];
        std::memcpy(to + i * sizeof word, &word, sizeof word);
    }
}

}  // namespace

buffer::buffer(std::size_t bytes, bool is_shared, std::byte* pages)
    : object(about), own_(pages == nullptr), host_(pages), gpu_(bytes, std::byte{0xA5}) {
    if (!is_shared) return;
    if (own_) {
        memory_ = gpu_;
        host_ = memory_.data();
    } else {
        copy_pages(host_, bytes, gpu_.data());
    }
    seen_ = gpu_;
}

/// The end of a buffer leaves something to the thread's pool, as it does with Metal; not on the GPU's own thread.
buffer::~buffer() {
    if (own_) give_memory(size());
    if (!gpu::is_this_thread()) {
        object* const left = new_string("left by a buffer");
        autoreleased(left);
    }
}

std::vector<buffer::piece> buffer::written_by_host() {
    std::vector<piece> result;
    if (!host_) return result;
    constexpr std::size_t step = 4096;
    std::byte now[step];
    for (std::size_t at = 0; at < size(); at += step) {
        const std::size_t bytes = std::min(step, size() - at);
        if (own_) {
            std::memcpy(now, host_ + at, bytes);
        } else {
            copy_pages(host_ + at, bytes, now);
        }
        if (std::memcmp(now, seen_.data() + at, bytes) == 0) continue;
        for_each_difference(seen_.data() + at, now, bytes, [&](std::size_t begin, std::size_t end) {
            if (result.empty() || result.back().offset + result.back().bytes.size() != at + begin) {
                result.push_back({.offset = at + begin, .bytes = {}});
            }
            std::vector<std::byte>& written = result.back().bytes;
            written.insert(written.end(), now + begin, now + end);
        });
        std::memcpy(seen_.data() + at, now, bytes);
    }
    return result;
}

void buffer::see(const piece& written) { std::ranges::copy(written.bytes, gpu_.data() + written.offset); }

void buffer::show(std::size_t offset, std::size_t bytes) {
    if (!host_) return;
    std::memcpy(host_ + offset, gpu_.data() + offset, bytes);
    std::memcpy(seen_.data() + offset, gpu_.data() + offset, bytes);
}

commands::commands(queue& of) : object(about), on(&of) {}

commands::~commands() {
    if (encoder) stop("a command buffer goes while an encoder of it is open");
    const std::lock_guard lock(gpu::only().mutex);
    if (state == not_enqueued) gpu::only().leave(*on.get());
}

void commands::check_open() const {
    const std::lock_guard lock(gpu::only().mutex);
    if (state != not_enqueued) stop("a command is added to a command buffer that was committed");
}

void commands::use(buffer* one) {
    if (std::ranges::find(buffers_, one, &reference<buffer>::get) == buffers_.end()) buffers_.emplace_back(one);
}

void commands::has_written(buffer& to, std::size_t offset, std::size_t bytes) {
    results_.push_back({reference<buffer>(&to), offset, bytes});
}

void commands::fail(long code) {
    failure_ = code;
    todo_.clear();
}

bool commands::step() {
    if (!todo_.front()()) return false;
    todo_.pop_front();
    return true;
}

void commands::see_host() {
    for (const auto& each : buffers_) {
        std::vector<buffer::piece> pieces = each->written_by_host();
        if (pieces.empty()) continue;
        const command see = [to = each, pieces = std::move(pieces)] {
            for (const buffer::piece& one : pieces) to->see(one);
            return true;
        };
        todo_.push_front(see);
    }
}

void commands::show_host() {
    for (const written& each : results_) each.to->show(each.offset, each.bytes);
}

/// It is never destroyed: programs end while work is under way.
gpu& gpu::only() {
    static auto* const one = new gpu;
    return *one;
}

gpu::gpu() : thread_([this] { work(); }) { thread_.detach(); }

void gpu::commit(commands& what) {
    {
        const std::lock_guard lock(mutex);
        if (what.state != commands::not_enqueued) stop("a command buffer is committed a second time");
        if (what.encoder) stop("a command buffer is committed while an encoder of it is open");
        what.see_host();  // what is written later it does not see
        what.state = commands::committed;
        const auto line = std::ranges::find_if(lines_, [&](const auto& each) { return each.first == what.on.get(); });
        if (line == lines_.end()) {
            lines_.emplace_back(what.on.get(), std::deque<reference<commands>>());
            lines_.back().second.emplace_back(&what);
        } else {
            line->second.emplace_back(&what);
        }
    }
    changed_.notify_all();
}

void gpu::wait(commands& what) {
    std::unique_lock lock(mutex);
    if (what.state == commands::not_enqueued) stop("a command buffer is waited for that was not committed");
    changed_.wait(lock, [&] { return what.state >= commands::completed; });
}

void gpu::enter(queue& on) {
    std::unique_lock lock(mutex);
    changed_.wait(lock, [&] { return on.uncompleted < on.most_uncompleted; });
    ++on.uncompleted;
}

void gpu::leave(queue& on) {
    --on.uncompleted;
    changed_.notify_all();
}

std::uint64_t gpu::value_of(shared_event& event) {
    const std::lock_guard lock(mutex);
    return event.value;
}

void gpu::set_value(shared_event& event, std::uint64_t value) {
    {
        const std::lock_guard lock(mutex);
        event.value = std::max(event.value, value);
    }
    changed_.notify_all();
}

/// Ends a command buffer. What it has used may go with it, so that the caller keeps it until it has no lock.
void gpu::finish(commands& what) {
    what.show_host();
    if (const long code = what.failure()) {
        object* const reason = new_error(code, "The double was told to fail.");
        what.error = reference<object>(reason);
        reason->release();
    }
    what.state = what.failure() != 0 ? commands::failed : commands::completed;
    leave(*what.on.get());
}

/// Does one thing of a command buffer that is the first on its queue. Returns false where it cannot be done yet.
bool gpu::step(commands& first) {
    if (!first.is_done()) return first.step();
    finish(first);
    return true;
}

bool gpu::is_this_thread() { return is_gpu; }

void gpu::work() {
    is_gpu = true;
    prctl(PR_SET_TIMERSLACK, 1);  // a nap takes as long as it says
    std::vector<reference<commands>> done;
    for (;;) {
        done.clear();
        std::unique_lock lock(mutex);
        std::erase_if(lines_, [](const auto& each) { return each.second.empty(); });
        bool moved = false;
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        for (std::size_t i = 0; i < lines_.size() && !moved; ++i) {
            auto& line = lines_[((random_ >> 33) + i) % lines_.size()].second;
            moved = step(*line.front().get());
            if (moved && line.front()->state >= commands::completed) {
                done.push_back(std::move(line.front()));
                line.pop_front();
            }
        }
        if (!moved) {
            changed_.wait(lock);
            continue;
        }
        const bool late = (random_ >> 40) % 4 == 0;
        lock.unlock();
        changed_.notify_all();
        if (late) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

}  // namespace metal_double
