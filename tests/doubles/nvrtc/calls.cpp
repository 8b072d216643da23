// tests/doubles/nvrtc/calls.cpp: the functions of NVRTC that the double has, as <nvrtc.h> declares them.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <regex>
#include <string>

#include "doubles/nvrtc/compiler.hpp"
#include "doubles/nvrtc/kernel.hpp"

#define NVRTC_DOUBLE_CALL extern "C" __attribute__((visibility("default")))

struct nvrtc_program {
    std::string source;
    std::string name;
    std::string log;
    std::string image;
    bool for_one_card = false;
};

namespace {

using program = nvrtc_program*;
using result = int;

// nvrtcResult.
constexpr result success = 0;
constexpr result invalid_input = 3;
constexpr result invalid_program = 4;
constexpr result invalid_option = 5;
constexpr result compilation = 6;
constexpr result internal_error = 11;

// The architectures that the double knows, in order.
constexpr int architectures[] = {80, 90};

/// Returns the version that the double stands for, as CUDA counts.
int version() {
    const char* const chosen = std::getenv("UNIBUF_NVRTC_DOUBLE_VERSION");
    return chosen && *chosen ? std::atoi(chosen) : 13000;
}

std::string ptx_of(const nvrtc_program& of) {
    char line[40];
    std::snprintf(line, sizeof line, nvrtc_double::ptx_line, version());
    return line + of.image;
}

/// Tells the size of what is copied out, with the zero at its end.
result size_of(const std::string& text, std::size_t* bytes) {
    if (!bytes) return invalid_input;
    *bytes = text.size() + 1;
    return success;
}

result copy(const std::string& text, char* to) {
    if (!to) return invalid_input;
    std::memcpy(to, text.c_str(), text.size() + 1);
    return success;
}

}  // namespace

NVRTC_DOUBLE_CALL const char* nvrtcGetErrorString(result status) {
    static constexpr const char* names[] = {"NVRTC_SUCCESS",
                                            "NVRTC_ERROR_OUT_OF_MEMORY",
                                            "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                            "NVRTC_ERROR_INVALID_INPUT",
                                            "NVRTC_ERROR_INVALID_PROGRAM",
                                            "NVRTC_ERROR_INVALID_OPTION",
                                            "NVRTC_ERROR_COMPILATION"};
    if (status == internal_error) return "NVRTC_ERROR_INTERNAL_ERROR";
    return status >= 0 && status < std::ssize(names) ? names[status] : "NVRTC_ERROR unknown";
}

/// Kernels that include headers of their own are not for the double.
NVRTC_DOUBLE_CALL result nvrtcCreateProgram(program* made, const char* source, const char* name, int headers,
                                            const char* const*, const char* const*) {
    if (!made || !source || headers != 0) return invalid_input;
    *made = new nvrtc_program{.source = source, .name = name ? name : "default_program", .log = {}, .image = {}};
    return success;
}

NVRTC_DOUBLE_CALL result nvrtcDestroyProgram(program* gone) {
    if (!gone || !*gone) return invalid_program;
    delete *gone;
    *gone = nullptr;
    return success;
}

NVRTC_DOUBLE_CALL result nvrtcCompileProgram(program of, int count, const char* const* options) try {
    if (!of) return invalid_program;
    static const std::regex known("--gpu-architecture=(compute|sm)_([1-9][0-9]+)");
    for (int i = 0; i < count; ++i) {
        std::cmatch found;
        const bool is_architecture = std::regex_match(options[i], found, known) &&
                                     std::ranges::find(architectures, std::stoi(found[2])) != std::end(architectures);
        of->for_one_card = is_architecture && found[1] == "sm";
        if (is_architecture) continue;
        of->log = std::string("unknown option ") + options[i] + "\n";
        return invalid_option;
    }
    nvrtc_double::compiled_source got = nvrtc_double::compile(of->source, of->name);
    of->log = std::move(got.log);
    of->image = std::move(got.image);
    return got.done ? success : compilation;
} catch (const std::exception& failure) {
    of->log = failure.what();
    return internal_error;
}

NVRTC_DOUBLE_CALL result nvrtcGetProgramLogSize(program of, std::size_t* bytes) {
    return of ? size_of(of->log, bytes) : invalid_program;
}

NVRTC_DOUBLE_CALL result nvrtcGetProgramLog(program of, char* log) { return of ? copy(of->log, log) : invalid_program; }

NVRTC_DOUBLE_CALL result nvrtcGetPTXSize(program of, std::size_t* bytes) {
    return of && !of->image.empty() ? size_of(ptx_of(*of), bytes) : invalid_program;
}

NVRTC_DOUBLE_CALL result nvrtcGetPTX(program of, char* ptx) {
    return of && !of->image.empty() ? copy(ptx_of(*of), ptx) : invalid_program;
}

NVRTC_DOUBLE_CALL result nvrtcGetCUBINSize(program of, std::size_t* bytes) {
    if (!of || of->image.empty()) return invalid_program;
    if (!bytes) return invalid_input;
    *bytes = of->for_one_card ? of->image.size() : 0;
    return success;
}

NVRTC_DOUBLE_CALL result nvrtcGetCUBIN(program of, char* cubin) {
    if (!of || of->image.empty() || !of->for_one_card) return invalid_program;
    if (!cubin) return invalid_input;
    std::memcpy(cubin, of->image.data(), of->image.size());
    return success;
}

NVRTC_DOUBLE_CALL result nvrtcGetNumSupportedArchs(int* count) {
    if (!count) return invalid_input;
    *count = static_cast<int>(std::size(architectures));
    return success;
}

NVRTC_DOUBLE_CALL result nvrtcGetSupportedArchs(int* all) {
    if (!all) return invalid_input;
    std::ranges::copy(architectures, all);
    return success;
}
