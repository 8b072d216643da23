// trace/file.cpp: opens, maps and closes the files that events are written to.
#include "trace/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "process/forks.hpp"
#include "process/lasting.hpp"
#include "process/mutex.hpp"
#include "system/files.hpp"
#include "trace/recorder.hpp"
#include "unibuf/error.hpp"

namespace unibuf::trace {
namespace {

constexpr int closed = -1;

/// The piece of a file that a thread writes.
struct piece {
    std::uint64_t of = 0;  // number of the file, as sink::opened counts
    event* next = nullptr;
    event* end = nullptr;

    void unmap() noexcept {
        if (end) ::munmap(end - piece_bytes / sizeof(event), piece_bytes);
        next = end = nullptr;
    }
};

/// A file that is written, or none.
struct sink {
    std::atomic<int> file = closed;
    std::atomic<std::uint64_t> opened = 0;  // counts files, so that no thread goes on in the piece of an earlier one
    std::atomic<int> forks_when_opened = 0;
    // The lock guards these.
    off_t next_piece = 0;
    piece of_ended_threads;
    std::array<piece, 64> left{};  // by threads that have ended, to others
    std::size_t left_count = 0;

    bool is_open() const noexcept {
        return file.load(std::memory_order_acquire) != closed &&
               forks_when_opened.load(std::memory_order_relaxed) == process::fork_count.load(std::memory_order_relaxed);
    }
};

constinit std::array<sink, 2> sinks{};

sink& of(asked_by who) noexcept { return sinks[static_cast<std::size_t>(who)]; }

/// Returns the lock.
process::mutex& files() {
    static process::lasting<process::mutex> only(process::mutex::rank::renewed);
    return *only;
}

thread_local constinit std::array<piece, 2> my_pieces{};
thread_local constinit bool pieces_have_ended = false;

bool has_room(const sink& of, const piece& in) noexcept {
    return in.next != in.end && in.of == of.opened.load(std::memory_order_relaxed);
}

/// Leaves the pieces of a thread at its end to others. What it destroys after that is told in a piece that all such
/// threads share.
struct at_end_of_thread {
    ~at_end_of_thread() {
        pieces_have_ended = true;
        const std::scoped_lock lock(files());
        for (std::size_t i = 0; i < sinks.size(); ++i) {
            sink& of = sinks[i];
            piece& own = my_pieces[i];
            if (of.is_open() && has_room(of, own) && of.left_count < of.left.size()) {
                of.left[of.left_count++] = std::exchange(own, {});
            } else {
                own.unmap();
            }
        }
    }
};

void leave_pieces_at_end() noexcept {
    static thread_local const at_end_of_thread ends;
    static_cast<void>(ends);
}

/// Maps the piece of a file that begins at `begin`. Returns 0, or what went wrong.
int map_piece(int into, off_t begin, piece& to) noexcept {
    leave_pieces_at_end();
    // Room that is promised now: to store into a mapped hole on a full disk would end the program.
    if (const int failed = system::reserve(into, begin, piece_bytes)) return failed;
    void* const mapped = ::mmap(nullptr, piece_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, into, begin);
    if (mapped == MAP_FAILED) return errno;
    to.next = static_cast<event*>(mapped);
    to.end = to.next + piece_bytes / sizeof(event);
    return 0;
}

/// Ends a file. Pieces stay mapped where threads are writing to them, and with them the lock on the file would stay.
void let_go_of(sink& ended) noexcept {
    const int was = ended.file.exchange(closed);
    if (was == closed) return;
    while (ended.left_count != 0) ended.left[--ended.left_count].unmap();
    ::flock(was, LOCK_UN);
    ::close(was);
}

/// Makes `to` the next piece of the file. Returns false where there is no room. The caller has the lock.
bool take_piece(sink& from, piece& to) noexcept {
    to.unmap();
    if (!from.is_open()) return false;
    if (from.left_count != 0) {
        to = std::exchange(from.left[--from.left_count], {});
        leave_pieces_at_end();
        return true;
    }
    to.of = from.opened.load(std::memory_order_relaxed);
    const off_t begin = from.next_piece;
    from.next_piece += static_cast<off_t>(piece_bytes);
    const int failed = map_piece(from.file.load(std::memory_order_relaxed), begin, to);
    if (failed == 0) return true;
    let_go_of(from);
    std::fprintf(stderr, "unibuf: the trace ends here: %s\n", std::strerror(failed));
    return false;
}

/// Appends an event. The caller has the lock.
void append_locked(const event& made, sink& to, piece& in) noexcept {
    if (has_room(to, in) || take_piece(to, in)) *in.next++ = made;
}

/// Returns an event that holds the part of a text that has room in it, which is taken from the text.
event text_event(named what, std::uint64_t key, std::uint8_t number, std::string_view& text) noexcept {
    event part{.time = now(), .kind = event_kind::text, .from = static_cast<std::uint8_t>(what), .buffer = key};
    part.to = number;
    part.process = static_cast<std::uint32_t>(::getpid());
    auto bytes = std::bit_cast<std::array<char, sizeof(event)>>(part);
    const std::string_view now = text.substr(0, text_bytes);
    std::ranges::copy(now, bytes.begin() + offsetof(event, begin));
    text.remove_prefix(now.size());
    return std::bit_cast<event>(bytes);
}

[[noreturn]] void refuse(const std::string& name, int why) {
    throw error(error_code::invalid_argument,
                fmt::format("a trace was to be written to {}: {}", name, std::strerror(why)));
}

/// Opens a file that nobody else writes. Returns its descriptor, or `closed` where somebody does.
int open_alone(const std::string& name, int flags) {
    const int result = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);
    if (result < 0 && (flags & O_EXCL) && errno == EEXIST) return closed;
    if (result < 0) refuse(name, errno);
    if (::flock(result, LOCK_EX | LOCK_NB) == 0) return result;
    ::close(result);
    return closed;
}

/// Opens an empty file of that name, which replaces one that is there, or returns `closed`.
int open_empty(const std::string& name) {
    const int old = open_alone(name, 0);
    if (old == closed) return closed;
    struct stat about{};
    const bool is_known = ::fstat(old, &about) == 0;
    if (is_known && S_ISREG(about.st_mode) && about.st_size == 0) return old;
    // Threads of this process may have mapped what is there. While it is locked, no other process replaces it too.
    if (is_known && S_ISREG(about.st_mode) && ::unlink(name.c_str()) == 0) {
        const int result = open_alone(name, O_EXCL);
        ::close(old);
        return result;
    }
    const int why = ::ftruncate(old, 0) != 0 ? errno : 0;
    if (why == 0) return old;
    ::close(old);
    refuse(name, why);
}

/// Opens the file, or one with a number behind its name. Returns the name.
std::pair<int, std::string> open_one_of(const std::string& name, existing other) {
    if (other == existing::replaced) {
        int made = open_empty(name);
        if (made != closed) return {made, name};
        const std::string own = fmt::format("{}.{}", name, ::getpid());  // this process may be a child of the writer
        made = open_empty(own);
        if (made != closed) return {made, own};
        refuse(own, EWOULDBLOCK);
    }
    std::string free = name;
    for (int number = 1;; ++number) {
        const int made = open_alone(free, O_EXCL);
        if (made != closed) return {made, free};
        free = fmt::format("{}.{}", name, number);
    }
}

}  // namespace

