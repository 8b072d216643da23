// standing_type.cpp: the class StandingHold, a device that may use bytes at any time until a `with` statement ends.
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "callbacks.hpp"
#include "errors.hpp"
#include "module.hpp"
#include "options.hpp"
#include "typed_buffer.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

access access_of(nb::handle given) {
    const auto word = plain_value<std::string>(given, "access is one of 'read', 'read_write'");
    if (word == "read") return access::read;
    if (word == "read_write") return access::read_write;
    throw error(error_code::invalid_argument, "access is one of 'read', 'read_write'; '" + word + "' was asked for");
}

nb::object checked_function(nb::handle function, const char* what) {
    if (function.is_none() || PyCallable_Check(function.ptr())) return nb::borrow(function);
    throw nb::type_error(
        nb::str("{} is a function without arguments, or None; {!r} was given").format(what, function).c_str());
}

class standing_block {
public:
    standing_block(nb::pointer_and_handle<typed_buffer> of, nb::handle where, nb::handle what, nb::handle offset,
                   nb::handle count, nb::handle timeout, nb::handle stream, nb::handle told, nb::handle pause,
                   nb::handle resume)
        : of_(nb::borrow(of.h)),
          what_(access_of(what)),
          where_(space_of(where)),
          stream_(nb::borrow(stream)),
          callbacks_(
              std::make_shared<callbacks>(checked_function(pause, "pause"), checked_function(resume, "resume"))) {
        const access_options range = buffer().part(offset, count);
        options_.offset = range.offset;
        options_.count = range.count;
        options_.timeout = timeout_of(timeout);
        options_.on = queue_of(stream, where_);
        options_.opens = plain_value<bool>(told, "told is True or False") ? reopening::told : reopening::at_once;
        // A part of the buffer has one axis; the whole keeps the buffer's shape.
        if (options_.offset == 0 && options_.count == rest) shape_ = nb::borrow(buffer().shape());
    }
    ~standing_block() { leave(); }
    standing_block(const standing_block&) = delete;
    standing_block& operator=(const standing_block&) = delete;

    void enter() {
        if (std::exchange(entered_, true)) throw error(error_code::invalid_argument, "a standing hold is entered once");
        const call_of_mine here(*this);
        {
            const nb::ft_object_guard alone(of_);
            buffer().drop_arrays();  // views below arrays that are kept would keep bytes from the device
            handle_.emplace(buffer().handle());
            strides_ = buffer().strides();
        }
        standing_options options = options_;
        callbacks_->put_in(options);
        std::optional<copy_view> copy;  // keeps the copy for arrays that are left when the hold has ended
        standing_hold bound;
        try {
            unlocked([&] {
                bound = handle_->bind(where_, what_, options);
                copy.emplace(handle_->hold_copy(where_, options.offset, options.count));
            });
            memory_ = nb::cast(memory(*std::move(copy), what_ == access::read));
        } catch (...) {
            {
                const without_interpreter unlocked;
                bound.release();
            }
            leave();
            throw;
        }
        hold_ = std::move(bound);  // other threads look at it, with the lock held
    }

    nb::object held_memory() const {
        check_held();
        return memory_;
    }

    nb::object array() {
        check_held();
        if (array_.is_valid()) return array_;
        const nb::object root = memory_;
        const std::size_t size = nb::inst_ptr<memory>(root)->size_bytes();
        if (!shape_.is_valid()) shape_ = nb::make_tuple(size / buffer().element().bytes);
        nb::object made = buffer().array(root, where_, shape_, strides_, stream_);
        check_held();  // another thread may have ended it meanwhile, or made the array
        if (!array_.is_valid()) array_ = std::move(made);
        return array_;
    }

    void resume() { ask(&standing_hold::resume); }
    void pause() { ask(&standing_hold::pause); }

    /// Ends the hold. Arrays that are left keep the copy where it is; the block's own is read-only from then on.
    void leave() noexcept {
        if (!nb::is_alive()) return;
        if (called_) {
            left_ = true;  // the call that is under way leaves when it ends
            return;
        }
        // All of it goes at once: calls of other threads find a hold with its memory, or none.
        standing_hold ended = std::move(hold_);
        const nb::object array = std::move(array_), root = std::move(memory_);
        std::optional<unibuf::buffer> gone;
        std::swap(gone, handle_);
        if (array.is_valid() && nb::inst_ptr<memory>(root)->data()) {
            try {
                array.attr("setflags")("write"_a = false);
            } catch (const nb::python_error&) {  // the array stays as it is
            }
        }
        {
            const without_interpreter unlocked;
            ended.release();
            gone.reset();  // the last handle may wait for queued work
        }
        callbacks_->forget();
    }

