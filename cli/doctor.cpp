// cli/doctor.cpp: `unibuf doctor` says what a program could do better.
#include "doctor.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>

#include "lines.hpp"
#include "output.hpp"
#include "summary.hpp"
#include "unibuf/accelerator.hpp"
#include "unibuf/trace.hpp"

// No header of macOS has it.
extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace unibuf_cli {
namespace {

namespace fs = std::filesystem;
using unibuf::trace_file;

constexpr int found_something = 3;

constexpr const char* limit_of_signal =
    "writes are found by a handler of SIGSEGV, as UNIBUF_TRACKING is signal: where host pointers are out, read(2) and "
    "other system calls cannot write. Take a lease for writing at the host, or an io_view, of what they are to write";

/// What was found in the traces of all processes of a program.
struct diagnosis {
    std::uint64_t moved = 0;
    std::uint64_t least = 0;
    std::string untracked;  // unibuf::trace_file::untracked
    std::string limit;      // what the way by which writes were found keeps a program from; empty where that is nothing
    std::vector<named_finding> findings;
    std::pair<std::string, counted> largest;  // the line that most was moved for

    /// Adds what is in a trace, of one process or of several.
    void add(const trace_file& of, bool several) {
        const unibuf::traffic sum = unibuf::traffic_of(of.events);
        moved += sum.moved;
        least += sum.least;
        if (untracked.empty()) untracked = of.untracked;
        const std::vector<std::pair<std::string, counted>> lines = summary(of).sites;
        if (!lines.empty() && lines.front().second.bytes > largest.second.bytes) largest = lines.front();
        for (named_finding& each : findings_of(of)) {
            if (several) each.of_buffer += fmt::format(" of process {}", of.events.front().process);
            findings.push_back(std::move(each));
        }
        std::ranges::sort(findings, std::ranges::greater{}, [](const named_finding& each) {
            return std::tuple(each.kind == unibuf::fault::untracked_writes, each.took, each.bytes, each.kind,
                              each.line);
        });
    }
};

void print_text(const diagnosis& of) {
    fmt::print("moved {}, least needed {}\n", readable_bytes(of.moved), readable_bytes(of.least));
    if (!of.untracked.empty()) fmt::print("writes through pointers were not found: {}\n", one_line(of.untracked));
    if (!of.limit.empty()) fmt::print("{}\n", of.limit);
    // Accesses are taken at their word: nobody sees which elements of a lease a program reads.
    if (of.largest.second.bytes != 0) {
        fmt::print("most was moved for {}: {} in {} transfers. Is all of it used there?\n", one_line(of.largest.first),
                   readable_bytes(of.largest.second.bytes), of.largest.second.transfers);
    }
    if (of.findings.empty()) fmt::print("nothing to change was found\n");
    std::size_t number = 0;
    for (const named_finding& each : of.findings) {
        fmt::print("\n{}. {}: {:.6f} s, {}\n   in      {}\n   seen    {} ({})\n   change  {}\n", ++number,
                   to_string(each.kind), static_cast<double>(each.took) / 1e9, readable_bytes(each.bytes),
                   one_line(each.line), one_line(each.evidence), one_line(each.of_buffer), one_line(each.change));
    }
}

/// Says on stderr where lines are missing, and why.
void tell_of_missing_lines(const diagnosis& of) {
    const auto has_no_line = [](const named_finding& each) {
        return each.line.find("+0x") != std::string::npos && each.line.find(": ") == std::string::npos;
    };
    if (std::ranges::none_of(of.findings, has_no_line)) return;
    fmt::print(stderr, "unibuf: lines need debugging information (-g), and addr2line of binutils or LLVM\n");
}

void print_json(const diagnosis& of) {
    nlohmann::ordered_json result{{"moved", of.moved}, {"least", of.least}};
    if (!of.untracked.empty()) result["untracked"] = of.untracked;
    if (!of.limit.empty()) result["limit"] = of.limit;
    if (of.largest.second.bytes != 0) {
        result["most_moved"] = {
            {"line", of.largest.first}, {"bytes", of.largest.second.bytes}, {"transfers", of.largest.second.transfers}};
    }
    result["findings"] = nlohmann::ordered_json::array();
    for (const named_finding& each : of.findings) {
        result["findings"].push_back(to_json(each));
    }
    fmt::print("{}\n", text_of(result));
}

/// A folder for the traces of a program, gone with this object.
class trace_folder {
public:
    trace_folder() {
        std::string name = (fs::temp_directory_path() / "unibuf-doctor-XXXXXX").string();
        if (!::mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
        folder_ = name;
    }
    ~trace_folder() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    trace_folder(const trace_folder&) = delete;
    trace_folder& operator=(const trace_folder&) = delete;

    /// The name of the traces, for the environment: each process has its own.
    std::string pattern() const { return folder_ / "%p.trace"; }

    std::vector<fs::path> all() const {
        std::vector<fs::path> result(fs::directory_iterator(folder_), fs::directory_iterator{});
        std::ranges::sort(result);
        return result;
    }

private:
    fs::path folder_;
};

volatile pid_t running = 0;  // the program

/// Runs a program that writes close traces. Returns its exit status; 128 and the number of the signal that has ended
/// it.
int run(std::vector<std::string> program, const std::string& trace, bool prints_to_stderr) {
    std::vector<std::string> environment{"UNIBUF_TRACE=" + trace, "UNIBUF_TRACE_CLOSE=1"};
    for (char** each = ::environ; *each; ++each) {
        if (!std::string_view(*each).starts_with("UNIBUF_TRACE")) environment.emplace_back(*each);
    }
    const auto pointers = [](std::vector<std::string>& of) {
        std::vector<char*> result;
        std::ranges::transform(of, std::back_inserter(result), [](std::string& each) { return each.data(); });
        result.push_back(nullptr);
        return result;
    };
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    if (prints_to_stderr) ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, program.front().c_str(), &actions, nullptr, pointers(program).data(),
                                      pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), program.front());
    // Ctrl-C is for the program, and so is SIGTERM; what it has done until then is told.
    running = child;
    const auto interrupted = std::signal(SIGINT, SIG_IGN);
    const auto terminated = std::signal(SIGTERM, [](int signal) { ::kill(running, signal); });
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    std::signal(SIGINT, interrupted);
    std::signal(SIGTERM, terminated);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

void add_doctor(CLI::App& app, const std::vector<std::string>& program) {
    CLI::App* const command = app.add_subcommand(
        "doctor",
        "What a program could do better, and where: doctor FILE, or doctor -- PROGRAM [ARGUMENT...]. The exit "
        "status is 3 where there is anything");
    const auto file = std::make_shared<std::string>();
    CLI::Option* const named =
        command->add_option("file", *file, "A trace: UNIBUF_TRACE=file UNIBUF_TRACE_CLOSE=1 writes one");
    const auto as_json = std::make_shared<bool>(false);
    command
        ->add_flag("--json", *as_json, "For programs: an object. What PROGRAM prints goes to the standard error stream")
        ->disable_flag_override();
    command->final_callback([=] {
        if (named->empty() == program.empty()) {
            throw CLI::ValidationError("doctor", "either FILE, or -- and a program to run, is needed");
        }
        diagnosis found;
        int status = 0;
        if (program.empty()) {
            found.add(trace_with_lines(*file), false);
        } else {
            const trace_folder traces;
            status = run(program, traces.pattern(), *as_json);
            if (traces.all().empty()) fmt::print(stderr, "unibuf: {} has not used unibuf\n", program.front());
            const std::vector<fs::path> all = traces.all();
            for (const fs::path& each : all) found.add(trace_with_lines(each.string()), all.size() > 1);
            const std::string host = unibuf::get_accelerator(unibuf::host).properties().description;
            if (host.find("found by a handler of SIGSEGV") != std::string::npos) found.limit = limit_of_signal;
        }
        *as_json ? print_json(found) : print_text(found);
        tell_of_missing_lines(found);
        if (status == 0 && !found.findings.empty()) status = found_something;
        if (status != 0) throw CLI::RuntimeError(status);
    });
}

}  // namespace unibuf_cli
