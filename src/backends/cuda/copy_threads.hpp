// backends/cuda/copy_threads.hpp: copies by several threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace unibuf::backends::cuda {

/// One core does not fill the bus: a memcpy runs at a few GB/s, PCIe 5 at more than fifty. One caller uses the threads
/// at a time; others copy by themselves meanwhile.
class copy_threads {
public:
    /// With as many threads as there are cores to spare, the caller's among them: half of all, eight at the most.
    copy_threads();
    explicit copy_threads(std::size_t threads) noexcept : threads_(threads) {}
    ~copy_threads();
    copy_threads(const copy_threads&) = delete;
    copy_threads& operator=(const copy_threads&) = delete;

    /// Copies the bytes from `begin` to `end` of what is to be copied. Throws nothing.
    using work = std::function<void(std::size_t begin, std::size_t end)>;

    /// Has all bytes copied, part by part. The first long copy starts the threads.
    void split(std::size_t bytes, const work& todo);

private:
    bool have_helpers();
    void begin_round();
    void help(std::size_t index);
    void do_part(std::size_t index) const;

    const std::size_t threads_;
    std::mutex used_;
    std::mutex mutex_;
    std::condition_variable begin_;
    std::condition_variable end_;
    const work* todo_ = nullptr;
    std::size_t bytes_ = 0;
    bool stop_ = false;
    std::atomic<std::size_t> round_ = 0;  // gives helpers what is above
    std::atomic<std::size_t> busy_ = 0;   // helpers that have not done their part of the round
    std::vector<std::thread> helpers_;
};

}  // namespace unibuf::backends::cuda
