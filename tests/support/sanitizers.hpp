// support/sanitizers.hpp: which sanitizer the tests are built with.
#pragma once

namespace unibuf::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool has_thread_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool has_thread_sanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool has_address_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool has_address_sanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool has_address_sanitizer = false;
#endif

#if defined(__has_feature)
inline constexpr bool has_undefined_behaviour_sanitizer = __has_feature(undefined_behavior_sanitizer);
#else
inline constexpr bool has_undefined_behaviour_sanitizer = false;
#endif

}  // namespace unibuf::test
