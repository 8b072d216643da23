// access_type.cpp: the class Access, a lease for the time of a `with` statement.
#include <nanobind/stl/string.h>
#include <nanobind/typing.h>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "array_header.hpp"
#include "imported.hpp"
#include "module.hpp"
#include "options.hpp"
#include "references.hpp"
#include "typed_buffer.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

#ifdef Py_GIL_DISABLED
constexpr bool keeps_arrays = false;  // who has an array is not told soon enough there
#else
constexpr bool keeps_arrays = true;
#endif

/// A lease for the time of a `with` statement, and the array that it gives.
///
/// The array lies over a root, which is a Memory. That of a buffer's first block ends with the block. Later ones, of
/// the whole buffer, have one that stays: a view holds it, which the buffer lets go of where it is in the way, and so
/// the same arrays are given again and again. Those of the host's copy are read-only between the blocks, and have an
/// inner array: arrays that NumPy makes from the array refer to that, and who has the array itself is told apart from
/// them.
class access_block {
public:
    access_block(nb::handle of, access what, nb::handle where, nb::handle offset, nb::handle count, nb::handle timeout,
                 nb::handle stream)
        : of_(nb::borrow(of)), what_(what), where_(space_of(where)), stream_(nb::borrow(stream)) {
        options_ = buffer().part(offset, count);
        if (timeout && !timeout.is_none()) options_.timeout = timeout_of(timeout);
        options_.on = queue_of(stream, where_);
        // A part of the buffer has one axis; the whole keeps the buffer's shape.
        if (is_whole()) shape_ = nb::borrow(buffer().shape());
    }

    /// A block that nobody has left lasts as long as its array.
    ~access_block() {
        if (!nb::is_alive()) return;
        if (lease_.held()) {
            if (is_kept()) kept().drop();
            nb::inst_ptr<memory>(root_)->keep_by(std::move(lease_));
        }
        drop_handle();
    }
    access_block(const access_block&) = delete;
    access_block& operator=(const access_block&) = delete;

    nb::object enter() {
        check_has_arrays();  // a lease to write that shows none would have dropped the content
        if (std::exchange(entered_, true)) throw error(error_code::invalid_argument, "the block was entered already");
        try {
            take_lease();
            show();
        } catch (...) {
            if (root_.is_valid() && !is_kept()) nb::inst_ptr<memory>(root_)->end();  // frames of the error may keep it
            array_ = {};
            root_.reset();
            end_lease();
            drop_handle();
            entered_ = false;
            throw;
        }
        return array_.array;
    }

    /// Throws error(unsupported) where the block is not at an OpenCL space.
    void check_has_memory_objects() const {
        if (where_.name().starts_with("opencl:")) return;
        throw error(error_code::unsupported,
                    "a memory object was asked for of a block at " + where_.name() + ": blocks at opencl:N have one");
    }
    std::string space_name() const { return where_.name(); }

    // The collector of cycles needs these two: a block may lie in an attribute of its buffer.
    static int traverse(PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        if (!nb::inst_ready(self)) return 0;
        const access_block& block = *nb::inst_ptr<access_block>(self);
        Py_VISIT(block.of_.ptr());
        Py_VISIT(block.stream_.ptr());
        Py_VISIT(block.array_.array.ptr());
        Py_VISIT(block.array_.inner.ptr());
        return 0;
    }
    static int clear(PyObject* self) {
        if (!nb::inst_ready(self)) return 0;
        access_block& block = *nb::inst_ptr<access_block>(self);
        block.leave();
        const nb::object of = std::move(block.of_), stream = std::move(block.stream_);
        return 0;
    }

    /// Ends the lease. The block's array is read-only from then on, where somebody still has it; arrays made from it go
    /// on as arrays of `host` and `device` do.
    void leave() {
        if (!root_.is_valid()) return;
        array_pair mine = std::move(array_);
        const nb::object root = std::move(root_);  // another thread that leaves the block finds none
        memory& held = *nb::inst_ptr<memory>(root);
        const bool is_numpy = held.data() != nullptr;
        // While the lease ends, another thread may get the array from a weak reference. Between two looks at these, one
        // may become the other.
        const auto is_left = [](nb::handle each, Py_ssize_t known) {
            const bool before = array_header::has_weak_references(each);
            return before || references_to(each) > known || array_header::has_weak_references(each);
        };
        const bool array_left = is_numpy ? is_left(mine.array, 1) : references_to(mine.array) > 1;
        const bool writes = where_ == host && what_ != access::read;
        bool others_left = false;
        if (mine.inner.is_valid()) {
            // One reference to the array itself is taken for the variable of the `with` statement, more than one for
            // what NumPy made of it: an array of another class, for one.
            others_left =
                is_left(mine.inner, 2) || references_to(mine.array) > 2 || array_header::was_exported(mine.array);
        }
        if (keeps_) {
            const bool is_still_kept = is_kept(root);
            if (is_numpy) make_read_only(mine, held);
            end_lease();
            if (others_left && writes) {
                if (is_still_kept) kept().drop();
                keep_to_write(held);
            } else if (is_still_kept) {
                kept().give_back(std::move(mine));
            }
        } else {
            if (!is_numpy) mine.array.reset();
            const Py_ssize_t known = 1 + (is_numpy ? 1 : 0);  // references of `root` and of the array
            others_left = others_left || references_to(root) > known;
            std::optional<copy_view> view;  // begins before the lease ends: nobody drops the copy in between
            if (array_left || others_left) view = hold();
            end_lease();
            held.end();
            if (is_numpy && array_left) make_read_only(mine, held);
            if (view) held.keep_by(*std::move(view));
            if (others_left && writes) keep_to_write(held);
        }
        drop_handle();
        entered_ = false;
    }

private:
    typed_buffer& buffer() const { return *nb::inst_ptr<typed_buffer>(of_); }
    bool is_whole() const noexcept { return options_.offset == 0 && options_.count == rest; }

