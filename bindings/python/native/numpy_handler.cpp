// numpy_handler.cpp: the calls by which NumPy asks for memory.
//
// They may come on any thread, with the interpreter's lock or without it, and when the interpreter has ended.
#include "numpy_handler.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <unibuf/detail/sizes.hpp>
#include <unordered_map>
#include <utility>

#include "pool_block.hpp"
#include "without_interpreter.hpp"

namespace unibuf::python {

namespace {

/// PyDataMem_Handler of numpy/ndarraytypes.h, in the version that all of NumPy since 1.22 takes.
struct data_mem_handler {
    char name[127];
    std::uint8_t version;
    struct {
        void* context;
        void* (*malloc)(void* context, std::size_t bytes);
        void* (*calloc)(void* context, std::size_t count, std::size_t bytes);
        void* (*realloc)(void* context, void* block, std::size_t bytes);
        void (*free)(void* context, void* block, std::size_t bytes);
    } allocator;
};
static_assert(offsetof(data_mem_handler, allocator) == 128);

constexpr const char* capsule_name = "mem_handler";

/// Lets go of the interpreter's lock where the thread has it. What Python has to do elsewhere waits until the caller
/// is done, as it does in an allocation of NumPy's own.
class maybe_released_lock {
public:
    maybe_released_lock() {
        if (!has_lock()) return;
        on_its_way_.emplace();
        released_.emplace();
    }

private:
    // These end in the opposite order: the lock is taken first.
    std::optional<nb::error_scope> on_its_way_;
    std::optional<released_lock> released_;
};

/// The arrays' memory in one pool, by address: what NumPy says of sizes at the end is the array's idea of them.
class blocks {
public:
    explicit blocks(std::shared_ptr<memory_pool> from) : pool_(std::move(from)) {}

    void* allocate(std::size_t bytes, block_content content) {
        pool_block made(pool_, std::max<std::size_t>(bytes, 1), host, content);  // no bytes have an address, too
        void* const address = made.address();
        const std::scoped_lock lock(mutex_);
        all_.emplace(address, std::move(made));
        return address;
    }
    std::size_t size_of(void* address) {
        const std::scoped_lock lock(mutex_);
        return all_.at(address).size_bytes();
    }
    void free(void* address) noexcept {
        decltype(all_)::node_type gone;  // ends without the lock
        const std::scoped_lock lock(mutex_);
        gone = all_.extract(address);
    }

private:
    std::shared_ptr<memory_pool> pool_;
    std::mutex mutex_;
    std::unordered_map<void*, pool_block> all_;
};

struct handler {
    explicit handler(std::shared_ptr<memory_pool> pool);

    data_mem_handler head;
    blocks memory;
};

/// Calls `act` with the blocks, and returns what it returns; null, which NumPy raises MemoryError for, where it throws.
template <class Act>
void* attempt(void* context, const Act& act) noexcept {
    try {
        const maybe_released_lock unlocked;
        return act(static_cast<handler*>(context)->memory);
    } catch (const std::exception&) {
        return nullptr;
    }
}

void* allocate(void* context, std::size_t bytes) {
    return attempt(context, [&](blocks& of) { return of.allocate(bytes, block_content::unspecified); });
}

void* allocate_zeros(void* context, std::size_t count, std::size_t bytes) {
    const auto all = detail::product(count, bytes);
    if (!all) return nullptr;
    return attempt(context, [&](blocks& of) { return of.allocate(*all, block_content::zeros); });
}

void free(void* context, void* block, std::size_t) {
    if (!block) return;
    attempt(context, [&](blocks& of) {
        of.free(block);
        return nullptr;
    });
}

void* reallocate(void* context, void* block, std::size_t bytes) {
    return attempt(context, [&](blocks& of) {
        void* const made = of.allocate(bytes, block_content::unspecified);
        if (!block) return made;
        std::memcpy(made, block, std::min(bytes, of.size_of(block)));
        of.free(block);
        return made;
    });
}

handler::handler(std::shared_ptr<memory_pool> pool)
    : head{"unibuf", 1, {this, python::allocate, allocate_zeros, reallocate, python::free}}, memory(std::move(pool)) {}

void destroy(PyObject* capsule) {
    auto* const gone = static_cast<handler*>(PyCapsule_GetPointer(capsule, capsule_name));
    const maybe_released_lock unlocked;
    delete gone;
}

using set_handler = PyObject* (*)(PyObject* handler);

/// Returns NumPy's PyDataMem_SetHandler. numpy/__multiarray_api.h has it at this place of the table.
set_handler numpy_set_handler() {
    constexpr std::size_t place = 304;
    const nb::object table = in_python([] {
        try {
            return nb::object(nb::module_::import_("numpy._core._multiarray_umath").attr("_ARRAY_API"));
        } catch (const nb::python_error&) {  // before NumPy 2
            return nb::object(nb::module_::import_("numpy.core._multiarray_umath").attr("_ARRAY_API"));
        }
    });
    void* const* const calls = static_cast<void* const*>(PyCapsule_GetPointer(table.ptr(), nullptr));
    if (!calls) nb::raise_python_error();
    return reinterpret_cast<set_handler>(calls[place]);
}

}  // namespace

nb::object numpy_handler_of(std::shared_ptr<memory_pool> pool) {
    auto made = std::make_unique<handler>(std::move(pool));
    nb::object capsule = nb::steal(PyCapsule_New(&made->head, capsule_name, destroy));
    if (!capsule.is_valid()) nb::raise_python_error();
    made.release();
    return capsule;
}

nb::object set_numpy_handler(nb::handle handler) {
    if (!PyCapsule_IsValid(handler.ptr(), capsule_name)) {
        throw nb::type_error(nb::str("a handler is a capsule of NumPy's; {!r} was given").format(handler).c_str());
    }
    nb::object before = nb::steal(numpy_set_handler()(handler.ptr()));
    if (!before.is_valid()) nb::raise_python_error();
    return before;
}

}  // namespace unibuf::python
