// typed_buffer.hpp: what a Python UnifiedBuffer is inside: a buffer, its element type and shape, and the arrays that it
// shows.
//
// Everything here is called with the interpreter's lock held; where Python has none, with the object's. A function that
// may wait or move bytes lets go of it, and works on a handle of its own meanwhile, as others may free or release the
// buffer.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <unibuf/unibuf.hpp>
#include <utility>

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

class typed_buffer {
public:
    typed_buffer(unibuf::buffer bytes, element_type element, nb::object shape, const buffer_options& options);
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
        } else if (const space where = current_device(); device_.is_at(where) && bytes().is_current_at(where)) {
            shown = device_.get();
        }
        return shown ? shown : device_by_access().release().ptr();
    }

    const element_type& element() const noexcept { return element_; }
    nb::handle shape() const noexcept { return shape_; }
    std::size_t size_bytes() const { return bytes().size_bytes(); }

    /// Throws error(invalid_argument) where the buffer was released to its pool.
    unibuf::buffer& bytes() {
        if (!bytes_) refuse();
        return *bytes_;
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
        return bytes().view(0, size_bytes());
    }

    buffer_state state();

    /// Says that the bytes at `where` stand, of all of the buffer or a part.
    void mark(space where, access_options options);

    /// Drops all copies. Arrays that others have keep the memory that they show.
    void free();

    /// Gives the buffer away, and has none any more. put_back() takes it again, where nobody wanted it.
    unibuf::buffer take();
    void put_back(unibuf::buffer bytes) { bytes_.emplace(std::move(bytes)); }

    const buffer_options& options() const noexcept { return options_; }

    /// Makes an array over `held`, which is memory of any buffer. Its work goes to `stream`, where its library has
    /// arrays of a queue.
    nb::object array(nb::handle held, space where, nb::handle shape, nb::handle stream) const;

    /// Keeps the arrays that were shown no longer; the next access shows new ones.
    void drop_arrays() noexcept;

private:
    [[noreturn]] static void refuse();

    /// Returns whether the default device is the host, and has the host's array. Where the host may only read the
    /// buffer, the device writes it through an array of its own.
    bool device_is_host() const {
        return current_device() == host_as_device && options_.access != host_access::read_only;
    }

    /// Returns a new reference to the array of the host that the buffer keeps, where it is current; else null.
    PyObject* shown_at_host() const { return bytes().is_current_at(unibuf::host) ? host_.get() : nullptr; }

    /// Makes the host current in the place of a device, as each `device` there would.
    void look();
    nb::object host_by_access();
    nb::object device_by_access();

    /// Returns an array over the view that `take` takes, and keeps it in `in` for the next access.
    template <class Take>
    nb::object show(shown_array& in, const Take& take, bool read_only = false);

    std::optional<unibuf::buffer> bytes_;
    element_type element_;
    nb::object shape_;
    buffer_options options_;
    shown_array host_;
    shown_array device_;
    // Says that `device` has shown the array of the host since somebody looked what the host has written. To look takes
    // longer than `device` may, moves nothing, and only changes the state, so the next other call does it.
    bool looks_later_ = false;
    std::uint32_t generation_ = 0;  // counts up where earlier arrays are not to be shown any more
};

}  // namespace unibuf::python
