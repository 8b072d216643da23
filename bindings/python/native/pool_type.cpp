// pool_type.cpp: the class MemoryPool's native side.
#include <memory>

#include "memory.hpp"
#include "module.hpp"
#include "numpy_handler.hpp"
#include "options.hpp"
#include "typed_buffer.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

/// A pool of its own, or the one that the program shares.
class pool {
public:
    explicit pool(bool shared) : of_(shared ? shared_by_all() : std::make_shared<memory_pool>()) { of_->count_use(); }
    ~pool() {
        if (!nb::is_alive()) return;
        const without_interpreter unlocked;
        of_.reset();
    }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    memory_pool& get() const { return *of_; }
    const std::shared_ptr<memory_pool>& kept() const { return of_; }

private:
    static std::shared_ptr<memory_pool> shared_by_all() {
        return {&get_memory_pool(), [](memory_pool*) {}};
    }

    std::shared_ptr<memory_pool> of_;
};

nb::object acquire(const pool& self, nb::handle type, nb::handle shape, nb::handle dtype, nb::handle pinned,
                   nb::handle access, nb::handle hint, nb::handle device, nb::handle tracking,
                   nb::handle uninitialized) {
    element_type element = element_type_of(dtype);
    std::size_t size = 0;
    nb::object extents = shape_of(shape, element, size);
    const buffer_options options = options_of({pinned, access, hint, device, tracking, uninitialized});
    unibuf::buffer bytes = unlocked([&] { return self.get().acquire(size, options); });
    return make_buffer(type, std::move(bytes), std::move(element), std::move(extents));
}

void release(const pool& self, nb::handle buffer) {
    typed_buffer& of = buffer_of(buffer, "a pool takes back a UnifiedBuffer");
    unibuf::buffer bytes = of.take();
    try {
        unlocked([&] { self.get().release(std::move(bytes)); });
    } catch (...) {
        of.put_back(std::move(bytes));
        throw;
    }
}

/// Allocates bytes at a space. Work on them goes to `stream` until they end.
memory allocate_from(const pool& self, nb::handle bytes, nb::handle where, nb::object stream) {
    const std::size_t size = size_of(bytes, "a number of bytes");
    const space at = named_space_of(where);
    const queue on = queue_of(stream, at);
    pool_block made = unlocked([&] { return pool_block(self.kept(), size, at, block_content::unspecified, on); });
    return {std::move(made), std::move(stream)};
}

nb::dict statistics_of(const pool& self) {
    const pool_statistics found = unlocked([&] { return self.get().statistics(); });
    const pool_use use = self.get().use();
    nb::dict result;
    result["hits"] = found.hits;
    result["misses"] = found.misses;
    result["held"] = found.held;
    result["held_bytes"] = found.held_bytes;
    result["peak_memory"] = found.peak_bytes;
    result["current_bytes"] = use.current_bytes;
    result["current_count"] = use.current_count;
    result["peak_bytes"] = use.peak_bytes;
    result["peak_count"] = use.peak_count;
    result["total_bytes"] = use.total_bytes;
    result["total_count"] = use.total_count;
    return result;
}

}  // namespace

void define_pool(nb::module_& in) {
    in.def("set_numpy_handler", set_numpy_handler, "handler"_a,
           nb::sig("def set_numpy_handler(handler: typing.Any) -> typing.Any"),
           "Makes it the one of this context; returns the one before.");
    nb::class_<pool>(in, "Pool")
        .def(nb::init<bool>(), "shared"_a)
        .def("acquire", acquire, "type"_a, "shape"_a.none(), "dtype"_a.none(), "pinned"_a.none(), "access"_a.none(),
             "hint"_a.none(), "device"_a.none(), "tracking"_a.none(), "uninitialized"_a.none(),
             nb::sig("def acquire(self, type: type, shape: object, dtype: object, pinned: bool, access: str, hint: "
                     "object, device: object, tracking: str, uninitialized: bool) -> typing.Any"))
        .def("release", release, "buffer"_a.none().lock())
        .def(
            "reserve",
            [](const pool& self, nb::handle count, nb::handle bytes, nb::handle where) {
                const std::size_t buffers = size_of(count, "a count of buffers");
                const std::size_t size = size_of(bytes, "a number of bytes");
                const space at = named_space_of(where);
                unlocked([&] { self.get().reserve(buffers, size, at); });
            },
            "count"_a.none(), "nbytes"_a.none(), "space"_a.none())
        .def(
            "trim",
            [](const pool& self, nb::handle bytes) {
                const std::size_t most = size_of(bytes, "a number of bytes");
                unlocked([&] { self.get().trim(most); });
            },
            "nbytes"_a.none())
        .def(
            "limit",
            [](const pool& self, nb::handle bytes) {
                const std::uint64_t most = limit_of(bytes);
                unlocked([&] { self.get().limit(most); });
            },
            "nbytes"_a.none())
        .def("allocate", allocate_from, "nbytes"_a.none(), "space"_a.none(), "stream"_a.none())
        .def(
            "numpy_handler", [](const pool& self) { return numpy_handler_of(self.kept()); },
            nb::sig("def numpy_handler(self) -> typing.Any"), "The PyDataMem_Handler by which arrays get its memory.")
        .def("statistics", statistics_of, nb::sig("def statistics(self) -> dict[str, typing.Any]"));
}

}  // namespace unibuf::python
