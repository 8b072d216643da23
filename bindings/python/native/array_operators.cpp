// array_operators.cpp: the operators of a buffer, and NumPy's functions of elements.
//
// What takes buffers, arrays and numbers at the host is computed here: no frame of Python lies between the program's
// line and NumPy then, so warnings name that line, and it costs little beside the leases. All else is done in Python:
// by unibuf._operators, and by ArrayBuffer._array_ufunc.
#include "array_operators.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

#include "imported.hpp"
#include "module.hpp"
#include "options.hpp"
#include "plain.hpp"

namespace unibuf::python {

namespace {

constexpr std::size_t most_operands = 4;

/// An operator: the function of NumPy that computes it, and the names of its methods.
struct array_operator {
    imported function;
    const char* forward;
    const char* reflected = nullptr;
    const char* in_place = nullptr;
};

namespace op {

constinit array_operator add{{"numpy", "add"}, "__add__", "__radd__", "__iadd__"};
constinit array_operator subtract{{"numpy", "subtract"}, "__sub__", "__rsub__", "__isub__"};
constinit array_operator multiply{{"numpy", "multiply"}, "__mul__", "__rmul__", "__imul__"};
constinit array_operator multiply_matrices{{"numpy", "matmul"}, "__matmul__", "__rmatmul__", "__imatmul__"};
constinit array_operator divide{{"numpy", "true_divide"}, "__truediv__", "__rtruediv__", "__itruediv__"};
constinit array_operator divide_down{{"numpy", "floor_divide"}, "__floordiv__", "__rfloordiv__", "__ifloordiv__"};
constinit array_operator remainder{{"numpy", "remainder"}, "__mod__", "__rmod__", "__imod__"};
constinit array_operator divide_with_rest{{"numpy", "divmod"}, "__divmod__", "__rdivmod__"};
constinit array_operator power{{"numpy", "power"}, "__pow__", "__rpow__", "__ipow__"};
constinit array_operator shift_left{{"numpy", "left_shift"}, "__lshift__", "__rlshift__", "__ilshift__"};
constinit array_operator shift_right{{"numpy", "right_shift"}, "__rshift__", "__rrshift__", "__irshift__"};
constinit array_operator both{{"numpy", "bitwise_and"}, "__and__", "__rand__", "__iand__"};
constinit array_operator one_of{{"numpy", "bitwise_xor"}, "__xor__", "__rxor__", "__ixor__"};
constinit array_operator either{{"numpy", "bitwise_or"}, "__or__", "__ror__", "__ior__"};
constinit array_operator negative{{"numpy", "negative"}, "__neg__"};
constinit array_operator positive{{"numpy", "positive"}, "__pos__"};
constinit array_operator absolute{{"numpy", "absolute"}, "__abs__"};
constinit array_operator invert{{"numpy", "invert"}, "__invert__"};
constinit std::array<array_operator, 6> comparisons{{{{"numpy", "less"}, "__lt__"},  // as Py_LT and the others number
                                                     {{"numpy", "less_equal"}, "__le__"},
                                                     {{"numpy", "equal"}, "__eq__"},
                                                     {{"numpy", "not_equal"}, "__ne__"},
                                                     {{"numpy", "greater"}, "__gt__"},
                                                     {{"numpy", "greater_equal"}, "__ge__"}}};

}  // namespace op

bool is_buffer(nb::handle object) { return nb::isinstance<typed_buffer>(object); }

/// Returns whether NumPy computes with the object as it is, and asks nobody else how.
bool is_usual(nb::handle object) {
    static constinit imported array("numpy", "ndarray");
    static constinit imported number("numpy", "generic");
    PyObject* const it = object.ptr();
    const PyTypeObject* const type = Py_TYPE(it);
    return PyFloat_CheckExact(it) || PyLong_CheckExact(it) || PyBool_Check(it) || PyComplex_CheckExact(it) ||
           reinterpret_cast<PyObject*>(const_cast<PyTypeObject*>(type)) == array.get().ptr() ||
           PyObject_IsInstance(it, number.get().ptr()) == 1;
}

/// Returns whether arrays of the default device have NumPy's functions: what that device alone has is computed there.
bool device_may_compute() {
    const std::string_view device = device_of_calls().name();
    return device.starts_with("cuda:") || device.starts_with("debug:");
}

bool is_at_device(nb::handle of) {
    const buffer_state state = nb::inst_ptr<typed_buffer>(of)->bytes().state();
    return state == buffer_state::device_dirty || state == buffer_state::device_only;
}

/// The buffers that a function of NumPy is called with, at the host, as arrays: under a lease each, as long as this
/// lives. All threads take their leases in one order, so that none waits for another one that waits for it.
class arrays_of_host {
public:
    /// Notes a buffer, and returns false where there are too many, or where it is a part of one that is written here.
    bool add(nb::handle of, bool is_written) {
        const std::uint64_t id = self_of(of).bytes().id();
        for (std::size_t each = 0; each < count_; ++each) {
            if (all_[each].of.is(of)) return true;
            if (all_[each].id == id && (is_written || all_[each].is_written)) return false;
        }
        if (count_ == all_.size()) return false;
        std::size_t place = count_++;
        for (; place != 0 && id < all_[place - 1].id; --place) all_[place] = std::move(all_[place - 1]);
        all_[place] = {.of = of, .id = id, .is_written = is_written};
        return true;
    }

