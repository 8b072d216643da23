// tests/doubles/cuda/dma.cpp
#include "doubles/cuda/dma.hpp"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "doubles/cuda/stop.hpp"

namespace cuda_double {
namespace {

constexpr std::uintptr_t page_bytes = 4096;

std::byte* map(int of, std::size_t bytes, off_t where) {
    void* const made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, of, where);
    return made == MAP_FAILED ? nullptr : static_cast<std::byte*>(made);
}

template <class T>
T* at(std::byte* begin, std::size_t offset) noexcept {
    return reinterpret_cast<T*>(begin + offset);
}

}  // namespace

std::unique_ptr<dma> dma::to(std::byte* memory, std::size_t bytes) {
    std::unique_ptr<dma> made(new dma);
    return made->open(memory, bytes) ? std::move(made) : nullptr;
}

bool dma::open(std::byte* memory, std::size_t bytes) {
    io_uring_params with{};
    ring_ = static_cast<int>(::syscall(SYS_io_uring_setup, 1, &with));
    constexpr unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_EXT_ARG;
    if (ring_ < 0 || (with.features & needed) != needed) return false;
    queues_size_ = with.cq_off.cqes + with.cq_entries * sizeof(io_uring_cqe);
    queues_ = map(ring_, queues_size_, IORING_OFF_SQ_RING);
    entries_size_ = with.sq_entries * sizeof(io_uring_sqe);
    entries_ = map(ring_, entries_size_, IORING_OFF_SQES);
    bytes_ = ::memfd_create("bytes on their way", MFD_CLOEXEC);
    if (!queues_ || !entries_ || bytes_ < 0) return false;
    tail_ = at<unsigned>(queues_, with.sq_off.tail);
    done_ = at<unsigned>(queues_, with.cq_off.head);
    arrived_ = at<unsigned>(queues_, with.cq_off.tail);
    results_ = queues_ + with.cq_off.cqes;
    entry_mask_ = with.sq_entries - 1;
    result_mask_ = with.cq_entries - 1;
    for (unsigned i = 0; i != with.sq_entries; ++i) at<unsigned>(queues_, with.sq_off.array)[i] = i;

    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory) / page_bytes * page_bytes;
    const std::uintptr_t end =
        (reinterpret_cast<std::uintptr_t>(memory) + bytes + page_bytes - 1) / page_bytes * page_bytes;
    const iovec pages{reinterpret_cast<void*>(begin), end - begin};
    return ::syscall(SYS_io_uring_register, ring_, IORING_REGISTER_BUFFERS, &pages, 1) == 0;
}

dma::~dma() {
    if (entries_) ::munmap(entries_, entries_size_);
    if (queues_) ::munmap(queues_, queues_size_);
    if (bytes_ >= 0) ::close(bytes_);
    if (ring_ >= 0) ::close(ring_);
}

void dma::write(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t put = 0; put != bytes;) {
        const ssize_t some = ::pwrite(bytes_, from + put, bytes - put, static_cast<off_t>(put));
        if (some <= 0) stop("%zu bytes on their way to the host have no room", bytes);
        put += static_cast<std::size_t>(some);
    }
    for (std::size_t done = 0; done != bytes;) done += read_into(to + done, done, bytes - done);
    if (::ftruncate(bytes_, 0) != 0) stop("bytes that have arrived cannot be dropped");
}

std::size_t dma::read_into(std::byte* to, std::size_t offset, std::size_t bytes) {
    constexpr std::size_t most = std::size_t{1} << 30;
    const unsigned next = *tail_;
    io_uring_sqe& asked = at<io_uring_sqe>(entries_, 0)[next & entry_mask_];
    asked = {};
    asked.opcode = IORING_OP_READ_FIXED;
    asked.fd = bytes_;
    asked.off = offset;
    asked.addr = reinterpret_cast<std::uintptr_t>(to);
    asked.len = static_cast<unsigned>(bytes < most ? bytes : most);
    std::atomic_ref(*tail_).store(next + 1, std::memory_order_release);
    // A signal may end the wait early, also after the kernel has taken the read. The kernel is asked again now and
    // then.
    const __kernel_timespec soon{.tv_sec = 1, .tv_nsec = 0};
    io_uring_getevents_arg wait{};
    wait.ts = reinterpret_cast<std::uintptr_t>(&soon);
    constexpr unsigned how = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    unsigned submitted = 0;
    while (std::atomic_ref(*arrived_).load(std::memory_order_acquire) == *done_) {
        const long taken = ::syscall(SYS_io_uring_enter, ring_, 1 - submitted, 1, how, &wait, sizeof wait);
        if (taken > 0) submitted = 1;
        if (taken < 0 && errno != EINTR && errno != ETIME) {
            stop("the kernel does not write to pinned memory: %s", std::strerror(errno));
        }
    }
    const int result = at<io_uring_cqe>(results_, 0)[*done_ & result_mask_].res;
    std::atomic_ref(*done_).store(*done_ + 1, std::memory_order_release);
    if (result <= 0) stop("the kernel did not write to pinned memory: %s", std::strerror(-result));
    return static_cast<std::size_t>(result);
}

}  // namespace cuda_double
