// unibuf/batch.hpp: small writes and syncs of many buffers, as few transfers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "unibuf/export.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf {

/// Collects what is to be current at one space, and makes it so in few transfers: one for each 512 buffers whose bytes
/// come from the same space. What is written or named twice moves once. A driver that takes lists of copies gets them
/// as lists; of others each range is a call.
///
///     unibuf::batch updates("cuda:0");
///     for (particle& each : changed) updates.write(each.state, each.bytes());
///     updates.submit();
///
/// One thread at a time. Buffers it was told of live until it was submitted. Until then they are as coherent as
/// always: whoever uses one at the space before, moves what that needs.
class UNIBUF_API batch {
public:
    explicit batch(space to = default_device());

    /// Submits what is left. What fails then is found, and told, by the next access to those bytes.
    ~batch();
    batch(const batch&) = delete;
    batch& operator=(const batch&) = delete;

    /// Writes at the host, at once, as buffer::copy_from does; and to be synced. Throws what that throws.
    void write(buffer& to, std::span<const std::byte> data, std::size_t offset = 0);

    template <class T>
    void write(unified_buffer<T>& to, std::span<const T> data, std::size_t offset = 0) {
        write(to.bytes(), std::as_bytes(data), unified_buffer<T>::scaled(offset));
    }

    /// All that the handle stands for is to be synced. Throws error(not_allocated) where no copy exists at all.
    void sync(const buffer& of);

    template <class T>
    void sync(const unified_buffer<T>& of) {
        sync(of.bytes());
    }

    /// Makes all of it current, and returns when it is. Where a transfer fails, its buffers are tried one by one, and
    /// the first failure is thrown; what could not be moved can be submitted again. Throws what buffer::sync_to_device
    /// throws.
    void submit();

    std::size_t size() const noexcept;  // ranges that are to be synced

    /// While it exists, what this thread syncs to the space of the batch, or prefetches there without a queue, is
    /// collected instead. Of several, the last one that was made counts.
    class UNIBUF_API scope {
    public:
        explicit scope(batch& by) noexcept;
        ~scope();
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        batch* before_;
    };

private:
    friend class buffer;
    struct range;

    /// The one that collects for this thread at `where`, or null.
    static batch* collecting_at(space where) noexcept;
    void add(const buffer& of, std::size_t offset, std::size_t bytes);

    space to_;
    std::vector<range> wanted_;
};

}  // namespace unibuf