    /// Returns whether a device alone has what is newest of all of them.
    bool all_at_device() const {
        return count_ != 0 && std::all_of(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(count_),
                                          [](const used& each) { return is_at_device(each.of); });
    }

    void begin() {
        static PyObject* const at_host = PyUnicode_InternFromString("host");
        for (std::size_t each = 0; each < count_; ++each) {
            used& next = all_[each];
            const nb::handle none = Py_None;
            const access what = next.is_written ? access::read_write : access::read;
            next.block = make_block(next.of, what, at_host, {}, none, none, none);
            next.array = enter_block(next.block);
        }
    }

    void end() {
        while (count_ != 0) {
            const used last = std::exchange(all_[--count_], {});
            if (last.array.is_valid()) leave_block(last.block);
        }
    }

    ~arrays_of_host() {
        try {
            end();
        } catch (const std::exception&) {  // another error is on its way
        }
    }
    arrays_of_host() = default;
    arrays_of_host(const arrays_of_host&) = delete;
    arrays_of_host& operator=(const arrays_of_host&) = delete;

    nb::handle shown(nb::handle argument) const {
        for (std::size_t each = 0; each < count_; ++each) {
            if (all_[each].of.is(argument)) return all_[each].array;
        }
        return argument;
    }

private:
    struct used {
        nb::handle of{};
        std::uint64_t id = 0;
        bool is_written = false;
        nb::object block{};
        nb::object array{};
    };

