// dlpack.cpp: memory as DLPack capsules, versioned and not.
#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "interpreter_lock.hpp"
#include "memory.hpp"
#include "module.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

// These structs have the layout of the DLPack specification 1.x.
struct dl_tensor {
    void* data;
    std::int32_t device_type;
    std::int32_t device_id;
    std::int32_t ndim;
    std::uint8_t type_code;
    std::uint8_t type_bits;
    std::uint16_t type_lanes;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
};
struct managed {
    dl_tensor tensor;
    void* context;
    void (*deleter)(managed*);
};
struct managed_versioned {
    std::uint32_t major;
    std::uint32_t minor;
    void* context;
    void (*deleter)(managed_versioned*);
    std::uint64_t flags;
    dl_tensor tensor;
};
static_assert(sizeof(dl_tensor) == 48 && sizeof(managed) == 64 && sizeof(managed_versioned) == 80);

template <class Managed>
struct exported {
    Managed head{};
    std::vector<std::int64_t> extents;  // the extents, then the strides
    PyObject* memory = nullptr;

    static void remove(Managed* of) {
        auto* const whole = static_cast<exported*>(of->context);
        if (nb::is_alive()) {
            const taken_lock locked;
            Py_DECREF(whole->memory);
        }
        delete whole;
    }
};

template <class Managed>
void destroy_unused(PyObject* capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule, name)) return;  // a consumer has taken the tensor
    auto* const of = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
    if (of->deleter) of->deleter(of);
}

constexpr int opencl_device = 4;
constexpr int metal_device = 8;
constexpr const char* plain_name = "dltensor";
constexpr const char* versioned_name = "dltensor_versioned";

template <class Managed>
nb::object export_as(const char* name, PyCapsule_Destructor destructor, nb::handle held, nb::handle shape,
                     nb::handle strides, std::size_t item_bytes, int type_code, int type_bits, int device_type,
                     int device_id, std::uint64_t flags) {
    const memory& of = *nb::inst_ptr<memory>(held);
    auto whole = std::make_unique<exported<Managed>>();
    const std::size_t axes = nb::len(shape);
    whole->extents.resize(2 * axes);
    std::int64_t stride = 1;
    for (std::size_t axis = axes; axis-- > 0;) {
        whole->extents[axis] = nb::cast<std::int64_t>(shape[axis]);
        const bool told = !strides.is_none();
        whole->extents[axes + axis] =
            told ? nb::cast<std::int64_t>(strides[axis]) / static_cast<std::int64_t>(item_bytes) : stride;
        stride *= whole->extents[axis];
    }
    // The offset is part of the pointer, as not every consumer adds byte_offset; a cl_mem or an MTLBuffer is no
    // pointer to add to.
    const std::size_t offset = of.native().offset;
    const std::size_t apart = device_type == opencl_device || device_type == metal_device ? offset : 0;
    whole->head.tensor = {.data = reinterpret_cast<void*>(of.native().handle + offset - apart),
                          .device_type = device_type,
                          .device_id = device_id,
                          .ndim = static_cast<std::int32_t>(axes),
                          .type_code = static_cast<std::uint8_t>(type_code),
                          .type_bits = static_cast<std::uint8_t>(type_bits),
                          .type_lanes = static_cast<std::uint16_t>(item_bytes * 8 / static_cast<unsigned>(type_bits)),
                          .shape = whole->extents.data(),
                          .strides = whole->extents.data() + axes,
                          .byte_offset = apart};
    whole->head.context = whole.get();
    whole->head.deleter = exported<Managed>::remove;
    if constexpr (std::is_same_v<Managed, managed_versioned>) {
        whole->head.major = 1;
        whole->head.minor = 1;
        whole->head.flags = flags;
    }
    nb::object capsule = nb::steal(PyCapsule_New(&whole->head, name, destructor));
    if (!capsule.is_valid()) nb::raise_python_error();
    whole->memory = held.inc_ref().ptr();
    whole.release();
    return capsule;
}

nb::object dlpack(nb::handle held, nb::handle shape, nb::handle strides, std::size_t item_bytes, int type_code,
                  int type_bits, int device_type, int device_id, bool versioned, std::uint64_t flags) {
    if (versioned) {
        return export_as<managed_versioned>(
            versioned_name, [](PyObject* of) { destroy_unused<managed_versioned>(of, versioned_name); }, held, shape,
            strides, item_bytes, type_code, type_bits, device_type, device_id, flags);
    }
    return export_as<managed>(
        plain_name, [](PyObject* of) { destroy_unused<managed>(of, plain_name); }, held, shape, strides, item_bytes,
        type_code, type_bits, device_type, device_id, flags);
}

}  // namespace

void define_dlpack(nb::module_& in) {
    in.def("dlpack", dlpack, "memory"_a, "shape"_a, "strides"_a.none(), "item_bytes"_a, "type_code"_a, "type_bits"_a,
           "device_type"_a, "device_id"_a, "versioned"_a, "flags"_a);
}

}  // namespace unibuf::python
