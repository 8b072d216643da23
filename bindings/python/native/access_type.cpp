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

class access_block {
public:
    access_block(nb::pointer_and_handle<typed_buffer> of, int what, nb::handle where, nb::handle offset,
                 nb::handle count, nb::handle timeout, nb::handle stream)
        : of_(nb::borrow(of.h)),
          what_(static_cast<access>(what)),
          where_(space_of(where)),
          stream_(nb::borrow(stream)) {
        options_ = buffer().part(offset, count);
        options_.timeout = timeout_of(timeout);
        options_.on = queue_of(stream, where_);
        // A part of the buffer has one axis; the whole keeps the buffer's shape.
        if (options_.offset == 0 && options_.count == rest) shape_ = nb::borrow(buffer().shape());
    }

    ~access_block() {
        if (nb::is_alive()) drop_handle();
    }
    access_block(const access_block&) = delete;
    access_block& operator=(const access_block&) = delete;

    nb::object enter() {
        unibuf::buffer mine = take_handle();  // another thread may enter the block meanwhile
        if (handle_) throw error(error_code::invalid_argument, "the block was entered already");
        check_has_arrays();  // a lease to write that shows none would have dropped the content
        handle_.emplace(std::move(mine));
        nb::object root;
        try {
            root = nb::cast(what_ == access::read    ? memory(lease_by(&unibuf::buffer::read))
                            : what_ == access::write ? memory(lease_by(&unibuf::buffer::write))
                                                     : memory(lease_by(&unibuf::buffer::read_write)));
            const auto& held = *nb::inst_ptr<memory>(root);
            if (!shape_.is_valid()) shape_ = nb::make_tuple(held.size_bytes() / buffer().element().bytes);
            array_ = buffer().array(root, where_, shape_, strides_, stream_);
            if (where_ == host && !held.read_only()) {
                inner_ = std::move(array_);  // arrays that NumPy makes from the view refer to this one
                array_ = inner_.attr("view")();
            }
            memory_ = std::move(root);
        } catch (...) {
            if (root.is_valid()) nb::inst_ptr<memory>(root)->end();  // the frames of the error may keep it
            array_.reset();
            inner_.reset();
            drop_handle();
            throw;
        }
        return array_;
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
        if (!memory_.is_valid()) return;
        nb::object array = std::move(array_), root = std::move(memory_);
        const nb::object inner = std::move(inner_);
        memory& held = *nb::inst_ptr<memory>(root);
        const bool is_numpy = held.data() != nullptr;
        // While the lease ends, another thread may get the array from a weak reference. Between two looks at these, one
        // may become the other.
        const auto is_left = [](nb::handle each, Py_ssize_t known) {
            const bool before = array_header::has_weak_references(each);
            return before || references_to(each) > known || array_header::has_weak_references(each);
        };
        const bool array_left = is_numpy ? is_left(array, 1) : references_to(array) > 1;
        if (!is_numpy) array.reset();
        const Py_ssize_t known = 1 + (is_numpy ? 1 : 0);  // references of `root` and of the array
        bool others_left = references_to(root) > known;
        if (inner.is_valid()) {
            // One reference to the array itself is taken for the variable of the `with` statement, more than one for a
            // memoryview of it.
            others_left = others_left || is_left(inner, 2) || references_to(array) > 2;
        }
        std::optional<copy_view> kept;  // begins before the lease ends, so that nobody drops the copy in between
        if (array_left || others_left) kept = hold();
        held.end();
        if (is_numpy && array_left) array.attr("setflags")("write"_a = false);
        if (kept) held.keep_by(*std::move(kept));
        if (others_left && !held.read_only() && where_ == host) keep_to_write(held);
        drop_handle();
    }

private:
    typed_buffer& buffer() const { return *nb::inst_ptr<typed_buffer>(of_); }
    unibuf::buffer take_handle() {
        const nb::ft_object_guard alone(of_);
        unibuf::buffer result = buffer().handle();
        strides_ = buffer().strides();
        return result;
    }

    /// Throws error(device_unavailable) where the package of the space's arrays cannot be imported.
    void check_has_arrays() const {
        static constinit std::array<std::atomic<bool>, 256> known = {};
        if (where_ == host || known[where_.id()].load(std::memory_order_relaxed)) return;
        static constinit imported prepare("unibuf._device_arrays", "prepare");
        in_python([&] { return prepare(where_.name()); });
        known[where_.id()].store(true, std::memory_order_relaxed);
    }

    /// Takes a lease by `take`, which is read, write or read_write of the buffer.
    template <class Take>
    std::invoke_result_t<Take, unibuf::buffer&, space, const access_options&> lease_by(Take take) {
        return unlocked([&] { return std::invoke(take, *handle_, where_, options_); });
    }

    /// Calls what the end of a block needs, without the interpreter's lock. Ctrl-C does not end its waits.
    template <class Act>
    static auto uninterrupted(const Act& act) {
        const without_interpreter released;
        return act();
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
            held.keep_by(uninterrupted([&] { return handle_->host_view(options_.offset, options_.count); }));
        } catch (const error& failure) {
            warn("what they write is not found", failure);
        }
    }

    static void warn(const char* what, const error& failure) {
        const std::string why = std::string("arrays of a `with` block are used after it, and ") + what + ": " +
                                std::string(failure.message());
        in_python([&] { return PyErr_WarnEx(PyExc_RuntimeWarning, why.c_str(), 1); });
        PyErr_Clear();
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
    std::optional<unibuf::buffer> handle_;  // handle of the buffer that was entered: `of_` may be freed, or released
    access what_;
    space where_;
    nb::object stream_;
    access_options options_;
    nb::object shape_;
    nb::object strides_;
    nb::object memory_;
    nb::object inner_;
    nb::object array_;
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

void define_access(nb::module_& in) {
    // The first two only have words of their own.
    static PyType_Slot slots[] = {{Py_tp_getattro, reinterpret_cast<void*>(&get_attribute)},
                                  {Py_mp_subscript, reinterpret_cast<void*>(&refuse_index)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(&access_block::traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&access_block::clear)},
                                  {0, nullptr}};
    in.attr("A") = nb::type_var("A");  // the array that it gives
    nb::class_<access_block>(in, "Access", nb::type_slots(slots), nb::is_generic(),
                             nb::sig("class Access(typing.Generic[A])"),
                             "The right to touch a range in one space, for the time of a `with` statement; gives the "
                             "array.")
        .def(nb::init<nb::pointer_and_handle<typed_buffer>, int, nb::handle, nb::handle, nb::handle, nb::handle,
                      nb::handle>(),
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
            nb::sig("def __exit__(self, *args: object) -> None"));
}

}  // namespace unibuf::python