    std::array<used, most_operands> all_;
    std::size_t count_ = 0;
};

/// Calls a function of NumPy with arrays in the place of buffers, and returns what it returns. `out` is where the
/// result goes, or null. Returns null, and has called nothing, where that is left to Python.
nb::object computed(nb::handle function, std::span<PyObject* const> operands, nb::handle out) {
    if (operands.size() > most_operands) return {};
    arrays_of_host arrays;
    if (out) {
        if (is_buffer(out) ? !arrays.add(out, true) : !is_usual(out)) return {};
    }
    for (PyObject* const each : operands) {
        if (is_buffer(each) ? !arrays.add(each, false) : !is_usual(each)) return {};
    }
    if (device_may_compute() && arrays.all_at_device()) return {};
    arrays.begin();
    static PyObject* const name_of_out = PyTuple_Pack(1, nb::str("out").ptr());
    std::array<PyObject*, most_operands + 2> shown{};  // the first is for whoever is called
    std::size_t count = 1;
    for (PyObject* const each : operands) shown[count++] = arrays.shown(each).ptr();
    if (out) shown[count] = arrays.shown(out).ptr();
    const std::size_t positional = operands.size() | PY_VECTORCALL_ARGUMENTS_OFFSET;
    nb::object result = in_python([&] {
        return nb::steal(PyObject_Vectorcall(function.ptr(), &shown[1], positional, out ? name_of_out : nullptr));
    });
    if (!result.is_valid()) nb::raise_python_error();
    if (out) result = nb::borrow(out);  // nobody has the array when its lease ends
    arrays.end();
    return result;
}

/// Calls the method of unibuf._operators.ArrayOperators.
nb::object by_python(const char* method, PyObject* self, PyObject* other) {
    static constinit imported operators("unibuf._operators", "ArrayOperators");
    return in_python([&] {
        const nb::object its = operators.get().attr(method);
        return other ? its(nb::handle(self), nb::handle(other)) : its(nb::handle(self));
    });
}

/// Returns whether no class that is made from the package's own may have a word of its own.
bool is_plain(nb::handle of) {
    static constinit imported usual("unibuf.buffer", "UnifiedBuffer");
    return reinterpret_cast<PyObject*>(Py_TYPE(of.ptr())) == usual.get().ptr();
}

/// Computes one operator of one or two operands, of which `self` is a buffer; else calls the method of that name.
PyObject* apply(array_operator& by, const char* method, PyObject* self, PyObject* one, PyObject* other,
                bool is_in_place) {
    const std::array operands{one, other};
    const std::span given = std::span(operands).first(other ? 2 : 1);
    const auto is_simple = [](PyObject* each) { return is_buffer(each) ? is_plain(each) : is_usual(each); };
    if (std::ranges::all_of(given, is_simple)) {
        const nb::handle out = is_in_place ? nb::handle(self) : nb::handle();
        if (nb::object result = computed(by.function.get(), given, out)) return result.release().ptr();
    }
    return by_python(method, self, !other ? nullptr : self == one ? other : one).release().ptr();
}

template <array_operator& By>
PyObject* binary(PyObject* one, PyObject* other) {
    return guarded([&]() -> PyObject* {
        const bool is_forward = is_buffer(one);
        return apply(By, is_forward ? By.forward : By.reflected, is_forward ? one : other, one, other, false);
    });
}

template <array_operator& By>
PyObject* in_place(PyObject* self, PyObject* other) {
    return guarded([&] { return apply(By, By.in_place, self, self, other, true); });
}

template <array_operator& By>
PyObject* unary(PyObject* self) {
    return guarded([&] { return apply(By, By.forward, self, self, nullptr, false); });
}

PyObject* to_power(PyObject* one, PyObject* other, PyObject* modulo) {
    return modulo == Py_None ? binary<op::power>(one, other) : Py_NewRef(Py_NotImplemented);
}

PyObject* to_power_in_place(PyObject* self, PyObject* other, PyObject* modulo) {
    return modulo == Py_None ? in_place<op::power>(self, other) : Py_NewRef(Py_NotImplemented);
}

/// A product of matrices in place has rules of its own.
PyObject* multiply_matrices_in_place(PyObject* self, PyObject* other) {
    return guarded([&] { return by_python(op::multiply_matrices.in_place, self, other).release().ptr(); });
}

PyObject* compare(PyObject* self, PyObject* other, int how) {
    return guarded([&]() -> PyObject* {
        array_operator& by = op::comparisons[static_cast<std::size_t>(how)];
        try {
            return apply(by, by.forward, self, self, other, false);
        } catch (const nb::python_error& failure) {
            // No function compares the two types: arrays know more than it.
            if ((how != Py_EQ && how != Py_NE) || !failure.matches(PyExc_TypeError)) throw;
        }
        return by_python(by.forward, self, other).release().ptr();
    });
}

template <class Function>
PyType_Slot slot(int which, Function* function) {
    return {which, reinterpret_cast<void*>(function)};
}

}  // namespace

std::span<const PyType_Slot> array_operators() {
    static const std::array slots{
        slot(Py_nb_add, binary<op::add>),
        slot(Py_nb_inplace_add, in_place<op::add>),
        slot(Py_nb_subtract, binary<op::subtract>),
        slot(Py_nb_inplace_subtract, in_place<op::subtract>),
        slot(Py_nb_multiply, binary<op::multiply>),
        slot(Py_nb_inplace_multiply, in_place<op::multiply>),
        slot(Py_nb_matrix_multiply, binary<op::multiply_matrices>),
        slot(Py_nb_inplace_matrix_multiply, multiply_matrices_in_place),
        slot(Py_nb_true_divide, binary<op::divide>),
        slot(Py_nb_inplace_true_divide, in_place<op::divide>),
        slot(Py_nb_floor_divide, binary<op::divide_down>),
        slot(Py_nb_inplace_floor_divide, in_place<op::divide_down>),
        slot(Py_nb_remainder, binary<op::remainder>),
        slot(Py_nb_inplace_remainder, in_place<op::remainder>),
        slot(Py_nb_divmod, binary<op::divide_with_rest>),
        slot(Py_nb_power, to_power),
        slot(Py_nb_inplace_power, to_power_in_place),
        slot(Py_nb_lshift, binary<op::shift_left>),
        slot(Py_nb_inplace_lshift, in_place<op::shift_left>),
        slot(Py_nb_rshift, binary<op::shift_right>),
        slot(Py_nb_inplace_rshift, in_place<op::shift_right>),
        slot(Py_nb_and, binary<op::both>),
        slot(Py_nb_inplace_and, in_place<op::both>),
        slot(Py_nb_xor, binary<op::one_of>),
        slot(Py_nb_inplace_xor, in_place<op::one_of>),
        slot(Py_nb_or, binary<op::either>),
        slot(Py_nb_inplace_or, in_place<op::either>),
        slot(Py_nb_negative, unary<op::negative>),
        slot(Py_nb_positive, unary<op::positive>),
        slot(Py_nb_absolute, unary<op::absolute>),
        slot(Py_nb_invert, unary<op::invert>),
        slot(Py_tp_richcompare, compare),
        PyType_Slot{Py_tp_hash, PyType_GetSlot(&PyBaseObject_Type, Py_tp_hash)},  // that of identity
    };
    return slots;
}

PyObject* array_ufunc(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
        const auto out_of = [&]() -> nb::handle {  // null where there is something that Python has to look at
            if (named == 0) return Py_None;
            const bool is_out = named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "out") == 0;
            if (!is_out || !PyTuple_CheckExact(given[count]) || PyTuple_Size(given[count]) != 1) return {};
            return PyTuple_GetItem(given[count], 0);
        };
        if (count > 2 && PyUnicode_Check(given[1]) && PyUnicode_CompareWithASCIIString(given[1], "__call__") == 0) {
            if (const nb::handle out = out_of()) {
                const std::span operands(given + 2, static_cast<std::size_t>(count - 2));
                if (nb::object result = computed(given[0], operands, out.is_none() ? nb::handle() : out))
                    return result.release().ptr();
            }
        }
        static PyObject* const rest = PyUnicode_InternFromString("_array_ufunc");
        const nb::object method = nb::steal(PyObject_GetAttr(self, rest));
        if (!method.is_valid()) return nullptr;
        return in_python(
            [&] { return PyObject_Vectorcall(method.ptr(), given, static_cast<std::size_t>(count), names); });
    });
}

}  // namespace unibuf::python
