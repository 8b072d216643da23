// backends/debug/poisoned_memory.cpp: memory that reads as poison where nobody has made it current.
#include "backends/debug/poisoned_memory.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

#include "backends/host/sizes.hpp"
#include "backends/spaces.hpp"
#include "coherence/byte_range.hpp"
#include "system/pages.hpp"
#include "unibuf/detail/sizes.hpp"

namespace unibuf::backends {

namespace {

constexpr std::size_t chunk = std::size_t{256} << 10;

}  // namespace

/// Tells which chunks were never used.
struct poisoned_memory::chunks {
    chunks(std::size_t of_bytes, bool* flags) noexcept : bytes(of_bytes), left(count(of_bytes)), used(flags) {}

    static std::size_t count(std::size_t bytes) noexcept { return (bytes + chunk - 1) / chunk; }

    bool any() const noexcept { return left.load(std::memory_order_acquire) != 0; }

    byte_range all_of(std::size_t index) const noexcept {
        return byte_range{index * chunk, (index + 1) * chunk}.clipped_to({0, bytes});
    }

    const std::size_t bytes;
    std::atomic<std::size_t> left;
    std::mutex mutex;
    bool* const used;  // one flag for each chunk, false in new pages
};

poisoned_memory::poisoned_memory(const allocation_request& what) {
    if (what.bytes <= chunk) {
        pages_ = device_of(host).allocate(what);
        pages_->poison_stale(0, what.bytes);
        return;
    }
    const std::size_t page = system::page_size();
    const std::size_t content = detail::rounded_up(what.bytes, page);
    allocation_request more = what;
    more.bytes = content + sizeof(chunks) + chunks::count(what.bytes);
    pages_ = device_of(host).allocate(more);
    std::byte* const behind = pages_->host_address() + content;
    unused_ = new (behind) chunks(what.bytes, reinterpret_cast<bool*>(behind + sizeof(chunks)));
}

poisoned_memory::~poisoned_memory() {
    if (unused_) unused_->~chunks();
}

/// Makes the chunks of this part hold what they are to hold from now on. Chunks that are `overwritten` whole need no
/// poison.
void poisoned_memory::begin_using(part used, bool overwritten) {
    if (!unused_ || !unused_->any()) return;
    const byte_range range{used.offset, used.offset + used.bytes};
    const std::scoped_lock lock(unused_->mutex);
    for (std::size_t i = range.begin / chunk; i * chunk < range.end; ++i) {
        if (unused_->used[i]) continue;
        const byte_range all = unused_->all_of(i);
        if (!overwritten || !range.contains(all)) pages_->poison_stale(all.begin, all.size());
        unused_->used[i] = true;
        unused_->left.fetch_sub(1, std::memory_order_release);
    }
}

/// Many rows lie in one chunk, which is looked at once.
void poisoned_memory::begin_using_rows(const rectangle_copy& rows, bool overwritten) {
    if (!unused_ || !unused_->any()) return;
    const rectangle_copy all = rows.folded();
    byte_range known{0, 0};
    all.for_each_row([&](std::size_t here, std::size_t) {
        const byte_range row{here, here + all.row_bytes};
        if (known.contains(row)) return;
        begin_using({here, all.row_bytes}, overwritten);
        known = {row.begin / chunk * chunk, (row.end + chunk - 1) / chunk * chunk};
    });
}

void poisoned_memory::poison_unseen(std::size_t offset, std::size_t bytes) {
    if (!unused_) return;
    const std::size_t begin = offset - std::min(offset, chunk);
    begin_using({begin, std::min(unused_->bytes, offset + bytes + chunk) - begin}, false);
}

/// Poisons what is used already. A chunk that is not used yet is poisoned when it is.
void poisoned_memory::poison_stale(std::size_t offset, std::size_t bytes) {
    if (!unused_ || !unused_->any()) return pages_->poison_stale(offset, bytes);
    const byte_range range{offset, offset + bytes};
    const std::scoped_lock lock(unused_->mutex);
    for (std::size_t i = range.begin / chunk; i * chunk < range.end; ++i) {
        if (!unused_->used[i]) continue;
        const byte_range stale = range.clipped_to(unused_->all_of(i));
        pages_->poison_stale(stale.begin, stale.size());
    }
}

fence poisoned_memory::write(std::size_t offset, std::span<const std::byte> from, queue on) {
    begin_using({offset, from.size()}, true);
    return pages_->write(offset, from, on);
}

fence poisoned_memory::read(std::size_t offset, std::span<std::byte> to, queue on) {
    begin_using({offset, to.size()}, false);
    return pages_->read(offset, to, on);
}

void poisoned_memory::write_parts(std::span<const part> parts, const std::byte* host, queue on, fences& done) {
    for (const part& each : parts) begin_using(each, true);
    pages_->write_parts(parts, host, on, done);
}

void poisoned_memory::read_parts(std::span<const part> parts, std::byte* host, queue on, fences& done) {
    for (const part& each : parts) begin_using(each, false);
    pages_->read_parts(parts, host, on, done);
}

fence poisoned_memory::write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) {
    begin_using_rows(what, true);
    return pages_->write_rectangle(what, host, on);
}

fence poisoned_memory::read_rectangle(const rectangle_copy& what, std::byte* host, queue on) {
    begin_using_rows(what, false);
    return pages_->read_rectangle(what, host, on);
}

fence poisoned_memory::fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) {
    begin_using({offset, bytes}, true);
    return pages_->fill(offset, bytes, pattern, on);
}

}  // namespace unibuf::backends
