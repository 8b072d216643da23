// tests/doubles/cuda/addresses.cpp
#include "doubles/cuda/addresses.hpp"

#include <sys/mman.h>

#include <cstring>

#include "doubles/cuda/stop.hpp"

namespace cuda_double {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t driver_block = std::size_t{2} << 20;
constexpr std::size_t reserved_bytes = std::size_t{256} << 30;
constexpr int garbage = 0xA5;  // what fresh memory holds: anything

std::size_t whole_pages(std::size_t bytes) noexcept { return (bytes + page - 1) / page * page; }

std::byte* reserve(std::size_t bytes, int kind = MAP_PRIVATE) {
    void* const made = ::mmap(nullptr, bytes, PROT_NONE, kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) stop("%zu bytes of addresses cannot be reserved", bytes);
    return static_cast<std::byte*>(made);
}

device_pointer address_of(const void* host) noexcept { return reinterpret_cast<device_pointer>(host); }

}  // namespace

addresses::addresses() : reserved_(address_of(reserve(reserved_bytes))), bytes_(reserve(reserved_bytes)) {}

region* addresses::allocate(std::size_t bytes, int device, pool_handle pool) {
    if (bytes > most_on_device || device_bytes(device) + bytes > most_on_device) return nullptr;
    // The page behind stays closed. Large ones lie side by side, as a driver's do: no copy may span two.
    const std::size_t needed = whole_pages(bytes) + (bytes % driver_block == 0 ? 0 : page);
    if (needed > reserved_bytes - taken_) stop("all addresses are used up: the double never uses one twice");
    std::byte* const made = bytes_ + taken_;
    if (::mprotect(made, whole_pages(bytes), PROT_READ | PROT_WRITE) != 0) return nullptr;
    std::memset(made, garbage, bytes);
    const device_pointer begin = reserved_ + taken_;
    taken_ += needed;
    return add({.begin = begin, .bytes = bytes, .device = device, .pool = pool, .accesses = {}});
}

region* addresses::allocate_pinned(std::size_t bytes, bool shared) {
    if (bytes > most_pinned || pinned_ + bytes > most_pinned) return nullptr;
    std::byte* const made = reserve(whole_pages(bytes) + page, shared ? MAP_SHARED : MAP_PRIVATE);
    if (::mprotect(made, whole_pages(bytes), PROT_READ | PROT_WRITE) != 0) return nullptr;
    std::memset(made, garbage, bytes);
    const device_pointer begin = address_of(made);
    return add({.begin = begin, .bytes = bytes, .what = region::kind::pinned, .accesses = {}});
}

region* addresses::add_registered(void* host, std::size_t bytes, bool by_pages) {
    if (bytes > most_pinned || pinned_ + bytes > most_pinned) return nullptr;
    const device_pointer begin = address_of(host);
    region* const made = add({.begin = begin, .bytes = bytes, .what = region::kind::registered, .accesses = {}});
    if (by_pages) made->by_pages = dma::to(static_cast<std::byte*>(host), bytes);
    return made;
}

void region::write(std::byte* to, const std::byte* from, std::size_t count) const {
    if (by_pages) return by_pages->write(to, from, count);
    std::memcpy(to, from, count);
}

region* addresses::find(device_pointer address) noexcept {
    auto next = regions_.upper_bound(address);
    if (next == regions_.begin()) return nullptr;
    region& found = std::prev(next)->second;
    return address < found.end() ? &found : nullptr;
}

bool addresses::overlaps_pinned(const void* host, std::size_t bytes) noexcept {
    const device_pointer begin = address_of(host) / page * page;
    const device_pointer end = whole_pages(address_of(host) + bytes);
    for (const auto& [address, each] : regions_) {
        if (address >= end) break;
        if (!each.freed && whole_pages(each.end()) > begin) return true;
    }
    return false;
}

bool addresses::of_device(device_pointer address) const noexcept {
    return address >= reserved_ && address < reserved_ + reserved_bytes;
}

std::byte* addresses::bytes_of(device_pointer address) const noexcept {
    return of_device(address) ? bytes_ + (address - reserved_) : reinterpret_cast<std::byte*>(address);
}

region* addresses::add(region made) {
    ++live_;
    (made.what == region::kind::device ? on_device_[made.device] : pinned_) += made.bytes;
    return &(regions_[made.begin] = std::move(made));
}

void addresses::free(region& gone) noexcept {
    gone.freed = true;
    gone.accesses.clear();
    --live_;
    (gone.what == region::kind::device ? on_device_[gone.device] : pinned_) -= gone.bytes;
}

void addresses::count_in(const region& freed) noexcept { on_device_[freed.device] += freed.bytes; }
void addresses::count_out(const region& freed) noexcept { on_device_[freed.device] -= freed.bytes; }

void addresses::remove(region& registered) noexcept {
    free(registered);
    regions_.erase(registered.begin);
}

void addresses::vanish(device_pointer begin, std::size_t bytes) noexcept {
    std::byte* const from = bytes_of(begin);
    ::madvise(from, whole_pages(bytes), MADV_DONTNEED);
    ::mprotect(from, whole_pages(bytes), PROT_NONE);
}

std::vector<device_pointer> addresses::of_context(int device) const {
    std::vector<device_pointer> result;
    for (const auto& [address, each] : regions_) {
        if (each.what == region::kind::device && each.device == device && !each.freed) result.push_back(address);
    }
    return result;
}

void touch(region& what, device_pointer begin, device_pointer end, bool writes, const operation& by,
           const vector_clock& host) {
    auto kept = what.accesses.begin();
    for (const access_record& each : what.accesses) {
        if (host.has_seen(each.stream, each.operation)) continue;
        const bool overlaps = each.begin < end && begin < each.end;
        const bool ordered = by.when.has_seen(each.stream, each.operation);
        if (overlaps && !ordered && (writes || each.writes)) {
            stop(
                "missing order: %s, operation %llu of stream %zu, %s bytes [%llu, %llu) of the memory at 0x%llx, and "
                "%s, "
                "operation %llu of stream %zu, %s bytes [%llu, %llu) of it; nothing orders the two",
                by.name, static_cast<unsigned long long>(by.number), by.stream, writes ? "writes" : "reads",
                begin - what.begin, end - what.begin, what.begin, each.name,
                static_cast<unsigned long long>(each.operation), each.stream, each.writes ? "writes" : "reads",
                each.begin - what.begin, each.end - what.begin);
        }
        // What comes later and must be after that one is after this one too.
        const bool covered = ordered && begin <= each.begin && each.end <= end && (writes || !each.writes);
        const bool replaces = covered && (writes || each.stream == by.stream);
        if (!replaces) *kept++ = each;
    }
    what.accesses.erase(kept, what.accesses.end());
    what.accesses.push_back({begin, end, by.stream, by.number, writes, by.name});
}

void check_idle(const region& what, const char* call, const vector_clock& host) {
    for (const access_record& each : what.accesses) {
        if (host.has_seen(each.stream, each.operation)) continue;
        stop("missing order: %s of the memory at 0x%llx, and %s, operation %llu of stream %zu, may still touch it",
             call, what.begin, each.name, static_cast<unsigned long long>(each.operation), each.stream);
    }
}

}  // namespace cuda_double
