// trace/file.hpp: files that events are written to, as an array of them; what is 0 is not written yet.
//
// A file is mapped, in pieces of which each thread has one of its own, so an event that was written is in the file also
// where the program crashes right after. There may be two: one that the environment names, and one of the program's
// own.
//
// What always holds:
//  1. A file that is mapped is never truncated by this process: a file that is there is replaced by a new one.
//  2. Files are opened and closed, and pieces are taken, under one lock; events are written without.
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

/// Who has asked for a file.
enum class asked_by : std::uint8_t { environment, program };

/// Whether there may be a file of that name already that stays.
enum class existing : std::uint8_t { replaced, kept };

/// Opens the file, and returns its name, which may be another: where another process writes it, or it is to be kept.
/// Throws error(invalid_argument).
std::string open_file(asked_by who, const std::string& name, existing other = existing::replaced);
void close_file(asked_by who) noexcept;

/// Returns whether this process writes a file.
bool is_file_open(asked_by who) noexcept;
inline bool is_file_open() noexcept { return is_file_open(asked_by::environment) || is_file_open(asked_by::program); }

/// Returns how many files have been opened.
std::uint64_t number_of_files() noexcept;

/// Writes an event to the files that are open.
void append(const event& made) noexcept;

/// What a text names.
enum class named : std::uint8_t { file, buffer, space, site, untracked };

/// Writes the name of something, in as many events as that takes, which are numbered from 0 in `to`.
void write_text(named what, std::uint64_t key, std::string_view text) noexcept;

/// The part of an event that a text has in the place of all behind `buffer`, which is the key.
inline constexpr std::size_t text_bytes = sizeof(event) - offsetof(event, begin);

}  // namespace unibuf::trace
