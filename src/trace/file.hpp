// trace/file.hpp: a file that events are written to, as an array of them; what is 0 is not written yet.
//
// The file is mapped, in pieces of which each thread has one of its own, so an event that was written is in the file
// also where the program crashes right after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "unibuf/trace.hpp"

namespace unibuf::trace {

/// So many bytes are mapped at a time: 512 events.
inline constexpr std::size_t piece_bytes = std::size_t{64} << 10;

/// The first event of a file is of the kind `text`, and says what the file is.
inline constexpr std::string_view magic = "unibuf trace 1";

/// Opens the file, and returns its name, which may be another. Throws error(invalid_argument).
std::string open_file(const std::string& name);
void close_file() noexcept;
bool is_file_open() noexcept;

/// Returns how many files have been opened.
std::uint64_t number_of_file() noexcept;

/// Writes an event, where a file is open.
void append(const event& made) noexcept;

/// What a text names.
enum class named : std::uint8_t { file, buffer, space, site };

/// Writes the name of something, in as many events as that takes, which are numbered from 0 in `to`.
void write_text(named what, std::uint64_t key, std::string_view text) noexcept;

/// The part of an event that a text has in the place of all behind `buffer`, which is the key.
inline constexpr std::size_t text_bytes = sizeof(event) - offsetof(event, begin);

}  // namespace unibuf::trace