    shown_array& kept() const { return buffer().of_blocks(where_); }
    bool is_kept(nb::handle root) const { return keeps_ && kept().root().is(root); }
    bool is_kept() const { return is_kept(root_); }

    /// Calls what the end of a block needs, without the interpreter's lock. Ctrl-C does not end its waits.
    template <class Act>
    static auto uninterrupted(const Act& act) {
        const without_interpreter released;
        return act();
    }

    void take_lease() {
        {
            const nb::ft_object_guard alone(of_);
            generation_ = buffer().generation();
            strides_ = buffer().strides();
            id_ = buffer().bytes().id();
            lease_ = buffer().acquire_at_once(where_, what_, options_);
            keeps_ = keeps_arrays && is_whole() && buffer().is_not_first_block();
            if (lease_.held() && keeps_) return;
            handle_.emplace(buffer().handle());  // others may free or release the buffer while this thread waits
            generation_ = buffer().generation();
            strides_ = buffer().strides();
            id_ = handle_->id();
        }
        if (!lease_.held()) lease_ = unlocked([&] { return handle_->acquire(where_, what_, options_); });
        keeps_ = keeps_ && generation_ == buffer().generation() && !where_.name().starts_with("opencl:");
    }

    /// Ends the lease; Ctrl-C does not end its waits.
    void end_lease() noexcept {
        if (!lease_.end_at_once()) uninterrupted([&] { lease_.end(); });
    }

    /// Finds the array, or makes it.
    void show() {
        const native_memory native = lease_.native();
        const bool read_only = what_ == access::read;
        if (!shape_.is_valid()) shape_ = nb::make_tuple(native.bytes / buffer().element().bytes);
        if (keeps_ && kept().is_over(native)) {
            root_ = kept().root();
            array_ = kept().take(shape_);
            if (!array_.array.is_valid()) make_array(true);
            make_writable(!read_only);
            return;
        }
        keeps_ = keeps_ && shown_array::has_room();
        if (!handle_) handle_.emplace(buffer().handle());
        if (!keeps_) {
            root_ = nb::cast(memory(lease_, read_only));
            make_array(where_ == host && !read_only);
            return;
        }
        copy_view held = unlocked([&, who = kept().as_holder()] {
            copy_view result = handle_->hold_copy(where_);
            result.held_by(who);
            return result;
        });
        root_ = nb::cast(memory(std::move(held), true));
        make_array(true);
        keeps_ = generation_ == buffer().generation() && !array_.array.is(root_);
        if (keeps_) kept().keep_root(array_, root_, native);
        make_writable(!read_only);
    }

    void make_array(bool with_inner) {
        array_.array = buffer().array(root_, where_, shape_, strides_, stream_);
        if (!with_inner || where_ != host) return;
        array_.inner = std::move(array_.array);
        array_.array = array_.inner.attr("view")();
    }

    /// Lets a kept array of the host's copy be written, or not.
    void make_writable(bool writable) const noexcept { set_writable(array_, *nb::inst_ptr<memory>(root_), writable); }
    static void make_read_only(const array_pair& of, memory& root) noexcept { set_writable(of, root, false); }
    static void set_writable(const array_pair& of, memory& root, bool writable) noexcept {
        if (!root.data()) return;
        root.set_read_only(!writable);
        array_header::set_writable(of.array, writable);
        if (of.inner.is_valid()) array_header::set_writable(of.inner, writable);
    }

    /// Throws error(device_unavailable) where the package of the space's arrays cannot be imported.
    void check_has_arrays() const {
        static constinit std::array<std::atomic<bool>, 256> known = {};
        if (where_ == host || known[where_.id()].load(std::memory_order_relaxed)) return;
        static constinit imported prepare("unibuf._device_arrays", "prepare");
        in_python([&] { return prepare(where_.name()); });
        known[where_.id()].store(true, std::memory_order_relaxed);
    }

    std::optional<copy_view> hold() {
        try {
            return uninterrupted([&] { return handle_->hold_copy(where_, options_.offset, options_.count); });
        } catch (const error& failure) {
            warn("their memory cannot be kept", failure);
            return std::nullopt;
        }
    }

