// cli/addr2line.cpp: asks addr2line about a program that a trace names.
#include "addr2line.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "child.hpp"

// No header of macOS has it.
extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace unibuf_cli {
namespace {

using clock = std::chrono::steady_clock;

constexpr int program_of_child = 3;  // the descriptor by which addr2line has the program

/// A descriptor that is closed with this object, above those that a child gets.
class descriptor {
public:
    explicit descriptor(int opened) : is_(opened < 0 ? -1 : ::fcntl(opened, F_DUPFD_CLOEXEC, program_of_child + 1)) {
        if (opened >= 0) ::close(opened);
    }
    ~descriptor() { close(); }
    descriptor(descriptor&& other) noexcept : is_(std::exchange(other.is_, -1)) {}
    descriptor& operator=(descriptor&&) = delete;

    void close() noexcept {
        if (is_ >= 0) ::close(std::exchange(is_, -1));
    }
    int get() const noexcept { return is_; }
    explicit operator bool() const noexcept { return is_ >= 0; }

private:
    int is_;
};

/// Returns whether a file begins as programs and libraries do: ELF, or Mach-O for one processor or several.
bool begins_as_a_program(int file) {
    std::array<char, 4> read{};
    if (::pread(file, read.data(), read.size(), 0) != static_cast<ssize_t>(read.size())) return false;
    constexpr std::string_view known[] = {
        "\x7f"
        "ELF",
        "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"};
    return std::ranges::find(known, std::string_view(read.data(), read.size())) != std::end(known);
}

/// Opens a program. To open a device may do something, so none is opened; what has taken a file's place since is seen
/// afterwards.
descriptor open_program(const std::string& name) {
    struct stat is{};
    if (::stat(name.c_str(), &is) != 0 || !S_ISREG(is.st_mode)) return descriptor(-1);
    descriptor opened(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    const bool is_file = opened && ::fstat(opened.get(), &is) == 0 && S_ISREG(is.st_mode);
    return is_file && begins_as_a_program(opened.get()) ? std::move(opened) : descriptor(-1);
}

/// Returns a file without a name that holds a text, to be read from its beginning.
descriptor file_of(const std::string& text) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> made(std::tmpfile(), &std::fclose);
    if (!made) return descriptor(-1);
    const bool is_whole = std::fwrite(text.data(), 1, text.size(), made.get()) == text.size();
    if (!is_whole || std::fflush(made.get()) != 0) return descriptor(-1);
    descriptor result(::dup(::fileno(made.get())));
    if (result) ::lseek(result.get(), 0, SEEK_SET);
    return result;
}

/// Reads until the other end is closed, or until the deadline; then what was read is worth nothing.
std::string read_until(int from, clock::time_point deadline) {
    std::string result;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
        pollfd waited{.fd = from, .events = POLLIN, .revents = 0};
        const int ready = left <= 0 ? 0 : ::poll(&waited, 1, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return {};
        std::array<char, 65536> part;
        const ssize_t got = ::read(from, part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return {};
        if (got == 0) return result;
        result.append(part.data(), static_cast<std::size_t>(got));
    }
}

/// Starts a tool whose input, output and program are these. Returns 0 where that fails.
pid_t start(const char* tool, const descriptor& input, const descriptor& output, const descriptor& program) {
    std::string path = path_of_descriptor(program_of_child);
    std::string words[] = {tool, "-a", "-i", "-e"};
    std::vector<char*> arguments;
    for (std::string& each : words) arguments.push_back(each.data());
    arguments.insert(arguments.end(), {path.data(), nullptr});
    std::vector<char*> environment;
    for (char** each = ::environ; *each; ++each) {
        if (!std::string_view(*each).starts_with("DEBUGINFOD_URLS=")) environment.push_back(*each);
    }
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, program.get(), program_of_child);
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, tool, &actions, nullptr, arguments.data(), environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    return failed == 0 ? child : 0;
}

}  // namespace

bool is_other_than_a_program(const std::string& name) {
    struct stat is{};
    return ::stat(name.c_str(), &is) == 0 && !open_program(name);
}

std::string told_by(const char* tool, const std::string& program, const std::string& addresses,
                    clock::time_point deadline) {
    const descriptor opened = open_program(program);
    if (!opened) return {};
    const descriptor input = file_of(addresses);
    int ends[2] = {-1, -1};
    if (!input || ::pipe(ends) != 0) return {};
    const descriptor output(ends[0]);
    descriptor written(ends[1]);
    if (!output || !written) return {};
    const pid_t child = start(tool, input, written, opened);
    if (child == 0) return {};
    limit(child);
    written.close();
    std::string result = read_until(output.get(), deadline);
    // It has said all that it had to say, or is late.
    ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return result;
}

}  // namespace unibuf_cli
