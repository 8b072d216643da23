// backends/cuda/copy_threads.cpp
#include "backends/cuda/copy_threads.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

#include "backends/cuda/past_cache.hpp"
#include "backends/host/sizes.hpp"

namespace unibuf::backends::cuda {
namespace {

constexpr std::size_t most = 8;
constexpr std::size_t worth_sharing = std::size_t{256} << 10;  // waking threads takes longer than copying less

void copy_bytes(direction way, std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    if (way == direction::to_device) return copy_past_cache(to, from, bytes);
    std::memcpy(to, from, bytes);
}

}  // namespace

/// Returns whether there are helpers; starts them where there are none yet. Only the one caller may ask.
bool copy_threads::have_helpers() {
    if (!helpers_.empty()) return true;
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t helpers = std::min(most, std::max<std::size_t>(1, cores / 2)) - 1;
    helpers_.reserve(helpers);
    try {
        for (std::size_t i = 1; i <= helpers; ++i) helpers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {  // fewer do it, too
    }
    return !helpers_.empty();
}

copy_threads::~copy_threads() {
    {
        const std::scoped_lock lock(mutex_);
        stop_ = true;
    }
    begin_.notify_all();
    for (std::thread& each : helpers_) each.join();
}

void copy_threads::copy(direction way, std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::unique_lock mine(used_, std::try_to_lock);
    if (bytes < worth_sharing || !mine || !have_helpers()) {
        copy_bytes(way, to, from, bytes);
        return;
    }
    {
        const std::scoped_lock lock(mutex_);
        way_ = way;
        to_ = to;
        from_ = from;
        bytes_ = bytes;
        busy_ = helpers_.size();
        ++round_;
    }
    begin_.notify_all();
    copy_part(0);
    std::unique_lock lock(mutex_);
    end_.wait(lock, [this] { return busy_ == 0; });
}

void copy_threads::work(std::size_t index) {
    std::size_t round = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        begin_.wait(lock, [&] { return stop_ || round_ != round; });
        if (stop_) return;
        round = round_;
        lock.unlock();
        copy_part(index);
        lock.lock();
        if (--busy_ == 0) end_.notify_one();
    }
}

/// Parts end at cache lines, so that no two threads write one.
void copy_threads::copy_part(std::size_t index) const noexcept {
    const std::size_t parts = helpers_.size() + 1;
    const std::size_t part = (bytes_ / parts + cache_line) / cache_line * cache_line;
    const std::size_t begin = std::min(index * part, bytes_);
    const std::size_t end = std::min(begin + part, bytes_);
    copy_bytes(way_, to_ + begin, from_ + begin, end - begin);
}

}  // namespace unibuf::backends::cuda
