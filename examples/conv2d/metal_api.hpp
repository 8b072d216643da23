// conv2d/metal_api.hpp: the part of Metal that the example calls, by plain messages, found at run time, so that it
// builds on any system. A program that is for macOS alone uses Objective-C++ or Apple's metal-cpp in this one's place.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

struct objc_selector;

namespace conv2d::mtl {

/// This is an `id`.
using object = void*;

/// This is an MTLSize.
struct size {
    unsigned long width;
    unsigned long height;
    unsigned long depth;
};

struct functions {
    object (*objc_getClass)(const char*);
    objc_selector* (*sel_registerName)(const char*);
    void (*objc_msgSend)();
    void* (*objc_autoreleasePoolPush)();
    void (*objc_autoreleasePoolPop)(void*);
    void (*objc_release)(object);
};

/// Returns the functions of the Objective-C runtime. Throws std::runtime_error where there is none.
const functions& api();

template <class Signature>
struct method;

/// Sends the message `name` as the method is declared: method<void(object)>::send(to, "setComputePipelineState:", p).
template <class Result, class... Arguments>
struct method<Result(Arguments...)> {
    static Result send(object to, const char* name, Arguments... arguments) {
        using function = Result(object, objc_selector*, Arguments...);
        return reinterpret_cast<function*>(api().objc_msgSend)(to, api().sel_registerName(name), arguments...);
    }
};

/// Objects that methods return without "new" in their names go when this goes.
class pool {
public:
    pool() : pushed_(api().objc_autoreleasePoolPush()) {}
    ~pool() { api().objc_autoreleasePoolPop(pushed_); }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

private:
    void* pushed_;
};

/// An object that a method with "new" in its name has made. Throws std::runtime_error where it has made none.
class made {
public:
    made(object made_object, const char* what);
    ~made() {
        const pool drained;
        api().objc_release(object_);
    }
    made(const made&) = delete;
    made& operator=(const made&) = delete;

    object native() const noexcept { return object_; }

private:
    object object_;
};

/// Compiles a kernel of that name. Throws std::runtime_error, with the compiler's words.
object new_pipeline(object device, const std::string& source, const char* name);

}  // namespace conv2d::mtl
