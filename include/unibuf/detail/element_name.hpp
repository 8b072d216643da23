// unibuf/detail/element_name.hpp: the types of elements and their shapes, as text.
#pragma once

#include <complex>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "unibuf/export.hpp"
#include "unibuf/shape.hpp"

namespace unibuf::detail {

/// Returns the type of an element as NumPy's array interface writes it: "<f4"; "|V12" for a type that is neither number
/// nor bool.
UNIBUF_API std::string element_name(char kind, std::size_t bytes);

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

template <class T>
std::string element_name_of() {
    constexpr char kind = std::is_same_v<T, bool>       ? 'b'
                          : std::is_floating_point_v<T> ? 'f'
                          : is_complex<T>               ? 'c'
                          : !std::is_integral_v<T>      ? 'V'
                          : std::is_signed_v<T>         ? 'i'
                                                        : 'u';
    return element_name(kind, sizeof(T));
}

/// Describes a buffer of elements to other processes: "<f4 200,300".
UNIBUF_API std::string describe(std::string_view element, const shape& extents);

/// Returns the shape in the first line of what describe() made. Throws error(invalid_argument) where the elements are
/// of another type, or `description` is none.
UNIBUF_API shape described_shape(std::string_view description, std::string_view element);

}  // namespace unibuf::detail
