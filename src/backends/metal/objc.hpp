// backends/metal/objc.hpp: messages to Objective-C objects, from C++; the runtime and Metal are found at run time.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "unibuf/error.hpp"

struct objc_selector;

namespace unibuf::backends::metal {

/// An object: `id<MTLDevice>`, `id<MTLBuffer>` and so on, as the runtime has them. A message to null does nothing.
using id = void*;
using selector = objc_selector*;

/// The functions of libobjc and of Metal that this backend calls.
struct functions {
    id (*objc_getClass)(const char*);
    selector (*sel_registerName)(const char*);
    void (*objc_msgSend)();
    void* (*objc_autoreleasePoolPush)();
    void (*objc_autoreleasePoolPop)(void*);
    id (*objc_retain)(id);
    void (*objc_release)(id);
    id (*MTLCopyAllDevices)();
};

/// Returns why Metal cannot be called on this machine; empty where it can. Loads it at the first call.
const std::string& missing();

/// Returns the functions. Throws error(device_unavailable) where they are missing, error(device_lost) where !usable().
const functions& api();

/// Returns false in a process that was forked off since Metal was loaded: nothing may be called there, not even to
/// release what the parent made.
bool usable() noexcept;

/// The name of a message, as a template argument.
template <std::size_t Size>
struct message_name {
    consteval message_name(const char (&name)[Size]) {
        for (std::size_t i = 0; i < Size; ++i) text[i] = name[i];
    }
    char text[Size]{};
};

template <message_name Name, class Signature>
struct message;

template <message_name Name, class Result, class... Arguments>
struct message<Name, Result(Arguments...)> {
    static Result send(id to, Arguments... arguments) {
        static const selector name = api().sel_registerName(Name.text);
        using function = Result(id, selector, Arguments...);
        // objc_msgSend jumps to the method, so it is called as the method is declared. No message here returns a struct
        // or a floating-point number, for which x86-64 has other entries.
        return reinterpret_cast<function*>(api().objc_msgSend)(to, name, arguments...);
    }
};

/// Sends a message: send<"setSignaledValue:", void(std::uint64_t)>(event, 1). The signature is that of the method's
/// declaration, without the object.
template <message_name Name, class Signature, class... Arguments>
auto send(id to, Arguments... arguments) {
    return message<Name, Signature>::send(to, arguments...);
}

/// What methods return without "new" or "copy" in their names lives until the pool of its thread goes: each function of
/// this backend that calls any has one.
class pool {
public:
    pool() : pushed_(api().objc_autoreleasePoolPush()) {}
    ~pool() { api().objc_autoreleasePoolPop(pushed_); }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

private:
    void* pushed_;
};

/// Owns one reference to an object.
class owned {
public:
    owned() noexcept = default;

    /// Takes the reference that a method with "new" or "copy" in its name has returned.
    explicit owned(id object) noexcept : object_(object) {}
    static owned retained(id object) { return owned(api().objc_retain(object)); }

    owned(owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    owned& operator=(owned other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~owned() {
        if (!object_ || !usable()) return;
        const pool drained;  // for what the object's own end leaves behind
        api().objc_release(object_);
    }

    id get() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    id object_ = nullptr;
};

/// Returns the text of an NSString; empty for null.
std::string text_of(id string);

/// Returns an NSString. It needs a pool.
id string_of(const std::string& text);

/// Returns what an NSError says of itself; `otherwise` for null. It needs a pool.
std::string description_of(id error, const char* otherwise);

}  // namespace unibuf::backends::metal
