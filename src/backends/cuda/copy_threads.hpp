// backends/cuda/copy_threads.hpp: copies by several threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/backend.hpp"

namespace unibuf::backends::cuda {

/// One core does not fill the bus: a memcpy runs at a few GB/s, PCIe 5 at more than fifty. One caller uses the threads
/// at a time; others copy by themselves meanwhile.
class copy_threads {
public:
    copy_threads() = default;
    ~copy_threads();
    copy_threads(const copy_threads&) = delete;
    copy_threads& operator=(const copy_threads&) = delete;

    /// Copies what goes that way next, or has come. The first long copy starts as many threads as there are cores to
    /// spare, the caller's among them, eight at the most.
    void copy(direction way, std::byte* to, const std::byte* from, std::size_t bytes);

private:
    bool have_helpers();
    void work(std::size_t index);
    void copy_part(std::size_t index) const noexcept;

    std::mutex used_;
    std::mutex mutex_;
    std::condition_variable begin_;
    std::condition_variable end_;
    direction way_ = direction::to_device;
    std::byte* to_ = nullptr;
    const std::byte* from_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t round_ = 0;
    std::size_t busy_ = 0;
    bool stop_ = false;
    std::vector<std::thread> helpers_;
};

}  // namespace unibuf::backends::cuda