    // The collector of cycles needs these two: the functions may refer to the hold.
    static int traverse(PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        if (!nb::inst_ready(self)) return 0;
        const standing_block& block = *nb::inst_ptr<standing_block>(self);
        Py_VISIT(block.of_.ptr());
        Py_VISIT(block.stream_.ptr());
        Py_VISIT(block.array_.ptr());
        return block.callbacks_->traverse(visit, arg);
    }
    static int clear(PyObject* self) {
        if (!nb::inst_ready(self)) return 0;
        standing_block& block = *nb::inst_ptr<standing_block>(self);
        block.leave();
        const nb::object of = std::move(block.of_), stream = std::move(block.stream_);
        return 0;
    }

private:
    typed_buffer& buffer() const { return *nb::inst_ptr<typed_buffer>(of_); }

    /// Guards a call that lets go of the interpreter's lock. A function of the holder, or another thread, may use the
    /// block meanwhile: its calls are refused, and an end of the hold comes after the call.
    class call_of_mine {
    public:
        explicit call_of_mine(standing_block& of) : of_(of) {
            if (of.called_) {
                throw error(error_code::access_conflict, "the hold was used while another call of it is under way");
            }
            of.called_ = true;
        }
        ~call_of_mine() {
            of_.called_ = false;
            if (std::exchange(of_.left_, false)) of_.leave();
        }
        call_of_mine(const call_of_mine&) = delete;
        call_of_mine& operator=(const call_of_mine&) = delete;

    private:
        standing_block& of_;
    };

    void ask(void (standing_hold::*what)()) {
        check_held();
        const call_of_mine here(*this);
        unlocked([&] { (hold_.*what)(); });
    }

    void check_held() const {
        if (!hold_) throw error(error_code::invalid_argument, "the hold was used outside of its `with` block");
    }

    nb::object of_;
    std::optional<unibuf::buffer> handle_;  // handle of the buffer that was entered: `of_` may be freed, or released
    access what_;
    space where_;
    nb::object stream_;
    std::shared_ptr<callbacks> callbacks_;
    standing_options options_;
    nb::object shape_;
    nb::object strides_;
    standing_hold hold_;
    nb::object memory_;
    nb::object array_;
    bool entered_ = false;
    bool called_ = false;
    bool left_ = false;
};

template <void (standing_block::*Call)()>
PyObject* call(PyObject* self, PyObject*) {
    return guarded([&] {
        const nb::ft_object_guard alone(self);
        if (!nb::inst_ready(self)) throw nb::type_error("a standing hold is made by `bound` of a buffer");
        (nb::inst_ptr<standing_block>(self)->*Call)();
        return Py_NewRef(Py_None);
    });
}

PyMethodDef block_methods[] = {
    {"resume", call<&standing_block::resume>, METH_NOARGS,
     "resume($self)\n--\n\n"
     "Gives the device all bytes that were taken from it, with the newest content; those that are "
     "leased elsewhere when\n"
     "their leases end."},
    {"pause", call<&standing_block::pause>, METH_NOARGS,
     "pause($self)\n--\n\n"
     "Waits until the device is quiet, and takes all bytes from it until resume()."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void define_standing(nb::module_& in) {
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&standing_block::traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&standing_block::clear)},
                                  {Py_tp_methods, block_methods},
                                  {0, nullptr}};
    nb::class_<standing_block>(in, "StandingHold", nb::type_slots(slots),
                               "The right of one device to use a range at any time, unseen, until its `with` statement "
                               "ends. One thread uses it at a time.")
        .def(nb::init<nb::pointer_and_handle<typed_buffer>, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle,
                      nb::handle, nb::handle, nb::handle, nb::handle>(),
             "buffer"_a, "space"_a.none(), "access"_a.none(), "offset"_a.none(), "count"_a.none(), "timeout"_a.none(),
             "stream"_a.none(), "told"_a.none(), "pause"_a.none(), "resume"_a.none())
        .def_prop_ro("array", &standing_block::array, nb::lock_self(), nb::sig("def array(self) -> typing.Any"),
                     "The device's copy as an array, as `device` has it. After the block it is stale memory at best.")
        .def_prop_ro(
            "memory", &standing_block::held_memory, nb::lock_self(), nb::sig("def memory(self) -> Memory"),
            "The device's copy: `handle` is what the API of the space calls it, `offset` the first byte in it.")
        .def(
            "__enter__",
            [](nb::pointer_and_handle<standing_block> self) {
                self.p->enter();
                return nb::borrow(self.h);
            },
            nb::lock_self(), nb::sig("def __enter__(self) -> typing.Self"))
        .def(
            "__exit__", [](standing_block& self, const nb::args&) { self.leave(); }, nb::lock_self(),
            nb::sig("def __exit__(self, *args: object) -> None"));
}

}  // namespace unibuf::python
