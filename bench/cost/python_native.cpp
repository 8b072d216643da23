// bench/cost/python_native.cpp: the module unibuf_cost_native, by which operations.py counts what Python code costs.
#include <Python.h>

#include "count.hpp"

namespace {

/// Counts `seen` calls of a function without arguments, after `unseen` ones. A call of one that does nothing is
/// subtracted.
PyObject* count(PyObject* /*module*/, PyObject* arguments) {
    const char* name = nullptr;
    PyObject* nothing = nullptr;
    PyObject* operation = nullptr;
    int unseen = cost::warm_up;
    int seen = cost::repetitions;
    if (!PyArg_ParseTuple(arguments, "sOO|ii", &name, &nothing, &operation, &unseen, &seen)) return nullptr;
    bool failed = false;
    const auto called = [&failed](PyObject* function) {
        return [&failed, function] {
            PyObject* const result = failed ? nullptr : PyObject_CallNoArgs(function);
            failed = !result;
            Py_XDECREF(result);
        };
    };
    cost::prepare_steps();
    const auto before = cost::counted(cost::warm_up, [] {}, called(nothing));
    const auto found = cost::counted(unseen, [] {}, called(operation), seen);
    if (failed) return nullptr;
    cost::print(name, before, found);
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"count", count, METH_VARARGS, "count(name, nothing, operation, unseen, seen)"},
                           {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "unibuf_cost_native", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_unibuf_cost_native() { return PyModule_Create(&module); }
