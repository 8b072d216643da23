// tests/fuzz/fuzz_trace.cpp: any bytes as a trace, for every command of the tool that reads one.
//
// The commands run in this process, and what they print goes nowhere. A process would have to be started for lines of
// programs, so what such a process may say is made of the bytes, too.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "addr2line.hpp"
#include "tool.hpp"
#include "unibuf/trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::string said;  // by the reader of programs

/// A folder for what is written, gone when the process ends.
class scratch {
public:
    scratch() {
        // In memory, where there is such a folder: SQLite waits for disks.
        const std::filesystem::path memory = "/dev/shm";
        std::error_code ignored;
        const bool is_there = std::filesystem::is_directory(memory, ignored);
        std::string name = (is_there ? memory : std::filesystem::temp_directory_path()) / "unibuf-fuzz-XXXXXX";
        if (!::mkdtemp(name.data())) std::abort();
        folder_ = name;
        ::setenv("OCL_ICD_VENDORS", "/nonexistent", 1);  // no driver is of interest
        ::setenv("__EGL_VENDOR_LIBRARY_DIRS", "/nonexistent", 1);
    }
    ~scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    std::string file(const char* name) const { return folder_ / name; }

private:
    std::filesystem::path folder_;
};

/// What the tool prints goes nowhere while this lives. What sanitizers and libFuzzer say goes past these streams.
class silence {
public:
    silence() {
        static std::FILE* const nowhere = std::fopen("/dev/null", "w");
        if (!nowhere) std::abort();
        stdout = stderr = nowhere;
    }
    ~silence() {
        stdout = out_;
        stderr = err_;
    }
    silence(const silence&) = delete;
    silence& operator=(const silence&) = delete;

private:
    std::FILE* const out_ = stdout;
    std::FILE* const err_ = stderr;
};

/// Runs the tool as a program, and returns its status.
int status_of(std::vector<const char*> arguments) {
    const silence here;
    arguments.insert(arguments.begin(), "unibuf");
    arguments.push_back(nullptr);
    return unibuf_cli::run_tool(static_cast<int>(arguments.size()) - 1, arguments.data());
}

/// Rectangles of many rows cost what they cost, which is known: here they have few.
std::vector<std::uint8_t> with_few_rows(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint8_t> result(data, data + size);
    for (std::size_t at = 0; at + sizeof(unibuf::event) <= size; at += sizeof(unibuf::event)) {
        std::array<std::uint32_t, 2> counts{};
        std::uint8_t* const place = result.data() + at + offsetof(unibuf::event, counts);
        std::memcpy(counts.data(), place, sizeof counts);
        for (std::uint32_t& each : counts) each %= 33;
        if (result[at + offsetof(unibuf::event, kind)] != static_cast<std::uint8_t>(unibuf::event_kind::text)) {
            std::memcpy(place, counts.data(), sizeof counts);
        }
    }
    return result;
}

}  // namespace

bool unibuf_cli::is_other_than_a_program(const std::string& name) { return name.size() % 2 == 1; }

std::string unibuf_cli::told_by(const char*, const std::string&, const std::string&,
                                std::chrono::steady_clock::time_point) {
    return said;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const scratch folder;
    static const std::string trace = folder.file("trace");
    static const std::string timeline = folder.file("all.json"), database = folder.file("all.sqlite"),
                             page = folder.file("page.html");
    static const std::vector<std::vector<const char*>> commands = {
        {"report", trace.c_str()},
        {"report", trace.c_str(), "--json", "--most", "3"},
        {"report", trace.c_str(), "-o", page.c_str()},
        {"why", trace.c_str(), "1"},
        {"check", trace.c_str(), "--max", "host:*=1", "--max", "*:host=1GB"},
        {"doctor", trace.c_str()},
        {"doctor", trace.c_str(), "--json"},
        {"export", trace.c_str(), "-o", timeline.c_str()},
        {"export", trace.c_str(), "-o", database.c_str()},
    };
    const std::vector<std::uint8_t> bytes = with_few_rows(data, size);
    const std::size_t tail = size % sizeof(unibuf::event);
    said.assign(reinterpret_cast<const char*>(bytes.data()) + size - tail, tail);
    std::FILE* const out = std::fopen(trace.c_str(), "wb");
    if (!out || std::fwrite(bytes.data(), 1, size, out) != size || std::fclose(out) != 0) std::abort();
    for (const std::vector<const char*>& each : commands) {
        const int status = status_of(each);
        if (status == 0 || status == 1 || status == 3) continue;
        std::fprintf(stderr, "unibuf %s: status %d\n", each[0], status);
        std::abort();
    }
    return 0;
}
