// tests/doubles/cuda/dma.hpp: writes to pages of the host as a device does: the page tables of the process do not show
// it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

namespace cuda_double {

/// The kernel pins the pages, and writes to them by io_uring, as a device does. Any thread.
class dma {
public:
    /// Pins whole pages around the memory. Returns null where the system does not let it: it has no io_uring, or the
    /// process may not lock so much.
    static std::unique_ptr<dma> to(std::byte* memory, std::size_t bytes);
    ~dma();
    dma(const dma&) = delete;
    dma& operator=(const dma&) = delete;

    /// Writes within that memory.
    void write(std::byte* to, const std::byte* from, std::size_t bytes);

private:
    dma() = default;
    bool open(std::byte* memory, std::size_t bytes);
    std::size_t read_into(std::byte* to, std::size_t offset, std::size_t bytes);

    std::mutex mutex_;
    int ring_ = -1;
    int bytes_ = -1;  // a file in memory, which the kernel reads them from
    std::byte* queues_ = nullptr;
    std::size_t queues_size_ = 0;
    std::byte* entries_ = nullptr;
    std::size_t entries_size_ = 0;
    unsigned* tail_ = nullptr;
    unsigned* done_ = nullptr;
    unsigned* arrived_ = nullptr;
    std::byte* results_ = nullptr;
    unsigned entry_mask_ = 0;
    unsigned result_mask_ = 0;
};

}  // namespace cuda_double
