// trace/file.cpp
#include "trace/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <span>

#include "process/forks.hpp"
#include "trace/recorder.hpp"
#include "unibuf/error.hpp"

namespace unibuf::trace {
namespace {

constexpr int closed = -1;

std::atomic<int> file = closed;
std::atomic<std::uint64_t> opened;  // counts files, so that no thread goes on in the piece of an earlier one
std::atomic<off_t> next_piece;
std::atomic<int> forks_when_opened;

/// The piece of the file that a thread writes.
struct piece {
    std::uint64_t of = 0;  // number of the file, as `opened` counts
    event* next = nullptr;
    event* end = nullptr;

    void unmap() noexcept {
        if (end) ::munmap(end - piece_bytes / sizeof(event), piece_bytes);
        next = end = nullptr;
    }
};

thread_local constinit piece my_piece;

/// Unmaps the piece of a thread at its end.
struct at_end_of_thread {
    ~at_end_of_thread() { my_piece.unmap(); }
};

void give_up(int why) noexcept {
    const int was = file.exchange(closed);
    if (was == closed) return;
    std::fprintf(stderr, "unibuf: the trace ends here: %s\n", std::strerror(why));
}

/// Gives the thread the next piece of the file. Returns false where there is no room.
bool take_piece() noexcept {
    static thread_local const at_end_of_thread ends;
    static_cast<void>(ends);
    my_piece.unmap();
    const int into = file.load(std::memory_order_acquire);
    if (into == closed) return false;
    my_piece.of = opened.load(std::memory_order_relaxed);
    const off_t begin = next_piece.fetch_add(piece_bytes, std::memory_order_relaxed);
    // Room that is promised now: to store into a mapped hole on a full disk would end the program.
    if (const int failed = ::posix_fallocate(into, begin, piece_bytes)) {
        give_up(failed);
        return false;
    }
    void* const mapped = ::mmap(nullptr, piece_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, into, begin);
    if (mapped == MAP_FAILED) {
        give_up(errno);
        return false;
    }
    my_piece.next = static_cast<event*>(mapped);
    my_piece.end = my_piece.next + piece_bytes / sizeof(event);
    return true;
}

int open_for_writing(const std::string& name) {
    const int result = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (result < 0) {
        throw error(error_code::invalid_argument,
                    fmt::format("a trace was to be written to {}: {}", name, std::strerror(errno)));
    }
    return result;
}

}  // namespace

std::string open_file(const std::string& name) {
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    if (is_file_open()) throw error(error_code::invalid_argument, "a trace is being written: stop_trace() ends it");
    std::string used = name;
    int made = open_for_writing(used);
    if (::flock(made, LOCK_EX | LOCK_NB) != 0) {  // another process has it, and this one may be its child
        ::close(made);
        used = fmt::format("{}.{}", name, ::getpid());
        made = open_for_writing(used);
        ::flock(made, LOCK_EX | LOCK_NB);
    }
    if (::ftruncate(made, 0) != 0) {
        const int why = errno;
        ::close(made);
        throw error(error_code::invalid_argument,
                    fmt::format("a trace was to be written to {}: {}", used, std::strerror(why)));
    }
    next_piece.store(0, std::memory_order_relaxed);
    forks_when_opened.store(process::forks(), std::memory_order_relaxed);
    opened.fetch_add(1, std::memory_order_relaxed);
    file.store(made, std::memory_order_release);
    write_text(named::file, 0, magic);
    return used;
}

void close_file() noexcept {
    const int was = file.exchange(closed);
    if (was == closed) return;
    ::close(was);  // pieces stay mapped where threads are writing to them
}

bool is_file_open() noexcept {
    return file.load(std::memory_order_acquire) != closed &&
           forks_when_opened.load(std::memory_order_relaxed) == process::fork_count.load(std::memory_order_relaxed);
}

std::uint64_t number_of_file() noexcept { return opened.load(std::memory_order_relaxed); }

void append(const event& made) noexcept {
    if (!is_file_open()) return;
    if ((my_piece.next == my_piece.end || my_piece.of != opened.load(std::memory_order_relaxed)) && !take_piece())
        return;
    *my_piece.next++ = made;
}

void write_text(named what, std::uint64_t key, std::string_view text) noexcept {
    std::uint8_t number = 0;
    do {
        event part{.time = now(), .kind = event_kind::text, .from = static_cast<std::uint8_t>(what), .buffer = key};
        part.to = number++;
        part.process = static_cast<std::uint32_t>(::getpid());
        auto bytes = std::bit_cast<std::array<char, sizeof(event)>>(part);
        const std::string_view now = text.substr(0, text_bytes);
        std::ranges::copy(now, bytes.begin() + offsetof(event, begin));
        text.remove_prefix(now.size());
        append(std::bit_cast<event>(bytes));
    } while (!text.empty());
}

}  // namespace unibuf::trace
