// memory.hpp: what keeps the bytes of a copy in place while Python objects show them.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <unibuf/unibuf.hpp>
#include <variant>

#include "kept_object.hpp"
#include "pool_block.hpp"

namespace unibuf::python {

namespace nb = nanobind;

/// Bytes of one copy, held until the last array over them has gone. A memory has the buffer protocol where the host can
/// address its bytes. It is used with the interpreter's lock held; end() lets go of that lock, as a standing hold may
/// be given bytes back then.
class memory {
public:
    explicit memory(copy_view held, bool read_only = false);
    /// Makes memory of a block, whose lease holds it.
    memory(const byte_lease& by, bool read_only);
    memory(pool_block held, nb::object stream);
    memory(memory&& other) noexcept;
    ~memory() { end(); }
    memory& operator=(const memory&) = delete;

    std::byte* data() const noexcept { return data_; }  // null where the host cannot address it
    const native_memory& native() const noexcept { return native_; }
    std::size_t size_bytes() const noexcept { return native_.bytes; }
    bool read_only() const noexcept { return read_only_; }
    void set_read_only(bool read_only) noexcept { read_only_ = read_only; }
    bool has_ended() const noexcept { return ended_; }

    /// Ends the view or lease. Where arrays are left, keep_by() holds the bytes for them from then on.
    void end() noexcept;
    template <class Held>
    void keep_by(Held kept) {
        held_ = std::move(kept);
        ended_ = false;
    }

    /// Adds the class Memory to the module.
    static void define(nb::module_& in);

private:
    /// A block of a pool, and the stream that its work is on, which has to be there until the block has ended.
    struct allocation {
        std::unique_ptr<kept_object> stream;
        pool_block block;
    };

    std::variant<std::monostate, copy_view, byte_lease, allocation> held_;
    std::byte* data_ = nullptr;
    native_memory native_;
    bool read_only_ = false;
    std::atomic<bool> ended_ = false;
};

}  // namespace unibuf::python
