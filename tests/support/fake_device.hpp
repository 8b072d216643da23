// support/fake_device.hpp: devices without hardware, for tests: test doubles whose mistakes in use show as wrong bytes.
//
// Where a fake shares memory with the host, a cache lies between the two: the device sees the host's bytes only after
// publish_to_device, and the host the device's only after publish_to_host. An asynchronous fake does nothing until
// somebody waits. Every call that can fail asks `faults` first. kernel_write and kernel_read play kernels.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "support/fake_queue.hpp"
#include "unibuf/space.hpp"

namespace unibuf::test {

/// What a fake can do. It has memory of its own where it shares none.
struct fake_traits {
    bool aliases = false;       // uses the host's memory in place
    bool visible = false;       // has memory that the host addresses too
    bool asynchronous = false;  // queues its work
    bool addressable = false;   // the host can address memory that is the device's own
    bool starts_zero = false;   // where false, memory starts as noise
    bool poisons = false;       // asks for poison in stale bytes, as the debug device does
    bool borrows = false;       // can use the memory of another fake, in turns with it
    bool keeps_own = false;     // has bytes of its own behind the host's memory: each publication moves all it names
};

/// A transfer, publication or fill that was queued, and failed.
struct failed_work {
    std::size_t begin = 0;
    std::size_t end = 0;
};

struct call_counts {
    std::size_t allocations = 0;
    std::size_t writes = 0;
    std::size_t reads = 0;
    std::size_t fills = 0;
    std::size_t publications = 0;
    std::size_t records = 0;
    std::size_t bytes_moved = 0;
    std::size_t memories = 0;  // those that live now
};

class fake_device final : public backends::device {
public:
    explicit fake_device(const fake_traits& does);

    /// Returns fake number `index` of those that do this. It is made at the first call, and so is its space. A process
    /// has few spaces, so tests share fakes.
    static fake_device& get(const fake_traits& does, unsigned index = 0);

    space where() const noexcept { return where_; }
    const fake_traits& does() const noexcept { return does_; }
    fake_queue& queued() noexcept { return queue_; }

    const backends::traits& about() const noexcept override { return about_; }
    std::unique_ptr<backends::memory> allocate(const backends::allocation_request& what) override;
    std::unique_ptr<backends::memory> allocate_visible(const backends::allocation_request& what) override;
    std::unique_ptr<backends::memory> alias(std::span<std::byte> host,
                                            const backends::allocation_request& what) override;
    std::unique_ptr<backends::memory> borrow(backends::memory& of_another,
                                             const backends::allocation_request& what) override;
    fence record(queue on) override;
    bool order(const fence& before, queue on) override;

    call_counts counts;
    bool has_turn = false;              // it is this device's turn with the memory that it has borrowed
    std::vector<failed_work> failures;  // failures since a test emptied the list
    unsigned generation = 0;            // of content; work queued in another than this is not among the failures
    std::vector<std::string> misuse;    // what was done although the backend interface forbids it

private:
    void check(std::string_view call) const;

    fake_traits does_;
    backends::traits about_;
    space where_;
    fake_queue queue_;
};

class fake_memory final : public backends::memory {
public:
    /// `shared` is the host's side of memory that host and device share; empty where there is none.
    fake_memory(fake_device& on, std::size_t bytes, std::span<std::byte> shared, bool owns_host_side);
    ~fake_memory() override;
    fake_memory(const fake_memory&) = delete;
    fake_memory& operator=(const fake_memory&) = delete;

    std::byte* host_address() const noexcept override;
    bool starts_zero() const noexcept override { return on_.does().starts_zero; }
    std::uintptr_t handle() const noexcept override { return reinterpret_cast<std::uintptr_t>(this); }
    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override;
    fence read(std::size_t offset, std::span<std::byte> to, queue on) override;
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override;
    fence publish_to_host(std::size_t offset, std::size_t bytes, access what, queue on) override;
    fence publish_to_device(std::size_t offset, std::size_t bytes, access what, queue on) override;
    bool publishes_content() const noexcept override { return on_.does().keeps_own; }

    fake_device& device() const noexcept { return on_; }

    /// Uses the memory of `lender` by turns. At each turn the content moves to whose turn it is, and leaves noise
    /// behind.
    void borrow_from(fake_memory& lender) {
        lender_ = &lender;
        lent_ = true;
    }

    /// Returns what the device sees now, whatever is queued.
    std::span<const std::byte> seen(std::size_t offset, std::size_t count) const { return {&bytes_[offset], count}; }

    /// Writes at once, as the device.
    void put(std::size_t offset, std::span<const std::byte> content);

private:
    template <class Run>
    fence carry_out(const char* call, std::size_t offset, std::size_t bytes, bool may_be_half, Run run);

    fence pass(const char* call, fake_memory& from, fake_memory& to);

    fake_device& on_;
    fake_memory* lender_ = nullptr;
    bool lent_ = false;  // it is the turn of another device
    std::vector<std::byte> own_host_side_;
    std::span<std::byte> host_side_;
    std::vector<std::byte> bytes_;  // where memory is shared, the device's cache
    std::vector<bool> dirty_;       // written by the device, not yet seen by the host
};

// These functions do what a program's kernels do with memory of a fake. `at` is what native() of a lease, or device(),
// gave.

fake_memory& memory_of(const native_memory& at);

/// Writes `content`, or queues that where the fake queues its work.
void kernel_write(const native_memory& at, std::size_t offset, std::span<const std::byte> content);

/// Returns what the device reads after all that was queued before.
std::vector<std::byte> kernel_read(const native_memory& at);

/// Returns what the device sees now, whatever is queued.
std::vector<std::byte> seen_now(const native_memory& at);

}  // namespace unibuf::test
