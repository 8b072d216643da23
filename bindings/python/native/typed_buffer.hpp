// typed_buffer.hpp: what a Python UnifiedBuffer is inside: a buffer, its element type and shape, and the arrays that it
// shows.
//
// Everything here is called with the interpreter's lock held. What may wait or move bytes lets go of it meanwhile; then
// it works on a handle of its own, as others may free or release the buffer.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unibuf/unibuf.hpp>

#include "element_type.hpp"
#include "shown_array.hpp"

namespace unibuf::python {

/// The default device as copies are numbered: where it is the host, the host in the place of a device.
space default_space_now();

class typed_buffer {
public:
    typed_buffer(unibuf::buffer bytes, element_type element, nb::object shape, const buffer_options& options);
    ~typed_buffer();
    typed_buffer(const typed_buffer&) = delete;
    typed_buffer& operator=(const typed_buffer&) = delete;

    /// New references.
    PyObject* host() {
        const bool shown = host_.get() && bytes().is_current_at(unibuf::host);
        return shown ? Py_NewRef(host_.get()) : host_by_access().release().ptr();
    }
    PyObject* device() {
        const std::uint8_t where = detail::default_space.load(std::memory_order_relaxed);
        const bool shown = device_.get() && device_.where().id() == where && bytes().is_current_at(device_.where());
        return shown ? Py_NewRef(device_.get()) : device_by_access().release().ptr();
    }

    const element_type& element() const noexcept { return element_; }
    nb::handle shape() const noexcept { return shape_; }
    std::size_t size_bytes() const { return bytes().size_bytes(); }

    /// Throws error(invalid_argument) where it has been released to its pool.
    unibuf::buffer& bytes() {
        if (!bytes_) refuse();
        return *bytes_;
    }
    const unibuf::buffer& bytes() const { return const_cast<typed_buffer*>(this)->bytes(); }

    /// Calls `act` with a handle, without the interpreter's lock. Where memory is
    /// short, idle arrays of other buffers make room; where views are in the way, it may be idle arrays that are.
    template <class Act>
    auto access(Act act) {
        unibuf::buffer handle = this->handle();
        return access_by(handle, act);
    }

    /// The same with a handle of the caller's.
    template <class Act>
    auto access_by(unibuf::buffer& handle, Act act);
    unibuf::buffer handle() { return bytes().view(0, size_bytes()); }

    buffer_state state();

    /// Marks of all or a part: `where` is newest.
    void mark(space where, access_options options);

    /// Drops all copies; what arrays show stays theirs.
    void free();

    /// Gives the buffer away; this has none any more. `put_back` where that was not taken.
    unibuf::buffer take();
    void put_back(unibuf::buffer bytes) { bytes_.emplace(std::move(bytes)); }

    const buffer_options& options() const noexcept { return options_; }

    /// As buffer::share. Throws error(access_conflict) while arrays or views of it are held.
    std::string share(std::string_view description);

    /// An array over `held`, of any memory; its work goes to `stream`, where its library has arrays of a queue.
    nb::object array(nb::handle held, space where, nb::handle shape, nb::handle stream) const;

    /// Lets go of arrays that nobody else has, so that neither tracking nor eviction has to mind them.
    void drop_idle_arrays();

private:
    [[noreturn]] static void refuse();
    nb::object host_by_access();
    nb::object device_by_access();
    nb::object show(shown_array& in, std::uint32_t generation, memory held);
    void drop_arrays() noexcept;

    /// drop_idle_arrays of the buffers that were looked at longest ago: so many, or all. Whether any had one.
    bool drop_idle_arrays_of_others(std::size_t looks);

    std::optional<unibuf::buffer> bytes_;
    element_type element_;
    nb::object shape_;
    buffer_options options_;
    shown_array host_;
    shown_array device_;
    std::uint32_t generation_ = 0;  // of `bytes_`

    // In the list of those that show an array.
    typed_buffer* before_ = nullptr;
    typed_buffer* after_ = nullptr;
    void link() noexcept;
    void unlink() noexcept;
};

template <class Act>
auto typed_buffer::access_by(unibuf::buffer& handle, Act act) {
    const auto run = [&] {
        const nb::gil_scoped_release unlocked;
        return act(handle);
    };
    try {
        return run();
    } catch (const error& failure) {
        const bool helps = failure.code() == error_code::out_of_memory || failure.code() == error_code::access_conflict;
        if (!helps || !drop_idle_arrays_of_others(~std::size_t{0})) throw;
    }
    return run();
}

}  // namespace unibuf::python
