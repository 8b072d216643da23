// process/shared_memory.cpp: memory that processes of one machine share, and the name by which one gives it to others.
#include "process/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "system/files.hpp"
#include "unibuf/error.hpp"

namespace unibuf::process {

namespace {

constexpr std::size_t page = 4096;
constexpr std::uint64_t magic = 0x32667562696e75;  // "unibuf2"

[[noreturn]] void fail(const std::string& what) {
    const int why = errno;
    const bool no_room = why == ENOMEM || why == ENOSPC || why == EMFILE || why == ENFILE;
    throw error(no_room ? error_code::out_of_memory : error_code::unsupported, what + ": " + std::strerror(why));
}

[[noreturn]] void refuse(std::string_view name, const char* why) {
    throw error(error_code::invalid_argument, fmt::format("'{}' was to be attached, but {}", name, why));
}

struct parts_of_name {
    int process = 0;
    int file = 0;
    std::uint64_t inode = 0;
};

/// Returns the parts of "unibuf:PROCESS:FILE:INODE".
std::optional<parts_of_name> parts_of(std::string_view name) {
    constexpr std::string_view begin = "unibuf:";
    if (!name.starts_with(begin)) return std::nullopt;
    const char* next = name.data() + begin.size();
    const char* const end = name.data() + name.size();
    const auto read = [&](auto& number, bool last) {
        const auto [stop, failure] = std::from_chars(next, end, number);
        next = stop;
        if (failure != std::errc() || number < 0) return false;
        if (last) return next == end;
        const bool goes_on = next != end && *next == ':';
        if (goes_on) ++next;
        return goes_on;
    };
    parts_of_name result;
    std::int64_t inode = 0;
    if (!read(result.process, false) || !read(result.file, false) || !read(inode, true)) return std::nullopt;
    result.inode = static_cast<std::uint64_t>(inode);
    return result;
}

}  // namespace

struct shared_memory::header {
    std::atomic<std::uint64_t> magic;  // atomic as the others are, because their writers are not trusted
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::uint64_t> newest_at;  // identity of a process, or 0
    std::atomic<std::uint64_t> attached;   // how often anybody attached
    std::atomic<std::uint64_t> described;  // size of the description in bytes
    std::array<char, page - 5 * sizeof(std::uint64_t)> description;
};

std::shared_ptr<shared_memory> shared_memory::create(std::size_t bytes, std::size_t room,
                                                     std::string_view description) {
    static_assert(sizeof(header) == page && std::atomic<std::uint64_t>::is_always_lock_free);
    static_assert(most_described <= std::tuple_size_v<decltype(header::description)>);
    if (description.size() > most_described) {
        throw error(error_code::unsupported,
                    fmt::format("what is shared was described in {} bytes; there is room for {}", description.size(),
                                most_described));
    }
    room = std::max(bytes, room);
    if (room > static_cast<std::size_t>(std::numeric_limits<off_t>::max()) - page) {
        throw error(error_code::out_of_memory, fmt::format("{} bytes that processes share cannot be had", room));
    }
    system::descriptor file(system::make_shared(page + room));
    if (file.get() < 0) fail(fmt::format("{} bytes that processes share cannot be had", room));
    std::shared_ptr<shared_memory> made(new shared_memory(file.take(), page + room));
    made->bytes_ = bytes;
    made->description_ = description;
    made->head_->bytes = bytes;
    made->head_->described = description.size();
    std::ranges::copy(description, made->head_->description.begin());
    made->head_->magic = magic;
    return made;
}

std::shared_ptr<shared_memory> shared_memory::attach(std::string_view name) {
    const std::optional<parts_of_name> parts = parts_of(name);
    if (!parts) refuse(name, "is no name that sharing gives");
    system::descriptor file(system::open_shared(parts->process, parts->file));
    if (file.get() < 0)
        refuse(name, "the process that gave it has ended, has dropped the buffer, or is not this user's");
    // Another file could shrink at any time, so the size counts only after this was seen.
    const bool is_fixed = system::is_of_fixed_size(file.get());
    struct stat about{};
    const bool same = ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && about.st_ino == parts->inode;
    if (!same || !is_fixed) refuse(name, "its buffer has gone");
    if (about.st_size < static_cast<off_t>(page)) refuse(name, "it is no memory that was shared");
    std::shared_ptr<shared_memory> made(new shared_memory(file.take(), static_cast<std::size_t>(about.st_size)));
    const header& head = *made->head_;
    if (head.magic.load() != magic) refuse(name, "it is of another version");
    const std::uint64_t bytes = head.bytes.load();
    const std::uint64_t described = head.described.load();
    if (bytes > made->mapped_ - page || described > most_described) refuse(name, "its sizes contradict each other");
    made->bytes_ = bytes;
    made->description_.assign(head.description.data(), described);
    return made;
}

shared_memory::shared_memory(int file, std::size_t mapped) : file_(file), mapped_(mapped) {
    void* const address = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (address == MAP_FAILED) {
        const int why = errno;
        ::close(file_);
        errno = why;
        fail(fmt::format("{} bytes that processes share cannot be mapped", mapped_));
    }
    head_ = static_cast<header*>(address);
}

shared_memory::~shared_memory() {
    ::munmap(head_, mapped_);
    ::close(file_);
}

std::string shared_memory::name() const {
    struct stat about{};
    if (::fstat(file_, &about) != 0) fail("shared memory is lost");
    return fmt::format("unibuf:{}:{}:{}", ::getpid(), file_, about.st_ino);
}

std::string shared_memory::identity() const {
    struct stat about{};
    if (::fstat(file_, &about) != 0) fail("shared memory is lost");
    return fmt::format("{}:{}", about.st_dev, about.st_ino);
}

std::span<std::byte> shared_memory::bytes() const noexcept {
    return {reinterpret_cast<std::byte*>(head_) + page, bytes_};
}

std::atomic<std::uint64_t>& shared_memory::newest_at() const noexcept { return head_->newest_at; }
std::atomic<std::uint64_t>& shared_memory::attached() const noexcept { return head_->attached; }

}  // namespace unibuf::process
