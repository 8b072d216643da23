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
/// as lists; with other drivers each range is a call.
///
///     unibuf::batch updates("cuda:0");
///     for (particle& each : changed) updates.write(each.state, each.bytes());
///     updates.submit();
///
/// A batch is used by one thread at a time. It keeps the buffers that it was told of until it is submitted. They are as
/// coherent as always: whoever uses one at the space before then moves what that access needs.
class UNIBUF_API batch {
public:
    explicit batch(space to = default_device());

    /// Submits what is left. What fails then is found, and told, by the next access to those bytes.
    ~batch();
    batch(const batch&) = delete;
    batch& operator=(const batch&) = delete;

    /// Writes `data` at the host at once, as buffer::copy_from does, and collects those bytes to be synced. Throws what
    /// buffer::copy_from throws.
    void write(buffer& to, std::span<const std::byte> data, std::size_t offset = 0);

    template <class T>
    void write(unified_buffer<T>& to, std::span<const T> data, std::size_t offset = 0) {
        write(to.bytes(), std::as_bytes(data), unified_buffer<T>::scaled(offset));
    }

    /// Collects all that the handle stands for, to be synced. Throws error(not_allocated) where no copy exists at all.
    void sync(const buffer& of);

    template <class T>
    void sync(const unified_buffer<T>& of) {
        sync(of.bytes());
    }

    /// Makes all that was collected current, and returns when it is. Where a limit has no room for all of it, some is
    /// evicted for what comes later, as by one sync after the other. Where a transfer fails, its buffers are tried one
    /// by one, and the first failure is thrown; what could not be moved can be submitted again. Throws what
    /// buffer::sync_to_device throws.
    void submit();

    std::size_t size() const noexcept;  // number of ranges and rectangles that are to be synced

    /// While a scope exists, its batch collects what this thread syncs to the space of the batch, or prefetches there
    /// without a queue. Where several scopes exist, the one that was made last counts.
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

    /// Returns the batch that collects for this thread at `where`, or null.
    static batch* collecting_at(space where) noexcept;
    void add(const buffer& of, const region& part);

    space to_;
    std::vector<range> wanted_;
};

}  // namespace unibuf
