// support/same_call.hpp: whether two declarations of a driver's function are the same for a caller.
#pragma once

#include <type_traits>

namespace unibuf::test {

template <class T>
concept is_complete = requires { sizeof(T); };

template <class Left, class Right>
constexpr bool same_value() {
    if constexpr (std::is_same_v<Left, Right>) {
        return true;
    } else if constexpr (std::is_pointer_v<Left> && std::is_pointer_v<Right>) {
        using to_left = std::remove_cv_t<std::remove_pointer_t<Left>>;
        using to_right = std::remove_cv_t<std::remove_pointer_t<Right>>;
        if constexpr (std::is_void_v<to_left> || std::is_void_v<to_right>) {
            // A function that is found by its name is no more than an address.
            return std::is_same_v<to_left, to_right> || std::is_function_v<to_left> || std::is_function_v<to_right>;
        } else if constexpr (std::is_pointer_v<to_left> || std::is_scalar_v<to_left>) {
            return same_value<to_left, to_right>();
        } else if constexpr (is_complete<to_left> && is_complete<to_right>) {
            return sizeof(to_left) == sizeof(to_right);  // structures have the same layout
        } else {
            return !is_complete<to_left> && !is_complete<to_right>;  // handles are pointers to what nobody sees
        }
    } else {
        constexpr bool integers =
            (std::is_integral_v<Left> || std::is_enum_v<Left>) && (std::is_integral_v<Right> || std::is_enum_v<Right>);
        return integers && sizeof(Left) == sizeof(Right);
    }
}

template <class Left, class Right>
struct same_call : std::false_type {};

template <class Left, class... Lefts, class Right, class... Rights>
    requires(sizeof...(Lefts) == sizeof...(Rights))
struct same_call<Left (*)(Lefts...), Right (*)(Rights...)>
    : std::bool_constant<same_value<Left, Right>() && (same_value<Lefts, Rights>() && ...)> {};

}  // namespace unibuf::test
