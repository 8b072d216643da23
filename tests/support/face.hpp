// support/face.hpp: a buffer as the programs of one language have it: what a history is played on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "unibuf/holder.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"
#include "unibuf/standing_hold.hpp"
#include "unibuf/state.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf::test {

/// A handle of a buffer. Each function does what buffer.hpp says of the one with its name. A failure throws
/// unibuf::error in every language, with the message that programs in that language get.
class face {
public:
    /// A lease, until this is destroyed.
    class held {
    public:
        virtual ~held() = default;
        virtual native_memory native() const = 0;
    };

    /// A copy that is held in place, until this is destroyed.
    class shown : public held {
    public:
        virtual void held_by(holder who) = 0;
    };

    /// A standing hold, which ends when this is destroyed.
    class bound : public held {
    public:
        virtual void pause() = 0;
        virtual void resume() = 0;
    };

    virtual ~face() = default;

    virtual std::unique_ptr<face> view(std::size_t offset, std::size_t count) = 0;
    /// Makes a handle to the indices [begin, end) of an array of bytes of `rows` rows.
    virtual std::unique_ptr<face> rectangle(std::size_t rows, std::size_t columns, std::array<std::size_t, 2> begin,
                                            std::array<std::size_t, 2> end) = 0;
    virtual std::unique_ptr<held> acquire(space where, access what, const access_options& options) = 0;

    /// Begins a standing hold. `options.pause` may throw unibuf::error alone.
    virtual std::unique_ptr<bound> bind(space where, access what, const standing_options& options) = 0;

    /// Holds a copy in place: at the host for writing, at a device for reading.
    virtual std::unique_ptr<shown> hold(space where, std::size_t offset, std::size_t count) = 0;

    virtual std::byte* host() = 0;
    virtual const std::byte* host_to_read() = 0;
    virtual void release_host() = 0;
    virtual void release_device() = 0;
    virtual native_memory device() = 0;

    virtual void mark_host_dirty(std::size_t offset, std::size_t count) = 0;
    virtual void mark_device_dirty(std::size_t offset, std::size_t count) = 0;
    virtual void mark_dirty(space where, std::size_t offset, std::size_t count) = 0;
    virtual void sync_to_host(std::size_t offset, std::size_t count) = 0;
    virtual void sync_to_device(std::size_t offset, std::size_t count) = 0;
    virtual void prefetch(space where, const access_options& options) = 0;
    virtual void discard(space where) = 0;
    virtual void discard_content() = 0;
    virtual void fill(std::span<const std::byte> pattern) = 0;
    virtual void fill(std::span<const std::byte> pattern, space where) = 0;
    virtual void copy_from(std::span<const std::byte> data, std::size_t offset) = 0;
    virtual void copy_to(std::span<std::byte> data, std::size_t offset) const = 0;
    virtual void copy_from(std::span<const std::byte> data, space where, std::size_t offset) = 0;
    virtual void copy_to(std::span<std::byte> data, space where, std::size_t offset) const = 0;
    virtual space current_at() const = 0;

    /// Makes `first` and then this one current at `to`, in one batch.
    virtual void sync_together(space to, face& first) = 0;

    /// Gives the buffer back to the pool that it is of, and takes one of this size; false where it is of no pool. After
    /// a failure it can be called again.
    virtual bool recycle(std::size_t bytes) = 0;

    /// Returns how `where` has its copy; nothing where there is no copy.
    virtual std::optional<placement> placement_at(space where) const = 0;
    virtual buffer_state state() const = 0;
    virtual std::uint64_t bytes_moved() const = 0;

    /// Returns whether `where` is current; false where a language cannot ask that.
    virtual bool is_current_at(space where) const = 0;

    // These functions of the language are about no buffer.
    virtual void set_default_device(space where) = 0;
    virtual void limit_memory(space where, std::uint64_t bytes) = 0;
};

// These make a buffer of one language; `pooled`: of a pool that it has for itself.
std::unique_ptr<face> face_of_cpp(std::size_t bytes, const buffer_options& options, bool pooled);
std::unique_ptr<face> face_of_c(std::size_t bytes, const buffer_options& options, bool pooled);

}  // namespace unibuf::test
