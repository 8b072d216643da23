// opencl_launch.cpp: kernels of PyOpenCL that are run on buffers.
#include <algorithm>
#include <deque>
#include <string>
#include <unibuf/opencl.hpp>
#include <utility>
#include <vector>

#include "bytes_of_object.hpp"
#include "imported.hpp"
#include "module.hpp"
#include "options.hpp"
#include "without_interpreter.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

/// What a kernel does with a buffer, or a part of it: unibuf.opencl.read(buffer) and its like.
struct kernel_access {
    kernel_access(nb::pointer_and_handle<typed_buffer> of, access how, nb::handle offset, nb::handle count)
        : buffer(nb::borrow(of.h)), what(how), part(of.p->part(offset, count)) {}

    nb::object buffer;
    access what;
    access_options part;

    static int traverse(PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<kernel_access>(self)->buffer.ptr());
        return 0;
    }
    static int clear(PyObject* self) {
        if (nb::inst_ready(self)) nb::inst_ptr<kernel_access>(self)->buffer.reset();
        return 0;
    }
};

/// The arguments of one launch, and what they are made of, which stays where it is as long as they do.
class launch_arguments {
public:
    launch_arguments(nb::handle kernel, const nb::tuple& given) {
        handles_.reserve(given.size());
        accesses_.reserve(given.size());
        all_.reserve(given.size());
        for (std::size_t index = 0; index < given.size(); ++index) add(kernel, index, given[index]);
    }

    std::span<const opencl::argument> all() const noexcept { return all_; }

private:
    void add(nb::handle kernel, std::size_t index, nb::handle given) {
        static constinit imported number("numpy", "generic");
        if (nb::isinstance<kernel_access>(given)) {
            const kernel_access& wanted = *nb::inst_ptr<kernel_access>(given);
            handles_.push_back(nb::inst_ptr<typed_buffer>(wanted.buffer)->handle());
            accesses_.push_back({.of = &handles_.back(), .what = wanted.what, .options = wanted.part});
            all_.emplace_back(accesses_.back());
        } else if (PyObject_IsInstance(given.ptr(), number.get().ptr()) == 1) {
            add_value(given);
        } else {
            static constinit imported value_of("unibuf.opencl", "value_of");
            const nb::object value = in_python([&] { return value_of(kernel, index, given); });
            if (nb::isinstance<nb::int_>(value)) {
                all_.emplace_back(opencl::local_memory{nb::cast<std::size_t>(value)});
            } else {
                add_value(value);
            }
        }
    }

    void add_value(nb::handle of) { all_.push_back(opencl::argument::of_bytes(values_.emplace_back(of).span())); }

    std::vector<unibuf::buffer> handles_;
    std::vector<wanted_access> accesses_;
    std::deque<bytes_of_object> values_;
    std::vector<opencl::argument> all_;
};

opencl::nd_range::extent extent_of(nb::handle given) {
    opencl::nd_range::extent result(0);
    const auto size_of = [](nb::handle each) { return plain_value<std::size_t>(each, "work items are whole numbers"); };
    if (!PyTuple_Check(given.ptr()) && !PyList_Check(given.ptr())) {
        result.in[0] = size_of(given);
        return result;
    }
    const std::size_t dimensions = nb::len(given);
    if (dimensions < 1 || dimensions > result.in.size()) {
        throw error(error_code::invalid_argument,
                    "work items have 1 to 3 dimensions; " + std::to_string(dimensions) + " were given");
    }
    result.dimensions = static_cast<std::uint32_t>(dimensions);
    for (std::size_t each = 0; each < dimensions; ++each) result.in[each] = size_of(given[each]);
    return result;
}

void enqueue(nb::handle kernel, nb::handle items, const nb::tuple& arguments, nb::handle group, nb::handle where) {
    const opencl::nd_range::extent all = extent_of(items);
    const opencl::nd_range range = group.is_none() ? opencl::nd_range(all) : opencl::nd_range(all, extent_of(group));
    auto* const native = reinterpret_cast<_cl_kernel*>(nb::cast<std::uintptr_t>(kernel.attr("int_ptr")));
    const space named = where.is_none() ? host : named_space_of(where);
    launch_arguments given(kernel, arguments);
    unlocked([&] {
        opencl::detail::enqueue(where.is_none() ? opencl::space_of(native) : named, native, range, given.all());
    });
}

}  // namespace

void define_opencl(nb::module_& in) {
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&kernel_access::traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&kernel_access::clear)},
                                  {0, nullptr}};
    nb::class_<kernel_access>(in, "KernelAccess", nb::type_slots(slots), "What a kernel does with a buffer.")
        .def(
            "__init__",
            [](kernel_access* self, nb::pointer_and_handle<typed_buffer> of, int what, nb::handle offset,
               nb::handle count) { new (self) kernel_access(of, static_cast<access>(what), offset, count); },
            "buffer"_a, "what"_a, "offset"_a, "count"_a.none());
    in.def("enqueue_opencl", &enqueue, "kernel"_a, "items"_a.none(), "arguments"_a, "group"_a.none(), "space"_a.none(),
           nb::sig("def enqueue_opencl(kernel: object, items: object, arguments: tuple[object, ...], group: object, "
                   "space: str | None) -> None"));
    in.def("use_opencl", [](std::uintptr_t context, std::uintptr_t device, std::uintptr_t queue) {
        return unlocked([&] {
            return opencl::use(reinterpret_cast<_cl_context*>(context), reinterpret_cast<_cl_device_id*>(device),
                               reinterpret_cast<_cl_command_queue*>(queue))
                .name();
        });
    });
}

}  // namespace unibuf::python
