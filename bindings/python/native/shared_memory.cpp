// shared_memory.cpp
#include "shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unibuf/error.hpp>

namespace unibuf::python {

namespace {

constexpr std::size_t page = 4096;
constexpr std::uint64_t magic = 0x31667562696e75;  // "unibuf1"

[[noreturn]] void fail(const std::string& what) {
    const bool no_room = errno == ENOMEM || errno == ENOSPC || errno == EMFILE || errno == ENFILE;
    throw error(no_room ? error_code::out_of_memory : error_code::unsupported, what + ": " + std::strerror(errno));
}

/// When a process began, in ticks of the system; 0 where there is none.
std::uint64_t begin_of(std::uint32_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) return 0;
    std::istringstream fields(text.substr(end_of_name + 2));
    std::string state;
    fields >> state;
    if (state == "Z" || state == "X") return 0;
    constexpr int between = 18;  // the state is field 3 of proc_pid_stat(5), the begin field 22
    std::string skipped;
    for (int i = 0; i < between; ++i) fields >> skipped;
    std::uint64_t begin = 0;
    fields >> begin;
    return begin;
}

/// A process, never to be taken for a later one of the same number.
std::uint64_t identity_of(std::uint32_t process) { return begin_of(process) << 32 | process; }
std::uint32_t number_of(std::uint64_t identity) { return static_cast<std::uint32_t>(identity); }
std::uint64_t this_process() {
    static std::atomic<std::uint64_t> known;  // another one after a fork
    const auto number = static_cast<std::uint32_t>(::getpid());
    if (number_of(known) != number) known = identity_of(number);
    return known;
}

constexpr const char* format = "unibuf:%d:%d:%llu";

}  // namespace

struct shared_memory::header {
    std::uint64_t magic;
    std::uint64_t bytes;
    std::atomic<std::uint64_t> newest_at;  // a process, or 0
    std::atomic<std::uint64_t> attached;   // how often anybody did
    std::uint64_t described;               // bytes of the description
    char description[page - 40];
};

std::shared_ptr<shared_memory> shared_memory::create(std::size_t bytes, std::string_view description) {
    static_assert(sizeof(header) == page && std::atomic<std::uint64_t>::is_always_lock_free);
    if (description.size() > sizeof(header::description)) {
        throw error(error_code::unsupported, "the element type and shape take more than a page to describe");
    }
    const int file = ::memfd_create("unibuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) fail("memory that processes share cannot be had");
    const bool sized = ::ftruncate(file, static_cast<off_t>(page + bytes)) == 0 &&
                       ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
    if (!sized) {
        ::close(file);
        fail(std::to_string(bytes) + " bytes that processes share cannot be had");
    }
    std::shared_ptr<shared_memory> made(new shared_memory(file, page + bytes));
    made->head_->bytes = bytes;
    made->head_->described = description.size();
    std::memcpy(made->head_->description, description.data(), description.size());
    made->head_->magic = magic;
    return made;
}

std::shared_ptr<shared_memory> shared_memory::attach(const std::string& name) {
    const auto refuse = [&](const char* why) {
        throw error(error_code::invalid_argument, "'" + name + "' was to be attached, but " + why);
    };
    int process = 0;
    int number = 0;
    unsigned long long inode = 0;
    if (std::sscanf(name.c_str(), format, &process, &number, &inode) != 3) {
        refuse("is no name that share() gives");
    }
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) refuse("the process that gave it has ended, has dropped the buffer, or is not this user's");
    struct stat about{};
    const bool same = ::fstat(file, &about) == 0 && about.st_ino == inode && about.st_size >= static_cast<off_t>(page);
    if (!same || (::fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
        ::close(file);
        refuse("its buffer has gone");
    }
    std::shared_ptr<shared_memory> made(new shared_memory(file, static_cast<std::size_t>(about.st_size)));
    if (made->head_->magic != magic || made->head_->bytes + page != made->mapped_) refuse("it is of another version");
    return made;
}

shared_memory::shared_memory(int file, std::size_t bytes) : file_(file), mapped_(bytes), head_(nullptr) {
    void* const address = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (address == MAP_FAILED) {
        ::close(file_);
        fail(std::to_string(bytes) + " bytes that processes share cannot be mapped");
    }
    head_ = static_cast<header*>(address);
}

shared_memory::~shared_memory() {
    settle();
    ::munmap(head_, mapped_);
    ::close(file_);
}

std::string shared_memory::name() const {
    struct stat about{};
    if (::fstat(file_, &about) != 0) fail("shared memory is lost");
    char text[64];
    std::snprintf(text, sizeof text, format, static_cast<int>(::getpid()), file_,
                  static_cast<unsigned long long>(about.st_ino));
    return text;
}

std::string shared_memory::registered_name() const {
    const std::string known = name();
    return "memory that processes share " + known.substr(known.rfind(':') + 1);
}

void shared_memory::count_attached() noexcept { ++head_->attached; }

std::string shared_memory::description() const { return {head_->description, head_->described}; }
std::span<std::byte> shared_memory::bytes() const noexcept {
    return {reinterpret_cast<std::byte*>(head_) + page, head_->bytes};
}

bool shared_memory::has_others() const noexcept { return head_->attached.load() != 0; }

bool shared_memory::is_newer_elsewhere() const noexcept {
    const std::uint64_t holder = head_->newest_at.load();
    return holder != 0 && holder != this_process();
}

bool shared_memory::is_newest_here() const noexcept { return head_->newest_at.load() == this_process(); }

void shared_memory::refuse(std::uint64_t holder) const {
    const std::string process = "process " + std::to_string(number_of(holder));
    if (identity_of(number_of(holder)) == holder) {
        throw error(error_code::access_conflict,
                    process +
                        " holds newer content of this shared buffer on a device of its own: let it call "
                        "sync_to_host, or say by mark_host_dirty that what is at the host stands");
    }
    throw error(error_code::transfer_failed,
                process +
                    " has ended with newer content of this shared buffer on a device of its own, which is lost: "
                    "mark_host_dirty says that what is at the host stands");
}

void shared_memory::check_not_newer_elsewhere() const {
    const std::uint64_t holder = head_->newest_at.load();
    if (holder != 0 && holder != this_process()) refuse(holder);
}

void shared_memory::claim() {
    const std::uint64_t mine = this_process();
    std::uint64_t holder = 0;
    if (!head_->newest_at.compare_exchange_strong(holder, mine) && holder != mine) refuse(holder);
}

void shared_memory::settle() noexcept {
    std::uint64_t mine = this_process();
    head_->newest_at.compare_exchange_strong(mine, 0);
}

void shared_memory::settle_for_all() noexcept { head_->newest_at.store(0); }

}  // namespace unibuf::python
