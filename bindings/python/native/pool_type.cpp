// pool_type.cpp: the class MemoryPool's native side.
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>

#include "module.hpp"
#include "options.hpp"
#include "typed_buffer.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

/// A pool of its own, or the one that the program shares.
class pool {
public:
    explicit pool(bool shared) : own_(shared ? nullptr : std::make_unique<memory_pool>()) {}
    ~pool() {
        if (!own_ || !nb::is_alive()) return;
        const without_interpreter unlocked;
        own_.reset();
    }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    memory_pool& get() const { return own_ ? *own_ : get_memory_pool(); }

private:
    std::unique_ptr<memory_pool> own_;
};

nb::object acquire(const pool& self, nb::handle type, nb::handle shape, nb::handle dtype, bool pinned,
                   const char* access, nb::handle hint, nb::handle device, const char* tracking, bool uninitialized) {
    element_type element = element_type_of(dtype);
    std::size_t size = 0;
    nb::object extents = shape_of(shape, element, size);
    const buffer_options options = options_of(pinned, access, hint, device, tracking, uninitialized);
    unibuf::buffer bytes = unlocked([&] { return self.get().acquire(size, options); });
    return make_buffer(type, std::move(bytes), std::move(element), std::move(extents), options);
}

void release(const pool& self, typed_buffer& of) {
    unibuf::buffer bytes = of.take();
    try {
        unlocked([&] { self.get().release(std::move(bytes)); });
    } catch (...) {
        of.put_back(std::move(bytes));
        throw;
    }
}

nb::dict statistics_of(const pool& self) {
    const pool_statistics found = unlocked([&] { return self.get().statistics(); });
    nb::dict result;
    result["hits"] = found.hits;
    result["misses"] = found.misses;
    result["held"] = found.held;
    result["held_bytes"] = found.held_bytes;
    result["peak_bytes"] = found.peak_bytes;
    return result;
}

}  // namespace

void define_pool(nb::module_& in) {
    nb::class_<pool>(in, "Pool")
        .def(nb::init<bool>(), "shared"_a)
        .def("acquire", acquire, "type"_a, "shape"_a, "dtype"_a, "pinned"_a, "access"_a, "hint"_a.none(),
             "device"_a.none(), "tracking"_a, "uninitialized"_a,
             nb::sig(
                 "def acquire(self, type: type, shape: object, dtype: object, pinned: bool, access: str, hint: object, "
                 "device: object, tracking: str, uninitialized: bool) -> typing.Any"))
        .def("release", release, "buffer"_a)
        .def("reserve",
             [](const pool& self, std::size_t count, std::size_t bytes, nb::handle where) {
                 const space at = space_of(where);
                 unlocked([&] { self.get().reserve(count, bytes, at); });
             })
        .def("trim", [](const pool& self, std::uint64_t bytes) { unlocked([&] { self.get().trim(bytes); }); })
        .def(
            "limit",
            [](const pool& self, std::optional<std::uint64_t> bytes) {
                unlocked([&] { self.get().limit(bytes.value_or(no_memory_limit)); });
            },
            "bytes"_a.none())
        .def("statistics", statistics_of, nb::sig("def statistics(self) -> dict[str, typing.Any]"));
}

}  // namespace unibuf::python
