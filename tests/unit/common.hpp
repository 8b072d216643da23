// tests/unit/common.hpp: functions that the tests of the public API share. They see nothing that a user does not.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "support/bytes.hpp"
#include "support/printing.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::test {

/// Returns `count` bytes of `whole` from `offset` on.
inline bytes part(std::span<const std::byte> whole, std::size_t offset, std::size_t count) {
    return bytes(whole.begin() + static_cast<std::ptrdiff_t>(offset),
                 whole.begin() + static_cast<std::ptrdiff_t>(offset + count));
}

inline bytes of(std::size_t count, unsigned char value) { return bytes(count, static_cast<std::byte>(value)); }

/// Returns what `from` holds, as `where` reads it, whose memory the host can address.
inline bytes content(const buffer& from, space where = host, const access_options& options = {}) {
    const auto lease = from.read(where, options);
    return bytes(lease.begin(), lease.end());
}

inline void put(buffer& to, std::span<const std::byte> data, space where = host, std::size_t offset = 0) {
    const auto lease = to.write(where, {.offset = offset, .count = data.size()});
    std::ranges::copy(data, lease.begin());
}

struct failure {
    error_code code{};
    std::string message;
};

/// Returns what `call` throws; fails the test where it throws nothing.
template <class Call>
failure failure_of(Call call) {
    try {
        call();
    } catch (const error& thrown) {
        return {thrown.code(), thrown.what()};
    }
    ADD_FAILURE() << "no error was thrown";
    return {};
}

/// Returns whether the buffer has a copy at `where`.
inline bool has_copy(const buffer& of, space where) {
    try {
        of.placement(where);
        return true;
    } catch (const error&) {
        return false;
    }
}

/// Makes a space the default device, as long as this lives.
class default_device_is {
public:
    explicit default_device_is(space where) : before_(default_device()) { set_default_device(where); }
    ~default_device_is() { set_default_device(before_); }

    default_device_is(const default_device_is&) = delete;
    default_device_is& operator=(const default_device_is&) = delete;

private:
    space before_;
};

}  // namespace unibuf::test
