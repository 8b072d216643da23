// typed_buffer.hpp: what a Python UnifiedBuffer is inside: a buffer, its element type and shape, and the arrays that it
// shows.
//
// Everything here is called with the interpreter's lock held; where Python has none, with the object's. A function that
// may wait or move bytes lets go of it, and works on a handle of its own meanwhile, as others may free or release the
// buffer.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <optional>
#include <unibuf/unibuf.hpp>
#include <utility>

#include "array_part.hpp"
#include "element_type.hpp"
#include "memory.hpp"
#include "shown_array.hpp"
#include "without_interpreter.hpp"

namespace unibuf::python {

class typed_buffer;

/// Returns the buffer that an object is. Throws TypeError, which begins with `allowed`, where it is none, or its class
/// has not called the __init__ of its base.
typed_buffer& buffer_of(nb::handle object, const char* allowed);

/// Returns unibuf's current_device(), for which drivers may have to be loaded, without the interpreter's lock.
space device_of_calls();

/// What a handle to a rectangle was made of.
struct rectangle_of_array {
    unibuf::buffer array;
    array_part which;
    nb::object strides;  // in bytes
};

class typed_buffer {
public:
    typed_buffer(unibuf::buffer bytes, element_type element, nb::object shape,
                 std::optional<rectangle_of_array> rectangle = std::nullopt);
    ~typed_buffer();
    typed_buffer(const typed_buffer&) = delete;
    typed_buffer& operator=(const typed_buffer&) = delete;

    /// Both return a new reference to an array that is current.
    PyObject* host() {
        if (looks_later_) look();
        PyObject* const shown = shown_at_host();
        return shown ? shown : host_by_access().release().ptr();
    }
    PyObject* device() {
        PyObject* shown = nullptr;
        if (device_is_host()) {
            shown = shown_at_host();
            looks_later_ = looks_later_ || shown;
        } else if (const space where = current_device();
                   rarer_ && rarer_->device.is_at(where) && bytes_.is_current_at(where)) {
            shown = rarer_->device.get();
        }
        return shown ? shown : device_by_access().release().ptr();
    }

    const element_type& element() const noexcept { return element_; }
    nb::handle shape() const noexcept { return shape_; }

    /// Returns the strides of a rectangle; None where the elements follow each other.
    nb::object strides() const { return is_rectangle() ? rarer_->rectangle->strides : nb::none(); }

    /// Returns what the handle to a rectangle was made of; null where the elements follow each other.
    rectangle_of_array* rectangle() noexcept { return is_rectangle() ? &*rarer_->rectangle : nullptr; }

    /// Returns the size of all elements.
    std::size_t size_bytes() const { return is_rectangle() ? elements() * element_.bytes : bytes().size_bytes(); }

    /// Returns a part of the elements, as range_of() has it. Throws error(unsupported) for a part of a rectangle.
    access_options part(nb::handle offset, nb::handle count) const;

    /// Returns whether elements of the array are left out between those of this handle.
    bool has_steps() const { return bytes().size_bytes() != size_bytes(); }

    /// Throws error(invalid_argument) where the buffer was released to its pool.
    unibuf::buffer& bytes() {
        if (bytes_.id() == 0) refuse();
        return bytes_;
    }
    const unibuf::buffer& bytes() const { return const_cast<typed_buffer*>(this)->bytes(); }

    /// Calls `act` with a handle of its own, without the interpreter's lock. Ctrl-C ends its waits.
    template <class Act>
    auto access(const Act& act) {
        unibuf::buffer mine = handle();
        const without_interpreter unlocked;
        unibuf::buffer last = std::move(mine);  // the last handle may wait for queued work
        const hears_signals hears;
        return act(last);
    }
    unibuf::buffer handle() {
        if (looks_later_) look();
        return bytes().view(0, rest);
    }

    /// Takes a lease where that waits for nothing; else returns one that holds nothing.
    byte_lease acquire_at_once(space where, unibuf::access what, const access_options& options) {
        return looks_later_ ? byte_lease() : bytes().acquire_at_once(where, what, options);
    }

    buffer_state state();

    /// Says that the bytes at `where` stand, of all of the buffer or a part.
    void mark(space where, access_options options);

    /// Drops all copies. Arrays that others have keep the memory that they show.
    void free();

    /// Gives the buffer away, and has none any more. put_back() takes it again, where nobody wanted it.
    unibuf::buffer take();
    void put_back(unibuf::buffer bytes) { bytes_ = std::move(bytes); }

    const buffer_options& options() const noexcept { return bytes_.options(); }

    /// Returns an array of the host's memory, which counts as written as long as the array is there.
    nb::object io_view(unibuf::access what);

    /// Makes an array over `held`, which is memory of any buffer. Its work goes to `stream`, where its library has
    /// arrays of a queue. `strides` are taken when the handle is that the memory is held by: free() changes them.
    nb::object array(nb::handle held, space where, nb::handle shape, nb::handle strides, nb::handle stream) const;

    /// Keeps the arrays that were shown no longer; the next access shows new ones.
    void drop_arrays() noexcept;

    /// Counts up where earlier arrays are not to be shown any more.
    std::uint32_t generation() const noexcept { return generation_; }

    /// Returns the arrays that are kept for blocks of the whole buffer, at the host or at the device that was last.
    shown_array& of_blocks(space where) { return with_rarer().of_blocks[where == unibuf::host ? 0 : 1]; }

    /// Returns whether a block of the whole buffer is to keep its array: most buffers have one block at most.
    bool is_not_first_block() noexcept { return std::exchange(had_block_, true); }

private:
    [[noreturn]] static void refuse();

    std::size_t elements() const;

    /// Returns whether the default device is the host, and has the host's array. Where the host may only read the
    /// buffer, the device writes it through an array of its own.
    bool device_is_host() const {
        return current_device() == host_as_device && options().access != host_access::read_only;
    }

    /// Returns a new reference to the array of the host that the buffer keeps, where it is current; else null.
    PyObject* shown_at_host() const {
        return rarer_ && bytes_.is_current_at(unibuf::host) ? rarer_->host.get() : nullptr;
    }

    /// Makes the host current in the place of a device, as each `device` there would.
    void look();
    nb::object host_by_access();
    nb::object device_by_access();

    /// Returns an array over the view that `take` takes, and keeps it in `in` for the next access.
    template <class Take>
    nb::object show(shown_array& in, const Take& take, bool read_only = false);

    /// What a buffer has that was shown, or is a rectangle: programs have very many that are neither.
    struct rarer {
        shown_array host;
        shown_array device;
        std::array<shown_array, 2> of_blocks;
        std::optional<rectangle_of_array> rectangle;
    };

    bool is_rectangle() const noexcept { return rarer_ && rarer_->rectangle; }
    rarer& with_rarer() {
        if (!rarer_) rarer_ = std::make_unique<rarer>();
        return *rarer_;
    }

    unibuf::buffer bytes_;  // has no buffer where that was released to its pool
    element_type element_;
    nb::object shape_;
    std::unique_ptr<rarer> rarer_;
    // Says that `device` has shown the array of the host since somebody looked what the host has written. To look takes
    // longer than `device` may, moves nothing, and only changes the state, so the next other call does it.
    bool looks_later_ = false;
    bool had_block_ = false;
    std::uint32_t generation_ = 0;
};

}  // namespace unibuf::python