    void keep_to_write(memory& held) {
        try {
            if (!handle_) handle_.emplace(buffer().handle());
            if (handle_->id() != id_) return;  // was freed or released: nobody asks for what is written
            held.keep_by(uninterrupted([&] { return handle_->host_view(options_.offset, options_.count); }));
        } catch (const error& failure) {
            warn("what they write is not found", failure);
        }
    }

    static void warn(const char* what, const error& failure) {
        const std::string why = std::string("arrays of a `with` block are used after it, and ") + what + ": " +
                                std::string(failure.message());
        const int told = in_python([&] { return PyErr_WarnEx(PyExc_RuntimeWarning, why.c_str(), 1); });
        if (told != 0) PyErr_WriteUnraisable(nullptr);  // warnings are errors here
    }

    /// Drops the handle without the interpreter's lock: the last handle may wait for queued work.
    void drop_handle() {
        if (!handle_) return;
        std::optional<unibuf::buffer> gone;
        std::swap(gone, handle_);
        const without_interpreter unlocked;
        gone.reset();
    }

    nb::object of_;
    std::optional<unibuf::buffer> handle_;  // of the buffer that was entered; null where its arrays tell which it is
    access what_;
    space where_;
    bool entered_ = false;
    bool keeps_ = false;            // the block's array is one that the buffer keeps
    std::uint32_t generation_ = 0;  // of the buffer's arrays, when the lease was asked for
    std::uint64_t id_ = 0;          // of the buffer that was entered
    nb::object stream_;
    access_options options_;
    byte_lease lease_;
    nb::object shape_;
    nb::object strides_;
    nb::object root_;  // is a Memory
    array_pair array_;
};

constexpr const char* how = "an access is no array: `with buffer.read(...) as array:` gives one";

PyObject* get_attribute(PyObject* self, PyObject* name) {
    PyObject* const found = PyObject_GenericGetAttr(self, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    PyErr_Format(PyExc_AttributeError, "'Access' object has no attribute %R; %s", name, how);
    return nullptr;
}

PyObject* refuse_index(PyObject*, PyObject*) {
    PyErr_SetString(PyExc_TypeError, how);
    return nullptr;
}

}  // namespace

nb::object make_block(nb::handle of, access what, nb::handle where, nb::handle offset, nb::handle count,
                      nb::handle timeout, nb::handle stream) {
    static const nb::handle type = nb::type<access_block>();
    nb::object made = nb::inst_alloc(type);
    new (nb::inst_ptr<access_block>(made)) access_block(of, what, where, offset, count, timeout, stream);
    nb::inst_mark_ready(made);
    return made;
}

nb::object enter_block(nb::handle block) { return nb::inst_ptr<access_block>(block)->enter(); }
void leave_block(nb::handle block) { nb::inst_ptr<access_block>(block)->leave(); }

void define_access(nb::module_& in) {
    // The first two only have words of their own.
    static PyType_Slot slots[] = {{Py_tp_getattro, reinterpret_cast<void*>(&get_attribute)},
                                  {Py_mp_subscript, reinterpret_cast<void*>(&refuse_index)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(&access_block::traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&access_block::clear)},
                                  {0, nullptr}};
    in.attr("A") = nb::type_var("A");  // the array that it gives
    const nb::handle type =
        nb::class_<access_block>(
            in, "Access", nb::type_slots(slots), nb::is_generic(), nb::sig("class Access(typing.Generic[A])"),
            "The right to touch a range in one space, for the time of a `with` statement; gives the "
            "array.")
            .def(
                "__init__",
                [](access_block* self, nb::pointer_and_handle<typed_buffer> of, int what, nb::handle where,
                   nb::handle offset, nb::handle count, nb::handle timeout, nb::handle stream) {
                    new (self) access_block(of.h, static_cast<access>(what), where, offset, count, timeout, stream);
                },
                "buffer"_a, "what"_a, "space"_a.none(), "offset"_a.none(), "count"_a.none(), "timeout"_a.none(),
                "stream"_a.none())
            .def("__enter__", &access_block::enter, nb::lock_self(), nb::sig("def __enter__(self) -> A"))
            .def(
                "memory_object",
                [](nb::handle_t<access_block> self) {
                    const access_block& block = *nb::inst_ptr<access_block>(self);
                    block.check_has_memory_objects();
                    static constinit imported made("unibuf._device_arrays", "memory_object");
                    return in_python([&] { return made(self, block.space_name()); });
                },
                nb::sig("def memory_object(self) -> contextlib.AbstractContextManager[typing.Any]"),
                "`with buffer.read(\"opencl:0\", queue).memory_object() as memory:` the same block; gives a "
                "pyopencl.MemoryObject of\nits bytes. That of a part is a sub-buffer.")
            .def(
                "__exit__", [](access_block& self, const nb::args&) { self.leave(); }, nb::lock_self(),
                nb::sig("def __exit__(self, *args: object) -> None"))
            .def(
                "__array__", [](access_block&, const nb::args&, const nb::kwargs&) { throw nb::type_error(how); },
                nb::sig("def __array__(self, *args: object, **options: object) -> typing.NoReturn"));
    type.attr("__array_ufunc__") = nb::none();  // NumPy would make an array of the object, and compute with that
}

}  // namespace unibuf::python
