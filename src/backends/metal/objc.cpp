// backends/metal/objc.cpp: loads the Objective-C runtime and Metal.
#include "backends/metal/objc.hpp"

#include <fmt/format.h>

#include "process/forks.hpp"
#include "system/loader.hpp"

namespace unibuf::backends::metal {
namespace {

struct loaded {
    functions table{};
    int born = process::forks();
    std::string missing;
};

loaded load() {
    loaded result;
#ifdef __APPLE__
    const system::library runtime({"/usr/lib/libobjc.A.dylib"});
    const system::library metal({"/System/Library/Frameworks/Metal.framework/Metal"});
    const char* const where = "in this macOS";
#else
    // No system but Apple's has them. What stands in for both on another has this name.
    const system::library metal({"libMetal.so"});
    const system::library& runtime = metal;
    const char* const where = "here: it is a part of macOS";
#endif
    if (!runtime || !metal) {
        result.missing = fmt::format("there is no Metal {} ({})", where, (runtime ? metal : runtime).why());
        return result;
    }
    const auto find = [&](const system::library& in, const char* name, auto*& function) {
        if (!in.find(name, function) && result.missing.empty()) result.missing = fmt::format("Metal has no {}", name);
    };
#define UNIBUF_FIND(in, name) find(in, #name, result.table.name)
    UNIBUF_FIND(runtime, objc_getClass);
    UNIBUF_FIND(runtime, sel_registerName);
    UNIBUF_FIND(runtime, objc_msgSend);
    UNIBUF_FIND(runtime, objc_autoreleasePoolPush);
    UNIBUF_FIND(runtime, objc_autoreleasePoolPop);
    UNIBUF_FIND(runtime, objc_retain);
    UNIBUF_FIND(runtime, objc_release);
    UNIBUF_FIND(metal, MTLCopyAllDevices);
#undef UNIBUF_FIND
    return result;
}

// These are never destroyed: buffers, which call them, may go when static objects do.
const loaded& loaded_once() {
    static const loaded& once = *new loaded(load());
    return once;
}

}  // namespace

const std::string& missing() { return loaded_once().missing; }

bool usable() noexcept { return loaded_once().born == process::forks(); }

const functions& api() {
    if (!usable()) throw error(error_code::device_lost, "Metal was loaded by the parent process, and is not shared");
    if (!missing().empty()) throw error(error_code::device_unavailable, missing());
    return loaded_once().table;
}

std::string text_of(id string) {
    const char* const text = send<"UTF8String", const char*()>(string);
    return text ? text : "";
}

id string_of(const std::string& text) {
    return send<"stringWithUTF8String:", id(const char*)>(api().objc_getClass("NSString"), text.c_str());
}

std::string description_of(id error, const char* otherwise) {
    return error ? text_of(send<"localizedDescription", id()>(error)) : otherwise;
}

}  // namespace unibuf::backends::metal
