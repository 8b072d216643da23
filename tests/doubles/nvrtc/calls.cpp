// tests/doubles/nvrtc/calls.cpp: the functions of NVRTC that the double has, as <nvrtc.h> declares them.
#include <cstddef>
#include <cstring>
#include <exception>
#include <iterator>
#include <regex>
#include <string>

#include "doubles/nvrtc/compiler.hpp"

#define NVRTC_DOUBLE_CALL extern "C" __attribute__((visibility("default")))

struct nvrtc_program {
    std::string source;
    std::string name;
    std::string log;
    std::string image;
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
    static const std::regex known("--gpu-architecture=compute_[1-9][0-9]+");
    for (int i = 0; i < count; ++i) {
        if (std::regex_match(options[i], known)) continue;
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
    return of && !of->image.empty() ? size_of(of->image, bytes) : invalid_program;
}

NVRTC_DOUBLE_CALL result nvrtcGetPTX(program of, char* ptx) {
    return of && !of->image.empty() ? copy(of->image, ptx) : invalid_program;
}
