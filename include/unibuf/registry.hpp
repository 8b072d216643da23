// unibuf/registry.hpp: buffers by name, for parts of a program that share no variables, in whatever language.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unibuf/detail/element_name.hpp"
#include "unibuf/export.hpp"
#include "unibuf/shape.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf {

/// The buffer that a name stands for, with the shape and the type of its elements.
struct registered_buffer {
    buffer bytes;
    unibuf::shape shape;
    std::string element;  // type of an element, as NumPy's array interface writes it: "<f4"
};

/// Names of buffers, or of parts of them. A name does not keep its buffer, unless that was asked for: it goes with the
/// last handle, and with the release to a pool. Any thread; each call costs a lock and a look into a map.
class UNIBUF_API registry {
public:
    /// Names a buffer. With `keep` the name keeps the buffer. Throws error(invalid_argument) where the name is taken,
    /// or empty, or where the elements of the shape take not just the bytes of the buffer.
    void add(std::string_view name, buffer& of, bool keep = false) {
        add(name, of, shape(of.size_bytes()), detail::element_name('u', 1), keep);
    }
    void add(std::string_view name, buffer& of, const shape& extents, std::string_view element, bool keep = false);

    template <class T>
    void add(std::string_view name, unified_buffer<T>& of, bool keep = false) {
        add(name, of.bytes(), of.shape(), detail::element_name_of<T>(), keep);
    }

    /// Returns a handle, or nothing where nobody has the name.
    std::optional<registered_buffer> find(std::string_view name) const;

    /// Returns a typed handle, or nothing. Throws error(invalid_argument) where the elements are of another type.
    template <class T>
    std::optional<unified_buffer<T>> find(std::string_view name) const {
        std::optional<registered_buffer> found = find(name);
        if (!found) return std::nullopt;
        if (found->element != detail::element_name_of<T>()) refuse(name, found->element, detail::element_name_of<T>());
        return unified_buffer<T>(std::move(found->bytes), found->shape);
    }

    /// Takes the name away. Returns whether there was one.
    bool remove(std::string_view name);

    std::vector<std::string> names() const;

private:
    [[noreturn]] static void refuse(std::string_view name, std::string_view is, std::string_view wanted);
};

/// Returns the registry of this process.
UNIBUF_API registry& get_registry() noexcept;

}  // namespace unibuf