std::string open_file(asked_by who, const std::string& name, existing other) {
    const std::scoped_lock lock(files());
    sink& to = of(who);
    if (to.is_open()) throw error(error_code::invalid_argument, "a trace is being written: end that one first");
    const auto [made, used] = open_one_of(name, other);
    piece& own = my_pieces[static_cast<std::size_t>(who)];
    own.unmap();
    if (const int failed = map_piece(made, 0, own)) {
        ::close(made);
        refuse(used, failed);
    }
    std::string_view text = magic;
    *own.next++ = text_event(named::file, 0, 0, text);
    to.next_piece = piece_bytes;
    to.forks_when_opened.store(process::forks(), std::memory_order_relaxed);
    own.of = to.opened.fetch_add(1, std::memory_order_relaxed) + 1;
    to.file.store(made, std::memory_order_release);
    return used;
}

void close_file(asked_by who) noexcept {
    const std::scoped_lock lock(files());
    let_go_of(of(who));
}

bool is_file_open(asked_by who) noexcept { return of(who).is_open(); }

std::uint64_t number_of_files() noexcept {
    std::uint64_t result = 0;
    for (const sink& each : sinks) result += each.opened.load(std::memory_order_relaxed);
    return result;
}

void append(const event& made) noexcept {
    for (std::size_t i = 0; i < sinks.size(); ++i) {
        sink& to = sinks[i];
        piece& own = my_pieces[i];
        if (!to.is_open()) continue;
        if (!pieces_have_ended && has_room(to, own)) {
            *own.next++ = made;
            continue;
        }
        const std::scoped_lock lock(files());
        append_locked(made, to, pieces_have_ended ? to.of_ended_threads : own);
    }
}

void write_text(named what, std::uint64_t key, std::string_view text) noexcept {
    std::uint8_t number = 0;
    do {
        append(text_event(what, key, number++, text));
    } while (!text.empty());
}

}  // namespace unibuf::trace
