// doubles/metal/runtime.hpp: objects that are sent messages, references to them, and pools.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <utility>

/// What a SEL points to.
struct objc_selector {
    std::string name;
};

namespace metal_double {

using selector = objc_selector;

/// A method is called with the object, its own name, and its arguments.
using method = void();

/// A class. Its methods stay until the process has ended, as a runtime's do: buffers may go when static objects do.
struct type {
    using named = std::map<std::string, method*>;

    type(const char* of, named all) : name(of), methods(*new named(std::move(all))) {}

    const char* name;
    const named& methods;
};

/// An object begins with one reference.
class object {
public:
    explicit object(const type& of);
    virtual ~object();
    object(const object&) = delete;
    object& operator=(const object&) = delete;

    const type& of() const { return of_; }
    void retain() { ++references_; }
    void release();

private:
    const type& of_;
    std::atomic<long> references_ = 1;
};

/// A reference that this process's double holds itself.
template <class Object>
class reference {
public:
    reference() = default;
    explicit reference(Object* to) : to_(to) {
        if (to_) to_->retain();
    }
    reference(const reference& other) : reference(other.to_) {}
    reference(reference&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
    reference& operator=(reference other) noexcept {
        std::swap(to_, other.to_);
        return *this;
    }
    ~reference() {
        if (to_) to_->release();
    }

    Object* get() const { return to_; }
    Object* operator->() const { return to_; }
    explicit operator bool() const { return to_ != nullptr; }

private:
    Object* to_ = nullptr;
};

/// Hands an object to the innermost pool of this thread, and returns it. Stops the program where there is none: the
/// object would never go.
object* autoreleased(object* made);

/// Stops the program where this is no object, or none any more.
void check_alive(const void* object);

/// Returns a method as the table of a type holds it.
template <class Function>
method* method_of(Function* function) {
    return reinterpret_cast<method*>(function);
}

/// An NSString and an NSError, to be released.
object* new_string(std::string text);
object* new_error(long code, std::string description);
const std::string& text_of(object* string);

}  // namespace metal_double
