// unibuf/error.hpp: the one family of errors.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "unibuf/export.hpp"

namespace unibuf {

enum class error_code {
    not_allocated,       // marked or synchronized before any copy existed
    out_of_memory,       // the space has no room
    device_unavailable,  // the space is known, but cannot be used here; the message says why
    device_lost,         // the device failed for good
    invalid_argument,    // nonsense in a call
    out_of_range,        // an offset or a count outside the buffer
    access_conflict,     // leases that exclude each other, the last current copy at stake, or a guard of the program's
    transfer_failed,     // bytes could not be moved; what was current still is
    timeout,             // the time that the caller gave has passed
    unsupported,         // nobody can do this here
};

/// Returns the name of `code`: "not_allocated", and so on.
UNIBUF_API std::string_view to_string(error_code code) noexcept;

/// Every function of unibuf throws errors of this class.
///
/// message() says what was asked, of which buffer, and what is allowed. what() says where more is to be read, too: it
/// ends with " [unibuf explain CODE]", unless there was no memory for that. After an error the buffer holds what it
/// held before; nothing that was newest is lost.
class UNIBUF_API error : public std::runtime_error {
public:
    /// `message` may end with the what() of another error, whose last words are then replaced by those of this one.
    error(error_code code, std::string message);
    ~error() override;

    error_code code() const noexcept { return code_; }
    std::string_view message() const noexcept;

private:
    error_code code_;
};

}  // namespace unibuf
