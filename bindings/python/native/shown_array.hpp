// shown_array.hpp: the arrays that a buffer gives out again and again, as long as its copy stays where it is.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unibuf/unibuf.hpp>
#include <utility>

#include "array_header.hpp"

namespace unibuf::python {

namespace nb = nanobind;

/// An array, and the array that those made from it refer to, where that is another one.
struct array_pair {
    nb::object array;
    nb::object inner;
};

/// The arrays over one copy that a buffer keeps for its next accesses. A NumPy array is given to one caller at a time,
/// so that what he does to its shape or its flags stays his: two are kept, as `x = buffer.host` in a loop has one while
/// it asks for the next. An array of PyOpenCL is given to one thread, as each of its transfers changes its list of
/// events; the arrays of the two threads that came last are kept. Arrays of other libraries are given to all. Those of
/// blocks leave as long as the block lasts, whatever their library. The buffer asks for them, on any thread, where the
/// view below the arrays is in the way: then they go, unless somebody else has one, or an array made from one.
class shown_array {
public:
    shown_array() noexcept = default;
    ~shown_array() { drop(); }
    shown_array(const shown_array&) = delete;
    shown_array& operator=(const shown_array&) = delete;

    /// Returns a new reference to an array that may be given out, or null.
    PyObject* get() const noexcept { return shown_ ? shown_->take() : nullptr; }

    /// Returns what all arrays refer to, where a library has arrays for the space; else null.
    nb::object root() const noexcept;

    /// Returns whether arrays are kept that are over this memory, or over any at that space.
    bool is_over(const native_memory& native) const noexcept;
    bool is_at(space where) const noexcept;

    /// Returns what is to be named as the holder of a view that will be shown.
    holder as_holder();

    /// Keeps `array` for the next access. Every array made from it refers to `root`, so the references to `root` say
    /// whether there are any.
    void show(nb::object array, nb::object root, const native_memory& native);

    /// Keeps another array over `root`, unless arrays over another one are kept by now.
    void show_another(nb::object array, nb::handle root);

    /// Returns whether the process may keep more arrays for blocks: each takes about a kilobyte, and programs have very
    /// many buffers.
    static bool has_room() noexcept { return counted::number.load(std::memory_order_relaxed) < most_kept; }

    /// Keeps what the arrays of blocks refer to. `of_block` is out, and comes back by give_back().
    void keep_root(const array_pair& of_block, nb::handle root, const native_memory& native);

    /// Takes out an array of `shape` that nobody has, for a block. It is empty where there is none.
    array_pair take(nb::handle shape);

    /// Keeps a block's array for the next one, whoever has it.
    void give_back(array_pair of_block);

    /// Keeps the arrays no longer. Whoever else has one keeps it.
    void drop() noexcept {
        if (shown_) shown_->drop();
    }

private:
    static constexpr std::size_t most_kept = 32'768;

    /// Counts the roots that are kept for blocks.
    class counted {
    public:
        counted() noexcept = default;
        explicit counted(bool counts) noexcept : counts_(counts) { number += counts ? 1 : 0; }
        counted(counted&& other) noexcept : counts_(std::exchange(other.counts_, false)) {}
        counted& operator=(counted&& other) noexcept {
            std::swap(counts_, other.counts_);
            return *this;
        }
        ~counted() { number -= counts_ ? 1 : 0; }

        static inline std::atomic<std::size_t> number = 0;

    private:
        bool counts_ = false;
    };

    struct arrays_of_one {
        std::array<array_pair, 2> arrays;
        std::array<std::uint32_t, 2> threads{};  // that each array was given to, where it is one thread's
        nb::object root;                         // null where the array itself is the root
        native_memory native;
        array_header header;  // of NumPy arrays, as they are given out
        bool is_numpy = false;
        bool lists_events = false;
        Py_ssize_t of_one = 0;  // references to the root that each array has
        counted count;

        bool any() const noexcept { return root.is_valid() || arrays[0].array.is_valid(); }
        bool is_free(const array_pair& which) const noexcept;
        PyObject* usable() const noexcept;
        bool is_idle() const noexcept;

        /// Ends the view below arrays that nobody else has. Where Python has no lock of the interpreter, the arrays may
        /// be there until another thread runs.
        void end() noexcept;
    };

    // The library may ask on one thread while the buffer's own calls are made on another.
    struct shown {
        mutable nb::ft_mutex one_at_a_time;
        arrays_of_one now;

        PyObject* take() const noexcept {
            const nb::ft_lock_guard alone(one_at_a_time);
            return Py_XNewRef(now.usable());
        }
        void drop() noexcept { change({}); }

        /// The old objects go last: what they call then may come back here.
        void change(arrays_of_one to) noexcept {
            const nb::ft_lock_guard alone(one_at_a_time);
            std::swap(now, to);
        }
    };

    static void let_go(void* context) noexcept;

    std::shared_ptr<shown> shown_;  // null before the first array
};

}  // namespace unibuf::python
