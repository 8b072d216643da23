// conv2d/metal_api.cpp
#include "metal_api.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace conv2d::mtl {
namespace {

functions load() {
#ifdef __APPLE__
    const char* const name = "/usr/lib/libobjc.A.dylib";
#else
    const char* const name = "libMetal.so";  // what stands in for it where there is no macOS
#endif
    void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    functions found{};
    const auto look = [&](const char* symbol, auto& function) {
        void* const address = library ? ::dlsym(library, symbol) : nullptr;
        if (!address) throw std::runtime_error(std::string(name) + " has no " + symbol);
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    look("objc_getClass", found.objc_getClass);
    look("sel_registerName", found.sel_registerName);
    look("objc_msgSend", found.objc_msgSend);
    look("objc_autoreleasePoolPush", found.objc_autoreleasePoolPush);
    look("objc_autoreleasePoolPop", found.objc_autoreleasePoolPop);
    look("objc_release", found.objc_release);
    return found;
}

object string_of(const char* text) {
    return method<object(const char*)>::send(api().objc_getClass("NSString"), "stringWithUTF8String:", text);
}

void check(object result, object error, const char* what) {
    if (result) return;
    const object words = method<object()>::send(error, "localizedDescription");
    const char* const text = method<const char*()>::send(words, "UTF8String");
    throw std::runtime_error(std::string(what) + (text ? std::string(": ") + text : " failed"));
}

}  // namespace

const functions& api() {
    static const functions once = load();
    return once;
}

made::made(object made_object, const char* what) : object_(made_object) {
    if (!object_) throw std::runtime_error(std::string("Metal makes no ") + what);
}

object new_pipeline(object device, const std::string& source, const char* name) {
    const pool drained;
    object error = nullptr;
    const object compiled = method<object(object, object, object*)>::send(
        device, "newLibraryWithSource:options:error:", string_of(source.c_str()), nullptr, &error);
    check(compiled, error, "compiling for Metal");
    const made library(compiled, "library");
    const made function(method<object(object)>::send(library.native(), "newFunctionWithName:", string_of(name)),
                        "function");
    const object result = method<object(object, object*)>::send(
        device, "newComputePipelineStateWithFunction:error:", function.native(), &error);
    check(result, error, "making a pipeline");
    return result;
}

}  // namespace conv2d::mtl
