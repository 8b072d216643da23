// backends/cuda/copy_threads.cpp: copies by several threads.
#include "backends/cuda/copy_threads.hpp"

#include <algorithm>
#include <system_error>

#include "backends/host/sizes.hpp"
#include "backends/poll.hpp"

namespace unibuf::backends::cuda {
namespace {

constexpr std::size_t most = 8;
constexpr std::size_t worth_sharing = std::size_t{256} << 10;  // waking threads takes longer than copying less

// Helpers stay awake for so long, as the card does with a block of the ring: the next is there before they sleep.
constexpr std::chrono::microseconds between_blocks(200);

}  // namespace

copy_threads::copy_threads()
    : copy_threads(std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, most)) {}

/// Returns whether there are helpers; starts them where there are none yet. Only the one caller may ask.
bool copy_threads::have_helpers() {
    if (!helpers_.empty()) return true;
    helpers_.reserve(threads_ - 1);
    try {
        for (std::size_t i = 1; i != threads_; ++i) helpers_.emplace_back([this, i] { help(i); });
    } catch (const std::system_error&) {  // fewer do it, too
    }
    return !helpers_.empty();
}

copy_threads::~copy_threads() {
    stop_ = true;
    begin_round();
    for (std::thread& each : helpers_) each.join();
}

void copy_threads::split(std::size_t bytes, const work& todo) {
    if (bytes < worth_sharing) return todo(0, bytes);
    const std::unique_lock mine(used_, std::try_to_lock);
    if (!mine || !have_helpers()) return todo(0, bytes);
    todo_ = &todo;
    bytes_ = bytes;
    busy_ = helpers_.size();
    begin_round();
    do_part(0);
    const auto all_done = [this] { return busy_ == 0; };
    if (is_done_soon(all_done)) return;
    std::unique_lock lock(mutex_);
    end_.wait(lock, all_done);
}

void copy_threads::begin_round() {
    {
        const std::scoped_lock lock(mutex_);
        ++round_;
    }
    begin_.notify_all();
}

void copy_threads::help(std::size_t index) {
    for (std::size_t round = 1;; ++round) {
        const auto has_begun = [&] { return round_ == round; };
        if (!is_done_soon(has_begun, between_blocks)) {
            std::unique_lock lock(mutex_);
            begin_.wait(lock, has_begun);
        }
        if (stop_) return;
        do_part(index);
        if (--busy_ != 0) continue;
        const std::scoped_lock lock(mutex_);
        end_.notify_one();
    }
}

/// Parts end at cache lines, so that no two threads write one.
void copy_threads::do_part(std::size_t index) const {
    const std::size_t parts = helpers_.size() + 1;
    const std::size_t part = (bytes_ / parts + cache_line) / cache_line * cache_line;
    const std::size_t begin = std::min(index * part, bytes_);
    const std::size_t end = std::min(begin + part, bytes_);
    if (begin != end) (*todo_)(begin, end);
}

}  // namespace unibuf::backends::cuda
