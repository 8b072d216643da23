// tests/doubles/cuda/addresses.hpp: the memory that devices can reach, who has touched it, and in which order.
//
// A device address is reserved and protected: the host that uses it as a pointer crashes. Its bytes are elsewhere.
// Freed memory is never used again, so that late use is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "doubles/cuda/clock.hpp"
#include "doubles/cuda/dma.hpp"
#include "doubles/cuda/objects.hpp"

namespace cuda_double {

/// An operation that touched bytes [begin, end).
struct access_record {
    device_pointer begin;
    device_pointer end;
    std::size_t stream;
    std::uint64_t operation;
    bool writes;
    const char* name;
};

struct region {
    enum class kind { device, pinned, registered };

    device_pointer begin = 0;
    std::size_t bytes = 0;
    kind what = kind::device;
    int device = 0;
    pool_handle pool = nullptr;
    bool freed = false;
    std::vector<access_record> accesses;
    std::shared_ptr<dma> by_pages{};  // how a device writes to it; null where it does so by the host's address

    /// Writes as the device does.
    void write(std::byte* to, const std::byte* from, std::size_t count) const;

    device_pointer end() const noexcept { return begin + bytes; }
};

/// The memory of each device, and of all pinned memory, in bytes.
inline constexpr std::size_t usual_limit = std::size_t{2} << 30;

class addresses {
public:
    addresses();

    // Null where there is no room, or too much was asked for.
    region* allocate(std::size_t bytes, int device, pool_handle pool);
    region* allocate_pinned(std::size_t bytes, bool shared);
    region* add_registered(void* host, std::size_t bytes, bool by_pages);

    /// The region around `address`, freed or not, or null.
    region* find(device_pointer address) noexcept;

    /// Whether any byte of the pages around is registered or pinned already.
    bool overlaps_pinned(const void* host, std::size_t bytes) noexcept;

    /// Whether it is a device address, known or not.
    bool of_device(device_pointer address) const noexcept;

    /// Returns where the host finds the bytes.
    std::byte* bytes_of(device_pointer address) const noexcept;

    // Both mark it as freed: from now on nobody may ask for it. `vanish` takes the bytes away.
    void free(region& gone) noexcept;
    void vanish(device_pointer begin, std::size_t bytes) noexcept;
    void remove(region& registered) noexcept;

    /// Both are for memory that was freed, and takes room until the stream has come to its end.
    void count_in(const region& freed) noexcept;
    void count_out(const region& freed) noexcept;

    std::size_t device_bytes(int device) noexcept { return on_device_[device]; }
    std::size_t live() const noexcept { return live_; }
    std::vector<device_pointer> of_context(int device) const;

    std::size_t most_on_device = usual_limit;
    std::size_t most_pinned = usual_limit;

private:
    region* add(region made);

    std::map<device_pointer, region> regions_;
    std::map<int, std::size_t> on_device_;
    std::size_t pinned_ = 0;
    std::size_t live_ = 0;
    device_pointer reserved_;
    std::byte* bytes_;
    std::size_t taken_ = 0;
};

/// Notes that `by` touches bytes [begin, end) of `what`. Stops the program where another stream touches them too, one
/// of the two writes, and nothing orders them. What the host has waited for is in order with all that comes.
void touch(region& what, device_pointer begin, device_pointer end, bool writes, const operation& by,
           const vector_clock& host);

/// Stops the program unless the host has waited for all work on `what`.
void check_idle(const region& what, const char* call, const vector_clock& host);

}  // namespace cuda_double
